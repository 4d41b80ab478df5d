import LockkeeperDomain
package import LockkeeperPlatform
package import LockkeeperSQLite

/// Looks whether a store is what it should be, and changes nothing.
package struct StoreInspection: Sendable {
    /// How closely is looked.
    package enum Level: Int, Sendable, Hashable, Comparable {
        /// What opening looks at: fence, schema, ends of the commit log.
        case open
        /// Also every row, foreign keys, and the whole commit log.
        case quick
        /// Also indexes against tables, and stored counters against recounts (I-16).
        case deep

        /// The word for people and programs.
        package var name: String {
            switch self {
            case .open: "open"
            case .quick: "quick"
            case .deep: "deep"
            }
        }

        /// Orders levels by closeness.
        package static func < (left: Level, right: Level) -> Bool {
            left.rawValue < right.rawValue
        }
    }

    /// Something that is not as it should be.
    package struct Finding: Sendable, Hashable, CustomStringConvertible {
        /// A stable name for programs: "commit-log.order".
        package let code: String
        /// What is concerned: a table, a row, a file.
        package let subject: String
        /// What is wrong, as a sentence.
        package let explanation: String
        /// What to do about it, as a sentence.
        package let remedy: String

        /// A finding of its parts.
        package init(code: String, subject: String, explanation: String, remedy: String) {
            self.code = code
            self.subject = subject
            self.explanation = explanation
            self.remedy = remedy
        }

        /// Whether it says that the file itself is damaged, and not what somebody made of it.
        package var isDamage: Bool {
            code.hasPrefix("file.") && code != "file.unavailable" || code.hasPrefix("fence.")
                || code.hasPrefix("commit-log.")
        }

        /// Whether it says that commits stand behind a damaged place of the log.
        package var isOfLog: Bool { code == StoreInspection.damagedLog }

        /// Whether it says that something could not be looked at, for a reason that is no damage.
        package var isOfEnvironment: Bool { code == "file.unavailable" }

        /// Whether it says that a migration is yet to be applied, which opening the store does.
        package var isPendingMigration: Bool { code == StoreInspection.pendingMigration }

        /// The finding in one line.
        package var description: String { "\(subject): \(explanation) (\(code)); \(remedy)" }
    }

    /// What a floor above looks at, from a level on, within the same snapshot.
    package struct Probe: Sendable {
        let level: Level
        let look: @Sendable (Connection) throws -> [Finding]

        /// A probe that looks from a level on.
        package init(
            from level: Level,
            _ look: @escaping @Sendable (Connection) throws -> [Finding]
        ) {
            self.level = level
            self.look = look
        }
    }

    private static let pendingMigration = "schema.pending"
    private static let damagedLog = "file.log"

    private static let keepFiles =
        "repair the account, which deletes nothing; until then leave its files as they are"

    private let migrator: Migrator
    private let probes: [Probe]
    private let bootID: BootID?

    /// An inspection of a store with some migrations above this room's own.
    ///
    /// - Parameter bootID: the run of the kernel, where the store's log is looked at as well. One that was
    ///   last written under another run may have been cut by a loss of power, and nothing tells that from
    ///   damage: what SQLite reads of it counts then.
    package init(migrations: [Migration], probes: [Probe] = [], bootID: BootID? = nil) {
        self.migrator = Migrator(Migration.store + migrations)
        self.probes = probes
        self.bootID = bootID
    }

    /// Looks at a store, in as many snapshots as keep each of them short.
    ///
    /// | level | what it costs |
    /// |---|---|
    /// | open | milliseconds, at any size |
    /// | quick | reads every row once, in slices |
    /// | deep | also SQLite's whole check in one snapshot, and everything that is counted |
    ///
    /// - Returns: what was found, this room's findings first; none for a store that is sound. What
    ///   cannot be read is a finding.
    /// - Throws: ``StorageError/cancelled``; ``StorageError`` when the connection itself cannot be
    ///   used, busy among others.
    package func run(
        on connection: Connection,
        path: String,
        level: Level,
        pace: InspectionPace = InspectionPace()
    ) throws(StorageError) -> [Finding] {
        var findings: [Finding] = []
        var fence: Fence?
        try look(into: &findings, at: path, connection, pace) {
            let read = try Fence.read(from: connection, path: path)
            fence = read
            return try Self.inspect(read, connection)
        }
        try look(into: &findings, at: "lk_migration", connection, pace) {
            try migrator.pending(in: connection).map(Self.missing)
        }
        if let fence, fence.bootID == bootID,
            try hasLostCommits(fence, connection, path, level)
        {
            findings.append(
                Finding(
                    code: Self.damagedLog,
                    subject: StoreFiles(path).log,
                    explanation:
                        "commits stand behind a damaged place of the log, where nobody reads"
                        + " them",
                    remedy: Self.keepFiles
                )
            )
        }
        guard level >= .quick else { return findings }
        if let fence { try lookAtLog(into: &findings, fence, connection, pace) }
        if level == .deep {
            // Every table, every index, and the pages that are free.
            try look(into: &findings, at: path, connection, pace) {
                try connection.integrityCheck(quick: false).map { Self.damage(path, $0) }
            }
        }
        try lookAtTables(into: &findings, path, level, connection, pace)
        for probe in probes where level >= probe.level {
            try look(into: &findings, at: path, connection, pace) { try probe.look(connection) }
        }
        return findings
    }

    /// Whether the log has commits that are newer than what is read of the store. Where that may be is
    /// looked at twice: others write the log meanwhile.
    private func hasLostCommits(
        _ fence: Fence,
        _ connection: Connection,
        _ path: String,
        _ level: Level
    ) throws(StorageError) -> Bool {
        let log = StoreFiles(path).log
        if level == .open, try !mayHaveLostCommits(connection, log) { return false }
        for _ in 1...2 {
            let behind = try system { () throws(SystemCallError) in
                try LogFrames(of: log).newestCommitBehind
            }
            guard let behind else { return false }
            do throws(SQLiteError) {
                let newest = try connection.value("SELECT max(number) FROM lk_commit")?.integer
                if behind <= newest ?? fence.floor.rawValue { return false }
            } catch {
                // The other looks say what is the matter.
                return false
            }
        }
        return true
    }

    /// The same at a glance: whether there is anything behind what the log's index names. Who writes just
    /// now stands there for a moment.
    private func mayHaveLostCommits(
        _ connection: Connection,
        _ log: String
    ) throws(StorageError) -> Bool {
        for _ in 1...3 {
            let count = try sqlite { () throws(SQLiteError) in try connection.indexedFrameCount() }
            let hasMore = try system { () throws(SystemCallError) in
                try LogFrames.mayHaveMore(than: count, in: log)
            }
            if !hasMore { return false }
            let now = try sqlite { () throws(SQLiteError) in try connection.indexedFrameCount() }
            if now == count { return true }
        }
        return false
    }

    private func lookAtTables(
        into findings: inout [Finding],
        _ path: String,
        _ level: Level,
        _ connection: Connection,
        _ pace: InspectionPace
    ) throws(StorageError) {
        var tables: [TableSlices] = []
        try look(into: &findings, at: path, connection, pace) {
            tables = try TableSlices.all(in: connection)
            return []
        }
        for (index, table) in tables.enumerated() {
            pace.progress(index, tables.count)
            if table.isLarge(for: pace) {
                try lookAtSlices(of: table, into: &findings, path, connection, pace)
                continue
            }
            if level < .deep {
                try look(into: &findings, at: path, connection, pace) {
                    try table.check(connection).map { Self.damage(path, $0) }
                }
            }
            try look(into: &findings, at: path, connection, pace) {
                try connection.foreignKeyCheck(of: table.name).map(Self.dangling)
            }
        }
    }

    private func lookAtSlices(
        of table: TableSlices,
        into findings: inout [Finding],
        _ path: String,
        _ connection: Connection,
        _ pace: InspectionPace
    ) throws(StorageError) {
        guard let rows = table.rows else { return }
        // The one before the first; nobody gives the least integer to a row.
        var next: Int64? = rows.lowerBound > .min ? rows.lowerBound - 1 : .min
        while let row = next, findings.count < Self.findingMax {
            next = nil
            try look(into: &findings, at: path, connection, pace) {
                let (last, sentences) = try table.check(after: row, pace, connection)
                guard let last else { return [] }
                next = last
                return sentences.map { Self.damage(path, $0) }
                    + (try table.danglingRows(in: (row + 1)...last, connection).map(Self.dangling))
            }
        }
    }

    /// More findings than this say nothing more.
    private static let findingMax = 1000

    /// Runs one look in a snapshot of its own. What it throws says as much as what it finds.
    private func look(
        into findings: inout [Finding],
        at subject: String,
        _ connection: Connection,
        _ pace: InspectionPace,
        _ look: () throws -> [Finding]
    ) throws(StorageError) {
        if pace.isCancelled() { throw .cancelled }
        try sqlite { () throws(SQLiteError) in try connection.begin(.deferred) }
        defer { connection.rollBack() }
        do {
            findings += try look()
        } catch {
            if pace.isCancelled() { throw .cancelled }
            findings.append(Self.finding(for: error, subject))
        }
    }

    // MARK: - Looks

    private static func inspect(
        _ fence: Fence,
        _ connection: Connection
    ) throws(SQLiteError) -> [Finding] {
        var findings: [Finding] = []
        if fence.generation.rawValue < 0 || fence.floor.rawValue < 0 {
            findings.append(
                Finding(
                    code: "fence.range",
                    subject: "lk_fence",
                    explanation: "generation or floor is negative",
                    remedy: Self.keepFiles
                )
            )
        }
        // Rows at or below the floor were to be gone; a log that begins above leaves positions
        // between the two that are answered with a resync, which is safe.
        let oldest = try connection.value("SELECT min(number) FROM lk_commit")?.integer
        if let oldest, oldest <= fence.floor.rawValue {
            findings.append(
                Finding(
                    code: "commit-log.floor",
                    subject: "lk_commit",
                    explanation: "row \(oldest) lies at or below the floor \(fence.floor)",
                    remedy: Self.keepFiles
                )
            )
        }
        return findings
    }

    /// How far the look at the commit log has come.
    private struct LogState {
        var number: CommitNumber?
        var generation = Generation(0)
    }

    private func lookAtLog(
        into findings: inout [Finding],
        _ fence: Fence,
        _ connection: Connection,
        _ pace: InspectionPace
    ) throws(StorageError) {
        var state = LogState()
        var hasMore = true
        while hasMore, findings.count < Self.findingMax {
            hasMore = false
            try look(into: &findings, at: "lk_commit", connection, pace) {
                // Another process may have raised it since.
                let now = try Fence.read(from: connection, path: "")
                let found = try Self.inspectRows(now, &state, pace.sliceRowCount, connection)
                hasMore = found.hasMore
                return found.findings
            }
        }
    }

    private static func inspectRows(
        _ fence: Fence,
        _ state: inout LogState,
        _ limit: Int64,
        _ connection: Connection
    ) throws(SQLiteError) -> (findings: [Finding], hasMore: Bool) {
        let select = try connection.prepare(
            """
            SELECT number, generation, tables, topics, boot FROM lk_commit WHERE number > ?1
            ORDER BY number LIMIT ?2
            """
        )
        try select.bind(1, state.number?.rawValue ?? .min)
        try select.bind(2, limit)
        defer { select.reset() }
        var findings: [Finding] = []
        var count: Int64 = 0
        while findings.count < 100, try select.step() {
            count += 1
            let number = CommitNumber(select.int64(0))
            let own = Generation(select.int64(1))
            if own < state.generation || own > fence.generation {
                findings.append(Self.disorder(number, own, fence))
            }
            if let before = state.number, number != before.next,
                select.isNull(4) || number.rawValue - before.rawValue != StoreWriter.bootJump
            {
                findings.append(Self.gap(before, number))
            }
            (state.number, state.generation) = (number, own)
            if !isReadable(select) {
                findings.append(
                    Self.finding(for: StorageError.malformedCommit(number), "lk_commit")
                )
            }
        }
        return (findings, count == limit)
    }

    private static func isReadable(_ row: Statement) -> Bool {
        do throws(JSONError) {
            _ = try row.withBytes(2) { bytes throws(JSONError) in
                try CommitRowCodec.decodeTables(bytes)
            }
            if row.isNull(3) { return true }
            _ = try row.withBytes(3) { bytes throws(JSONError) in
                try CommitRowCodec.decodeTopics(bytes)
            }
            return true
        } catch {
            return false
        }
    }

    // MARK: - Findings

    private static func disorder(
        _ number: CommitNumber,
        _ generation: Generation,
        _ fence: Fence
    ) -> Finding {
        Finding(
            code: "commit-log.generation",
            subject: "lk_commit \(number)",
            explanation: "generation \(generation) does not fit its neighbours or the fence at "
                + "\(fence.generation)",
            remedy: Self.keepFiles
        )
    }

    private static func gap(_ before: CommitNumber, _ number: CommitNumber) -> Finding {
        Finding(
            code: "commit-log.gap",
            subject: "lk_commit \(number)",
            explanation: "it follows \(before), and no boot of the machine lies between",
            remedy: Self.keepFiles
        )
    }

    private static func missing(_ migration: Migration) -> Finding {
        Finding(
            code: pendingMigration,
            subject: "\(migration.owner) \(migration.name)",
            explanation: "a migration was not applied",
            remedy: "open the account with this program, which migrates it"
        )
    }

    private static func damage(_ path: String, _ sentence: String) -> Finding {
        Finding(
            code: "file.damaged",
            subject: path,
            explanation: sentence,
            remedy: Self.keepFiles
        )
    }

    private static func dangling(_ violation: Connection.ForeignKeyViolation) -> Finding {
        Finding(
            code: "foreign-key",
            subject: "\(violation.table) \(violation.row.map(String.init) ?? "")",
            explanation: "refers to a row of \(violation.parent) that is missing",
            remedy: Self.keepFiles
        )
    }

    private static func finding(for error: any Error, _ subject: String) -> Finding {
        let (code, remedy) =
            switch error {
            case StorageError.newerSchema: ("schema.newer", "use a newer program")
            case StorageError.migrationChanged: ("schema.changed", "use the program that made it")
            case StorageError.fenceMissing, StorageError.notAStore: ("fence.missing", keepFiles)
            case StorageError.malformedCommit: ("commit-log.row", Self.keepFiles)
            case let error as StorageError where error.isDamage:
                ("file.unreadable", Self.keepFiles)
            case let error as SQLiteError where StorageError.sqlite(error).isDamage:
                ("file.unreadable", Self.keepFiles)
            default: ("file.unavailable", "look at what is said here, and try again")
            }
        return Finding(code: code, subject: subject, explanation: "\(error)", remedy: remedy)
    }
}
