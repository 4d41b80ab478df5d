import Glibc
import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperSimulation
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

private let isWholeRun = Environment.variable("LOCKKEEPER_TEST_ALL") != nil

extension RealProcesses {
    /// Recovery by real processes that die in the middle of it, and that come together.
    @Suite(
        "Recovery by real processes: killed at every point, wanted by six at once (5.8, I-11, I-12)"
    )
    struct KilledRecoveryTests {
        private static let rowCount = 400

        @Test(
            "a recovery that is killed at any point is not begun, or is gone on with by who opens next"
        )
        func killed() async throws {
            try await SharedEntries.with { entries in
                let backup = try await fill(entries)
                var ends: Set<String> = []
                var kept: Set<Set<Int>> = []
                let counts = try await killAtEachPoint(
                    entries.root,
                    ["repair", "alice"],
                    stride: 31,
                    // Both workspaces of each point stay members until the test ends, of 256.
                    wholeStride: 3
                ) {
                    let tool = try await entries.test.process("tool")
                    _ = try await tool.restore("alice", from: backup)
                    await tool.close()
                    try damage(entries.root)
                } judge: { comment in
                    let before = try phase(entries.root)
                    ends.insert(before ?? "none")
                    let next = try await entries.test.process("next")
                    if before == nil { _ = try await next.repair("alice") }
                    let session = try await next.session("alice")
                    let rows = try await session.database.read { transaction in
                        Set(try transaction.query("SELECT id FROM entry") { Int($0.integer(0)) })
                    }
                    kept.insert(rows)
                    #expect(try await next.inspect("alice").isEmpty, comment)
                    #expect(try phase(entries.root) == nil, comment)
                    try await session.database.write {
                        try $0.execute("INSERT INTO entry VALUES (1000, 'on')")
                    }
                    await next.close()
                }
                // Whoever was killed wherever: the same rows in the end, all but one page of them.
                #expect(kept.count == 1, "\(kept.map(\.count))")
                let count = kept.first?.count ?? 0
                #expect(count < Self.rowCount && count > Self.rowCount - 60, "\(count)")
                if isWholeRun { #expect(ends.count > 3, "\(ends)") }
                #expect(counts[0] > 2 && counts[1] > 0, "\(counts)")
            }
        }

        @Test("of six processes that repair at once one does it, and the others find it done")
        func together() async throws {
            try await SharedEntries.with { entries in
                _ = try await fill(entries)
                await entries.app.close()
                try damage(entries.root)
                try await onOwnThread {
                    let processes = try (0..<6).map { _ in
                        try LineProcess.task(entries.root, ["repair", "alice", "change=100000000"])
                    }
                    for process in processes { #expect(try process.hear() == "done") }
                }
                let folder = "\(entries.root)/accounts/alice/damaged"
                let recoveries = try FileSystem.list(folder).filter { $0.hasPrefix("recovery-") }
                #expect(recoveries == ["recovery-1"])
                let path = try SharedEntries.messagesPath(in: entries.root)
                #expect(path.hasSuffix("/messages-2.db"))
            }
        }

        // MARK: - Parts

        /// Fills the table, and makes a backup of it.
        private func fill(_ entries: SharedEntries) async throws -> String {
            try await entries.alice.database.write { transaction in
                try transaction.execute(
                    """
                    WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(Self.rowCount))
                    INSERT INTO entry SELECT i, hex(randomblob(60)) FROM n
                    """
                )
            }
            let backup = "\(entries.root)/backup.db"
            _ = try await entries.app.backUp("alice", to: backup)
            return backup
        }

        /// Overwrites one page of the table's rows with rubbish, and lets the log be empty.
        private func damage(_ root: String) throws {
            let path = try SharedEntries.messagesPath(in: root)
            let connection = try PlainDatabase.open(path)
            try connection.keepLog()
            _ = try connection.checkpoint(.truncate)
            let count = try connection.value("PRAGMA page_count")?.integer ?? 0
            try connection.close()
            let file = try FileDescriptor(opening: path, [.readWrite])
            // The last pages are the table's: it was filled last.
            try file.write([UInt8](repeating: 0xa5, count: 4096), at: (count - 4) * 4096)
        }

        /// How far the recovery of the account is, as the registry knows; `nil` where there is none.
        private func phase(_ root: String) throws -> String? {
            let connection = try PlainDatabase.open("\(root)/workspace.db")
            defer { try? connection.close() }
            return try connection.value("SELECT phase FROM lk_recovery")?.text
        }
    }
}
