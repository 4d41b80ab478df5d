package import LockkeeperDomain

/// What a salvage brought back of one database, and what it did not.
package struct SalvageReport: Sendable, Hashable {
    /// One table.
    package struct Table: Sendable, Hashable {
        /// Its name.
        package let name: String
        /// What its rows are worth.
        package let tableClass: SalvagePlan.TableClass
        /// Rows in the new file that are what they were.
        package var keptCount: Int64 = 0
        /// Rows that are there again with what an index told of them, and without the rest.
        package var partialCount: Int64 = 0
        /// Rows that are gone, partial ones among them; `nil` where nothing tells how many there were.
        package var lostCount: Int64? = 0
        /// No more than so many are gone; `nil` where nothing tells.
        package var lostCountMax: Int64? = 0
        /// Rows that could be read and not be used: they break the table's rules, as rubbish does that
        /// looks like a row, or stood there twice.
        package var unusableCount: Int64 = 0
        /// Rows that were taken out again because a row that they belong to is gone.
        package var orphanCount: Int64 = 0
        /// Rows that could be read and were given up, so that the server is asked again: cursors.
        package var setBackCount: Int64 = 0
        /// Whether each kept row was read back from the new file and compared with the damaged one.
        package var isCompared = false

        /// Whether every row that there was is there.
        package var isWhole: Bool {
            lostCount == 0 && partialCount == 0 && orphanCount == 0 && unusableCount == 0
        }

        init(_ name: String, _ tableClass: SalvagePlan.TableClass) {
            self.name = name
            self.tableClass = tableClass
        }

        /// So many rows are there at the end: others were given up.
        mutating func note(rowCount: Int64) {
            setBackCount = max(0, keptCount + partialCount - rowCount)
            guard setBackCount > 0 else { return }
            let fromPartial = min(partialCount, setBackCount)
            partialCount -= fromPartial
            keptCount -= setBackCount - fromPartial
            setBackCount -= fromPartial
        }

        /// One of the rows that were kept is taken out again.
        mutating func noteOrphan() {
            orphanCount += 1
            keptCount -= 1
            lostCount? += 1
            lostCountMax? += 1
        }
    }

    /// How a file was brought back.
    package enum Method: String, Sendable, Hashable {
        /// The tables were whole: their indexes were made anew, and what follows from them.
        case reindexed
        /// What could be read was copied into a new file, row by row.
        case salvaged
    }

    /// Where the structure came from by which the file was read.
    package enum Structure: String, Sendable, Hashable {
        /// The file itself.
        case own
        /// The file itself, with a header that was written anew.
        case header
        /// The file itself, and for what cannot be read of the schema a backup.
        case backup
        /// The file itself, and for what cannot be read of the schema an empty store.
        case fresh
        /// None: nothing of the file could be read.
        case none
    }

    /// What became of the log.
    package enum Log: String, Sendable, Hashable {
        /// It was read.
        case read
        /// There was none, so that nobody knows what stood in it.
        case missing
        /// Commits stood behind a damaged place. What could be read behind it was taken.
        case damaged
    }

    /// The database.
    package let kind: StoreKind
    /// How it was brought back.
    package var method = Method.salvaged
    /// Where its structure came from.
    package var structure = Structure.own
    /// What became of its log.
    package var log = Log.read
    /// The tables, the irreplaceable ones first.
    package var tables: [Table] = []
    /// What was set back, so that the server is asked again.
    package var setBack: [String] = []

    package init(_ kind: StoreKind) { self.kind = kind }

    /// Whether nothing was lost that was ever committed, as far as can be known.
    package var isWhole: Bool {
        log == .read && structure != .none
            && tables.allSatisfy { $0.isWhole || $0.tableClass == .derived }
    }

    /// Sentences for people, one a line.
    package var lines: [String] {
        var lines = ["\(kind.rawValue): " + summary]
        if structure != .own { lines.append("  " + structure.sentence) }
        if log != .read { lines.append("  " + log.sentence) }
        for table in tables where table.tableClass != .derived { lines.append("  " + table.line) }
        let derived = tables.filter { $0.tableClass == .derived }.map(\.name)
        if !derived.isEmpty { lines.append("  made anew: \(derived.joined(separator: ", "))") }
        lines += setBack.map { "  set back: \($0)" }
        return lines
    }

    private var summary: String {
        switch (method, isWhole) {
        case (.reindexed, _): "the tables are whole; indexes were made anew"
        case (.salvaged, true): "every row could be read"
        case (.salvaged, false): "what could be read was copied"
        }
    }

    /// Writes the report as one JSON object.
    package func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("database")
        writer.string(kind.rawValue)
        writer.key("method")
        writer.string(method.rawValue)
        writer.key("structure")
        writer.string(structure.rawValue)
        writer.key("log")
        writer.string(log.rawValue)
        writer.key("whole")
        writer.bool(isWhole)
        writer.key("set_back")
        writer.beginArray()
        for text in setBack { writer.string(text) }
        writer.endArray()
        writer.key("tables")
        writer.beginArray()
        for table in tables { table.write(into: &writer) }
        writer.endArray()
        writer.endObject()
    }
}

extension SalvageReport.Table {
    fileprivate var line: String {
        var parts = ["\(keptCount) rows kept" + (isCompared ? " and compared" : "")]
        if let lostCount {
            if lostCount > 0 { parts.append("\(lostCount) lost") }
        } else if let lostCountMax {
            parts.append("at most \(lostCountMax) lost")
        } else {
            parts.append("how many are lost is unknown")
        }
        if partialCount > 0 {
            parts.append("\(partialCount) of the lost are there by their ids alone")
        }
        if setBackCount > 0 { parts.append("\(setBackCount) given up on purpose") }
        if orphanCount > 0 { parts.append("\(orphanCount) taken out that belonged to lost rows") }
        if unusableCount > 0 { parts.append("\(unusableCount) unusable") }
        return "\(name) (\(tableClass.rawValue)): " + parts.joined(separator: ", ")
    }

    fileprivate func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("table")
        writer.string(name)
        writer.key("class")
        writer.string(tableClass.rawValue)
        for (key, count) in [
            ("kept", keptCount), ("partial", partialCount), ("lost", lostCount),
            ("lost_max", lostCountMax), ("unusable", unusableCount), ("orphans", orphanCount),
            ("set_back", setBackCount),
        ] as [(StaticString, Int64?)] {
            writer.key(key)
            if let count { writer.integer(count) } else { writer.null() }
        }
        writer.key("compared")
        writer.bool(isCompared)
        writer.endObject()
    }
}

extension SalvageReport.Structure {
    fileprivate var sentence: String {
        switch self {
        case .own: "its structure was read"
        case .header: "the header was gone and was written anew"
        case .backup: "pages of the schema were gone; what they said was taken from a backup"
        case .fresh: "pages of the schema were gone; what they said was taken from an empty store"
        case .none: "nothing of the file could be read"
        }
    }
}

extension SalvageReport.Log {
    fileprivate var sentence: String {
        switch self {
        case .read: "the log was read"
        case .missing: "the log was missing: what stood in it is lost, and nobody knows what it was"
        case .damaged:
            "the log was damaged: what stood at that place is lost, or older than it was, and is counted"
                + " nowhere"
        }
    }
}
