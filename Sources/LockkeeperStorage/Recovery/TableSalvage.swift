import LockkeeperDomain
import LockkeeperSQLite

/// Copies what can be read of one table of a damaged database into the same table of a new one.
///
/// A table with row ids is read upwards from its first row and downwards from its last one; where both
/// ways end at a page that cannot be read, the gap between them is searched (``RowIDGaps``). One without
/// is read from both ends. Indexes of the table tell how many rows there were, where one can be read
/// through.
///
/// Rows are read with their table alone: an index that is out of step would hide some. A row that
/// comes out of its order stands on a page that belongs elsewhere, and counts as a page that cannot be
/// read.
struct TableSalvage {
    let name: String
    private let tableClass: SalvagePlan.TableClass
    private let source: Connection
    private let target: Connection
    private let columns: [String]
    /// The columns by which a row is found: the row id, or those of the primary key.
    private let keys: [String]
    private let hasRowIDs: Bool
    private let insert: Statement
    private let progress: (Int64) throws -> Void

    private final class Counts {
        var kept: Int64 = 0
        var unusable: Int64 = 0
        /// How many of the kept ones come from pages that no tree leads to.
        var orphaned: Int64 = 0
        /// Ranges of row ids in which no row could be read.
        var lost: [ClosedRange<Int64>] = []
        var unread = Unread()
    }
    private let counts = Counts()
    private let facts: IndexFacts
    /// The columns that stand in a row, in their order, and which of them is the row id.
    private let stored: (names: [String], rowID: String?)

    /// - Parameter progress: called after each few hundred rows with how many were copied; what it
    ///   throws ends the work.
    init(
        _ name: String,
        _ tableClass: SalvagePlan.TableClass,
        from source: Connection,
        into target: Connection,
        progress: @escaping (Int64) throws -> Void
    ) throws(SQLiteError) {
        self.name = name
        self.tableClass = tableClass
        self.source = source
        self.target = target
        self.progress = progress
        let there = try TableShape(name, source)
        let here = try TableShape(name, target)
        hasRowIDs = here.hasRowIDs && there.hasRowIDs
        columns = here.columns.filter(there.columns.contains)
        keys = hasRowIDs ? ["rowid"] : here.keys
        var names = columns.map(quoted)
        // A row id that is no column is kept as well: other tables may name it.
        if hasRowIDs, !here.rowIDIsColumn { names.append("rowid") }
        let parameters = (1...max(1, names.count)).map { "?\($0)" }.joined(separator: ", ")
        insert = try target.prepare(
            "INSERT INTO \(quoted(name)) (\(names.joined(separator: ", ")))"
                + " VALUES (\(parameters)) ON CONFLICT DO NOTHING"
        )
        addsRowID = hasRowIDs && !here.rowIDIsColumn
        facts = IndexFacts(of: name, source)
        stored = (there.stored, there.rowIDIsColumn ? there.keys.first : nil)
    }

    private let addsRowID: Bool

    /// Copies the rows, and compares them.
    ///
    /// - Throws: ``SQLiteError`` where the new file cannot be written.
    func run() throws {
        counts.unread = hasRowIDs ? try copyByRowID() : try copyFromBothEnds()
        try compare()
    }

    /// What was kept and what was lost.
    var report: SalvageReport.Table {
        var report = SalvageReport.Table(name, tableClass)
        report.isCompared = true
        report.keptCount = counts.kept
        report.unusableCount = counts.unusable
        if let count = facts.rowCount {
            report.lostCount = max(0, count - counts.kept)
            report.lostCountMax = report.lostCount
        } else if counts.unread.isEmpty {
            // What looked like rows and broke the rules may have been some.
            report.lostCount = counts.unusable == 0 ? 0 : nil
            report.lostCountMax = counts.unusable
        } else {
            report.lostCount = nil
            report.lostCountMax = counts.unread.rowCountMax.map { max(0, $0 - counts.orphaned) }
        }
        return report
    }

    // MARK: - Pages that no tree leads to

    /// Whether rows are missing that may stand on such pages.
    var hasGaps: Bool { !counts.lost.isEmpty }

    /// Whether a page holds rows that this table misses: all of its row ids lie in one gap, and its rows
    /// have as many columns.
    func misses(_ leaf: RawPages.Leaf) -> Bool {
        leaf.columnCount == stored.names.count
            && counts.lost.contains {
                $0.contains(leaf.rows.lowerBound) && $0.contains(leaf.rows.upperBound)
            }
    }

    /// Copies the rows of such a page.
    func copy(_ leaf: RawPages.Leaf) throws {
        let impostor = "lk_impostor_\(leaf.number)"
        let list = stored.names.map { name in
            name == stored.rowID ? "\(quoted(name)) INTEGER PRIMARY KEY" : quoted(name)
        }
        let definition = "CREATE TABLE \(impostor) (\(list.joined(separator: ", ")))"
        let before = counts.kept
        for direction in [Scan.Direction.up, .down] {
            try source.replaceImpostors(of: leaf.number, definition)
            let scan = try Scan(direction, keys, columns, of: impostor, source)
            if case .complete = try copy(scan, leaf.rows) { break }
        }
        try source.replaceImpostors(of: leaf.number, definition)
        try compare(with: impostor, in: leaf.rows)
        counts.orphaned += counts.kept - before
    }

    /// What could not be read of a table.
    private struct Unread {
        var isEmpty = true
        /// How many rows may have stood there; `nil` where nothing tells.
        var rowCountMax: Int64?
    }

    /// How many rows a table has, where it can be read whole and no index tells of more; `nil`
    /// elsewhere.
    static func wholeCount(
        of name: String,
        _ source: Connection
    ) throws -> Int64? {
        do throws(SQLiteError) {
            let shape = try TableShape(name, source)
            let keys = shape.hasRowIDs ? ["rowid"] : shape.keys
            let scan = try Scan(.up, keys, shape.columns, of: name, source)
            if shape.hasRowIDs {
                try scan.statement.bind(1, Int64.min)
                try scan.statement.bind(2, Int64.max)
            }
            var count: Int64 = 0
            var last: Int64?
            while try scan.statement.step() {
                let row = scan.statement.int64(0)
                if shape.hasRowIDs, let last, row <= last { return nil }
                last = row
                count += 1
            }
            return IndexFacts(of: name, source).rowCount ?? 0 > count ? nil : count
        } catch {
            guard error.isOfUnreadablePage else { throw error }
            return nil
        }
    }

    // MARK: - By row ids

    private func copyByRowID() throws -> Unread {
        let up = try Scan(.up, keys, columns, of: name, source)
        let down = try Scan(.down, keys, columns, of: name, source)
        guard case .stopped(let lowest) = try copy(up, .min ... .max) else { return Unread() }
        let next = lowest.map { $0 &+ 1 } ?? .min
        guard next > .min || lowest == nil else { return Unread() }
        guard case .stopped(let highest) = try copy(down, next ... .max) else { return Unread() }
        let first = max(next, lowest == nil ? facts.rowIDs?.lowerBound ?? 0 : next)
        let isTopKnown = highest != nil || facts.rowIDs != nil
        let last = try highest.map { $0 - 1 } ?? facts.rowIDs?.upperBound ?? rowIDMax(above: first)
        guard first <= last else { return Unread() }
        var gaps = RowIDGaps(first...last)
        while let (gap, middle) = gaps.next() {
            if case .stopped(let reached) = try copy(up, middle...gap.upperBound) {
                let rest = reached.map { $0 + 1 } ?? middle
                if rest <= gap.upperBound { gaps.add(rest...gap.upperBound) }
            }
            if case .stopped(let reached) = try copy(down, gap.lowerBound...(middle - 1)) {
                let rest = reached.map { $0 - 1 } ?? middle - 1
                if gap.lowerBound <= rest { gaps.add(gap.lowerBound...rest) }
            }
            try progress(counts.kept)
        }
        counts.lost = gaps.lostRanges
        let width = gaps.lost.reduce(Int64(0)) { sum, gap in
            let (width, first) = gap.upperBound.subtractingReportingOverflow(gap.lowerBound)
            let (sum, second) = sum.addingReportingOverflow(first ? .max : width &+ 1)
            return second || sum < 0 ? .max : sum
        }
        return Unread(
            isEmpty: gaps.lost.isEmpty && isTopKnown,
            rowCountMax: isTopKnown && lowest != nil ? width : nil
        )
    }

    /// A row id that no row is above, where the largest one cannot be read: a page holds fewer than a
    /// thousand rows.
    private func rowIDMax(above first: Int64) throws(SQLiteError) -> Int64 {
        let pages = (try? source.value("PRAGMA page_count"))?.integer ?? 1
        let (last, overflows) = first.addingReportingOverflow(pages * 1024)
        return overflows ? .max : last
    }

    // MARK: - From both ends

    private func copyFromBothEnds() throws -> Unread {
        for direction in [Scan.Direction.up, .down] {
            let scan = try Scan(direction, keys, columns, of: name, source)
            if case .complete = try copy(scan, nil) { return Unread() }
        }
        return Unread(isEmpty: false, rowCountMax: nil)
    }

    // MARK: - Rows

    private enum End {
        /// There were no more rows.
        case complete
        /// The next row cannot be read; the last one that could.
        case stopped(last: Int64?)
    }

    private func copy(_ scan: Scan, _ range: ClosedRange<Int64>?) throws -> End {
        defer { scan.statement.reset() }
        if let range {
            try scan.statement.bind(1, range.lowerBound)
            try scan.statement.bind(2, range.upperBound)
        }
        var last: Int64?
        var count = 0
        while true {
            do throws(SQLiteError) {
                guard try scan.statement.step() else { return .complete }
            } catch {
                guard error.isOfUnreadablePage else { throw error }
                return .stopped(last: last)
            }
            if let range {
                let row = scan.statement.int64(0)
                guard range.contains(row),
                    last.map({ scan.direction.leads(from: $0, to: row) }) ?? true
                else { return .stopped(last: last) }
                last = row
            }
            try take(scan.statement)
            count += 1
            if count % 512 == 0 { try progress(counts.kept) }
        }
    }

    private func take(_ row: Statement) throws(SQLiteError) {
        var values = columns.indices.map { row.value($0 + keys.count) }
        if tableClass == .refetched, !values.allSatisfy(Self.isSound) {
            counts.unusable += 1
            return
        }
        if addsRowID { values.append(row.value(0)) }
        do throws(SQLiteError) {
            try insert.bind(values)
            try insert.run()
            if target.changes == 1 {
                counts.kept += 1
            } else if hasRowIDs {
                counts.unusable += 1
            }
        } catch {
            guard .constraint ~= error.code || .mismatch ~= error.code else { throw error }
            counts.unusable += 1
        }
    }

    /// A page without checksum that was overwritten may leave a text that is none.
    private static func isSound(_ value: SQLValue) -> Bool {
        guard case .text(let bytes) = value else { return true }
        return bytes.withUnsafeBytes(isUTF8)
    }

    /// Reads every row back and compares it with the one in the damaged file. One that is another is
    /// rubbish that looked like a row, of which the new table made something else.
    ///
    /// - Parameters:
    ///   - table: where the rows came from; the table itself where it is not given.
    ///   - rows: the row ids that are looked at; all where they are not given.
    private func compare(with table: String? = nil, in rows: ClosedRange<Int64>? = nil) throws {
        let list = (keys + columns).map { $0 == "rowid" ? $0 : quoted($0) }.joined(separator: ", ")
        let condition = keys.enumerated().map { index, key in
            "\(key == "rowid" ? key : quoted(key)) = ?\(index + 1)"
        }.joined(separator: " AND ")
        let part = rows.map { " WHERE rowid BETWEEN \($0.lowerBound) AND \($0.upperBound)" } ?? ""
        let new = try target.prepare("SELECT \(list) FROM \(quoted(name))\(part)")
        let old = try source.prepare(
            "SELECT \(list) FROM \(quoted(table ?? name))\(hasRowIDs ? " NOT INDEXED" : "")"
                + " WHERE \(condition)"
        )
        var others: [[SQLValue]] = []
        let width = keys.count + columns.count
        while try new.step() {
            let row = (0..<width).map { new.value($0) }
            for index in keys.indices { try old.bind(index + 1, row[index]) }
            let isSame = try old.step() && (0..<width).allSatisfy { old.value($0) == row[$0] }
            old.reset()
            if !isSame { others.append(Array(row.prefix(keys.count))) }
        }
        let delete = try target.prepare("DELETE FROM \(quoted(name)) WHERE \(condition)")
        for key in others {
            try delete.bind(key)
            try delete.run()
            counts.kept -= 1
            counts.unusable += 1
        }
    }
}

/// A statement that goes through a table.
private struct Scan {
    enum Direction {
        case up, down

        func leads(from last: Int64, to next: Int64) -> Bool {
            self == .up ? next > last : next < last
        }
    }

    let direction: Direction
    let statement: Statement

    init(
        _ direction: Direction,
        _ keys: [String],
        _ columns: [String],
        of table: String,
        _ connection: Connection
    ) throws(SQLiteError) {
        self.direction = direction
        let hasRowIDs = keys == ["rowid"]
        let names = keys.map { hasRowIDs ? $0 : quoted($0) }
        let list = (names + columns.map(quoted)).joined(separator: ", ")
        let order = names.map { direction == .up ? $0 : "\($0) DESC" }.joined(separator: ", ")
        statement = try connection.prepare(
            "SELECT \(list) FROM \(quoted(table))"
                + (hasRowIDs ? " NOT INDEXED WHERE rowid BETWEEN ?1 AND ?2" : "")
                + " ORDER BY \(order)"
        )
    }
}

/// What indexes of a table tell of it, whatever became of the table itself.
private struct IndexFacts {
    /// How many rows there were.
    private(set) var rowCount: Int64?
    /// Their least and largest row id.
    private(set) var rowIDs: ClosedRange<Int64>?

    init(of table: String, _ connection: Connection) {
        for index in Self.names(of: table, connection) {
            let select = try? connection.prepare(
                """
                SELECT count(*), min(rowid), max(rowid)
                FROM \(quoted(table)) INDEXED BY \(quoted(index))
                """
            )
            guard let select, (try? select.step()) == true else { continue }
            // An index that is damaged without showing it has fewer rows, never more.
            let count = select.int64(0)
            if count > rowCount ?? -1 {
                rowCount = count
                if let first = select.optionalInt64(1), let last = select.optionalInt64(2),
                    first <= last
                {
                    rowIDs = first...last
                }
            }
            select.reset()
        }
    }

    private static func names(of table: String, _ connection: Connection) -> [String] {
        guard let list = try? connection.prepare("PRAGMA index_list(\(quoted(table)))") else {
            return []
        }
        var names: [String] = []
        // One that holds some of the rows tells nothing of all.
        while (try? list.step()) == true { if list.int64(4) == 0 { names.append(list.string(1)) } }
        return names
    }
}

/// The columns of a table.
private struct TableShape {
    private(set) var columns: [String] = []
    /// Those that stand in a row: generated ones may not.
    private(set) var stored: [String] = []
    private(set) var keys: [String] = []
    private(set) var hasRowIDs = true
    private(set) var rowIDIsColumn = false

    init(_ table: String, _ connection: Connection) throws(SQLiteError) {
        let info = try connection.prepare("PRAGMA table_info(\(quoted(table)))")
        var numbered: [(Int64, String)] = []
        var types: [String] = []
        while try info.step() {
            columns.append(info.string(1))
            if info.int64(5) > 0 {
                numbered.append((info.int64(5), info.string(1)))
                types.append(info.string(2).uppercased())
            }
        }
        let all = try connection.prepare("PRAGMA table_xinfo(\(quoted(table)))")
        while try all.step() {
            // 2: generated, and computed where it is read.
            if all.int64(6) != 2 { stored.append(all.string(1)) }
        }
        keys = numbered.sorted { $0.0 < $1.0 }.map(\.1)
        hasRowIDs = (try? connection.prepare("SELECT rowid FROM \(quoted(table))")) != nil
        rowIDIsColumn = hasRowIDs && types == ["INTEGER"]
    }
}

/// A name as SQL takes it.
func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }

extension SQLiteError {
    /// Whether a page, or what stands on it, cannot be read, as opposed to the database being busy, the
    /// memory gone or the statement wrong.
    var isOfUnreadablePage: Bool {
        .corrupt ~= code || .notADatabase ~= code || .tooBig ~= code || code.isUnreadable
    }
}
