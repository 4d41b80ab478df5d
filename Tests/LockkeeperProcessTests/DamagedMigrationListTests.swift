import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperSimulation
import LockkeeperTestSupport
import Testing

@Suite("Repair leads out of a damaged list of migrations (5.8, I-14)")
struct DamagedMigrationListTests {
    private func line(_ number: Int) -> [UInt8] {
        Array(
            (#"{"conversation":"c","id":"m-\#(number)","seq":\#(number),"sender":"s","#
                + #""sent_at":"2026-01-01T00:00:00Z","body":"b"}"# + "\n").utf8
        )
    }

    /// Where the list of migrations stands in a database, of which the log is emptied.
    private func pageOfMigrations(_ path: String) throws -> Int64 {
        let connection = try openWithSQLiteAlone(path)
        defer { try? connection.close() }
        _ = try connection.checkpoint(.truncate)
        let root = try connection.value(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'lk_migration'"
        )
        return (try #require(root?.integer) - 1) * 4096
    }

    @Test(
        "a list of migrations that was overwritten in part is mended, and nothing else is lost",
        arguments: [0..<4096, 0..<2048, 2048..<4096, 3100..<4096, 3950..<4096]
    )
    func overwritten(range: Range<Int64>) async throws {
        let workspace = try await TestWorkspace()
        #expect(try await workspace.run(["ingest"], input: line(1)).status == .exited(0))
        let folder = "\(workspace.root)/accounts/alice"
        let path = "\(folder)/messages-1.db"
        let page = try pageOfMigrations(path)
        try FileDescriptor(opening: path, [.readWrite]).write(
            [UInt8](repeating: 0, count: range.count),
            at: page + range.lowerBound
        )
        let check = try await workspace.run(["check"])
        #expect(check.status == .exited(1))
        #expect(check.lines.contains { $0.contains("lockkeeper repair alice") }, "\(check.lines)")
        let repaired = try await workspace.run(["repair", "alice"])
        #expect(repaired.status == .exited(0), "\(repaired.errorText) \(repaired.lines)")
        #expect(try FileSystem.status("\(folder)/messages-2.db") != nil)
        #expect(try FileSystem.status("\(folder)/messages-3.db") == nil)
        #expect(try await workspace.run(["ingest"], input: line(2)).status == .exited(0))
        #expect(try await workspace.run(["export"]).lines.count == 2)
        try await workspace.expectSound()
    }
}
