import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

private let isWholeRun = Environment.variable("LOCKKEEPER_TEST_ALL") != nil

extension RealProcesses {
    /// Migrations and restoring, with processes that die at every point, and that come together.
    @Suite("Migrations and restoring by real processes, killed at every point (I-11, I-12, I-14)")
    struct KilledSchemaTests {
        /// What the migrations of `TaskTool` make of the table `entry`, as SQLite alone sees it.
        private struct State: Equatable {
            /// Steps that are recorded.
            let stepCount: Int64
            /// Rows of `entry`, and those of `poll`, which the first step makes of them.
            let rowCounts: [Int64]
            /// Columns of `entry`, to which the second step adds one.
            let columnCount: Int64

            init(_ path: String) throws {
                let connection = try PlainDatabase.open(path, .readOnly)
                defer { try? connection.close() }
                func number(_ sql: String) throws -> Int64 {
                    try connection.value(sql)?.integer ?? 0
                }
                stepCount = try number("SELECT count(*) FROM lk_migration WHERE owner = 'polls'")
                let hasPolls = try number("SELECT count(*) FROM sqlite_schema WHERE name = 'poll'")
                rowCounts = [
                    try number("SELECT count(*) FROM entry"),
                    hasPolls == 0 ? 0 : try number("SELECT count(*) FROM poll"),
                ]
                columnCount = try number("SELECT count(*) FROM pragma_table_info('entry')")
            }

            /// Whether it is exactly what so many steps make of so many rows.
            func isWhole(_ rowCount: Int64) -> Bool {
                rowCounts == [rowCount, stepCount > 0 ? rowCount : 0]
                    && columnCount == (stepCount > 1 ? 3 : 2)
            }
        }

        @Test(
            "a migration that is killed at any statement and any change of a file leaves whole steps, and the next process goes on by itself"
        )
        func migration() async throws {
            try await SharedEntries.with { entries in
                for row in 1...20 { try await entries.insert(row) }
                let backup = "\(entries.root)/before.db"
                _ = try await entries.app.backUp("alice", to: backup)
                await entries.app.close()
                var steps: Set<Int64> = []
                let counts = try await killAtEachPoint(
                    entries.root,
                    ["migrate", "alice"],
                    of: [.statement, .change, .call],
                    stride: 9
                ) {
                    let tool = try await entries.test.process("tool")
                    _ = try await tool.restore("alice", from: backup)
                    await tool.close()
                } judge: { comment in
                    let path = try SharedEntries.messagesPath(in: entries.root)
                    let left = try State(path)
                    steps.insert(left.stepCount)
                    #expect(left.isWhole(20), "\(comment): \(left)")
                    let said = try await onOwnThread {
                        try LineProcess.task(entries.root, ["migrate", "alice", "change=100000"])
                            .hear()
                    }
                    #expect(said == "done", comment)
                    let after = try State(path)
                    #expect(after.stepCount == 2 && after.isWhole(20), comment)
                }
                if isWholeRun { #expect(steps == [0, 1, 2]) }
                #expect(counts[0] > 3 && counts[1] > 0, "\(counts)")
            }
        }

        /// The names of the library's steps that a store has, and what its schema is then.
        private struct LibraryState: Hashable {
            let steps: [String]
            let schema: [String]

            init(_ path: String) throws {
                let connection = try PlainDatabase.open(path, .readOnly)
                defer { try? connection.close() }
                func strings(_ sql: String) throws -> [String] {
                    let select = try connection.prepare(sql)
                    var strings: [String] = []
                    while try select.step() { strings.append(select.string(0)) }
                    return strings
                }
                steps = try strings(
                    "SELECT owner || ' ' || name FROM lk_migration ORDER BY applied_at, owner, name"
                ).sorted()
                schema = try strings(
                    "SELECT type || ' ' || name || ' ' || ifnull(sql, '') FROM sqlite_schema ORDER BY 1"
                )
            }
        }

        @Test(
            "the library's own steps: killed at any statement and any change of a file, each store has the tables of whole steps, and the next process goes on by itself"
        )
        func library() async throws {
            try await SharedEntries.with { entries in
                try await entries.insert(1)
                await entries.app.close()
                let before = "\(entries.root).before"
                try await onOwnThread { try copyTree(entries.root, to: before) }
                defer { try? FileSystem.removeTree(before) }
                let folder = "\(entries.root)/accounts/alice"
                // What each number of steps looks like, by file.
                var known: [String: Set<LibraryState>] = [:]
                var complete: Set<LibraryState> = []
                let counts = try await killAtEachPoint(
                    entries.root,
                    ["library", "alice"],
                    of: [.statement, .change],
                    stride: 31,
                    // More than two hundred of each kind.
                    wholeStride: 3
                ) {
                    try await onOwnThread { try copyTree(before, to: entries.root) }
                } judge: { comment in
                    for kind in ["messages", "settings"] {
                        let state = try LibraryState("\(folder)/\(kind)-1.db")
                        known["\(kind) \(state.steps)", default: []].insert(state)
                    }
                    let said = try await onOwnThread {
                        try LineProcess.task(entries.root, ["library", "alice", "change=100000"])
                            .hear()
                    }
                    #expect(said == "done", comment)
                    complete.insert(try LibraryState("\(folder)/messages-1.db"))
                    #expect(damageOf("\(folder)/messages-1.db", rows: [1]) == nil, comment)
                }
                // The same steps have always made the same tables.
                #expect(known.values.allSatisfy { $0.count == 1 }, "\(known)")
                #expect(complete.count == 1)
                #expect(counts[0] > 2 && counts[1] > 0, "\(counts)")
                if isWholeRun { #expect(known.count > 5) }
            }
        }

        @Test(
            "a restoring that is killed at any point leaves what was or what is to be, and another one goes through"
        )
        func restoring() async throws {
            try await SharedEntries.with { entries in
                try await entries.insert(1)
                let backup = "\(entries.root)/backup.db"
                _ = try await entries.app.backUp("alice", to: backup)
                try await entries.insert(2)
                let later = "\(entries.root)/later.db"
                _ = try await entries.app.backUp("alice", to: later)
                await entries.app.close()
                var ends: Set<Set<Int>> = []
                let counts = try await killAtEachPoint(
                    entries.root,
                    ["restore", "alice", backup],
                    stride: 7
                ) {
                    let tool = try await entries.test.process("tool")
                    _ = try await tool.restore("alice", from: later)
                    await tool.close()
                } judge: { comment in
                    let next = try await entries.test.process("next")
                    let session = try await next.session("alice")
                    let rows = try await session.database.read { transaction in
                        Set(try transaction.query("SELECT id FROM entry") { Int($0.integer(0)) })
                    }
                    ends.insert(rows)
                    #expect([[1], [1, 2]].contains(rows), comment)
                    #expect(try await next.inspect("alice").isEmpty, comment)
                    await next.close()
                }
                #expect(ends == [[1], [1, 2]])
                #expect(counts[0] > 5 && counts[1] > 0, "\(counts)")
            }
        }

        // B78
        @Test(
            "of eight programs that find old tables at once one migrates, and all others wait and open"
        )
        func together() async throws {
            try await SharedEntries.with { entries in
                let rowCount = isWholeRun ? 100_000 : 20_000
                try await entries.alice.database.write { transaction in
                    try transaction.execute(
                        """
                        WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rowCount))
                        INSERT INTO entry SELECT i, hex(i) FROM n
                        """
                    )
                }
                await entries.app.close()
                try await onOwnThread {
                    let programs = try (0..<8).map { _ in
                        try LineProcess.task(
                            entries.root,
                            ["migrate", "alice", "change=100000000"]
                        )
                    }
                    for program in programs { #expect(try program.hear() == "done") }
                    let state = try State(entries.path)
                    #expect(state.stepCount == 2 && state.isWhole(Int64(rowCount)), "\(state)")
                }
                let folder = "\(entries.root)/accounts/alice/backups"
                #expect(try FileSystem.list(folder).count == 1)
            }
        }
    }
}

/// Makes a folder what another one is. Blocks.
private func copyTree(_ source: String, to target: String) throws {
    struct Failed: Error {}
    try? FileSystem.removeTree(target)
    let copy = try ChildProcess(program: "cp", arguments: ["-a", source, target])
    guard try copy.wait() == .exited(0) else { throw Failed() }
}
