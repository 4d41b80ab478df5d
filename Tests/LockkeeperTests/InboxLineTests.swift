import LockkeeperDomain
import LockkeeperSQLite
import LockkeeperStorage
import LockkeeperTesting
import Testing

@testable import Lockkeeper

/// A schema whose packets are rows of a table.
private let notes = Schema(
    owner: "notes",
    migrations: [
        Migration(owner: "notes", name: "1_note", sql: "CREATE TABLE note (text TEXT)")
    ],
    intake: PacketIntake { _, packet in
        let text = String(decoding: packet.bytes, as: UTF8.self)
        return { connection, _ in
            let statement = try connection.statement("INSERT INTO note VALUES (?1)")
            try statement.bind(1, text)
            try statement.run()
        }
    }
)

@Suite("Packets behind a lock that is held for long (I-12)")
struct InboxLineTests {
    // Found by stress: each process that stood in line with a packet had counted an attempt, so that a
    // packet nobody had tried was parked.
    @Test("a packet that several processes cannot get into the database has no attempts")
    func inLine() async throws {
        try await TestWorkspace.with(schemas: [notes]) { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            let packet = Packet(Array("patient".utf8))
            _ = try await app.keep(packet, for: "alice", because: .accountInactive)
            let program = try await blocking("test") {
                try ForeignProgram(ForeignProgram.writer, database: test.database)
            }
            try await withThrowingTaskGroup(of: InboxReport.self) { group in
                for number in 1...6 {
                    group.addTask {
                        var limits = Limits()
                        limits.openWaitMax = .milliseconds(300)
                        let helper = try await Workspace.openApart(
                            at: test.root,
                            name: "helper-\(number)",
                            schemas: [notes],
                            limits: limits
                        )
                        let report = try await helper.drainInbox(of: "alice")
                        await helper.close()
                        return report
                    }
                }
                for try await report in group {
                    #expect(report.leftCount == 1 && report.obstacle != nil)
                }
            }
            #expect(try await app.inbox(of: "alice").map(\.attemptCount) == [0])
            try await blocking("test") { try program.end() }
            #expect(try await app.drainInbox(of: "alice").appliedCount == 1)
            let texts = try await alice.database.read {
                try $0.query("SELECT text FROM note") { $0.text(0) }
            }
            #expect(texts == ["patient"])
        }
    }
}
