import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import LockkeeperTesting
import Testing

@Suite("Opening what everybody has left, with a log that nobody has copied")
struct OpeningTests {
    @Test("each frame of the log is read once, however many connections an opening needs")
    func logIsReadOnce() async throws {
        var limits = Limits()
        limits.checkpointFrameCountWithoutHost = .max
        try await TestWorkspace.with(schemas: [], limits: limits) { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            try await alice.database.write { try $0.execute("CREATE TABLE note (text TEXT)") }
            for _ in 1...100 {
                try await alice.database.write(durability: .committed) { transaction in
                    try transaction.execute(
                        "INSERT INTO note VALUES (?1)",
                        SQLValue(String(repeating: "x", count: 20_000))
                    )
                }
            }
            await app.close()
            let log = "\(test.root)/accounts/alice/messages-1.db-wal"
            let frameCount = Int(try FileSystem.status(log)?.size ?? 0) / 4120
            #expect(frameCount > 500)
            let zone = FaultZone(folder: test.root)
            let next = try await test.process("next", vfs: FaultZone.vfs)
            let session = try await next.session("alice")
            let count = try await session.database.read { transaction in
                try transaction.query("SELECT count(*) FROM note") { $0.integer(0) }
            }
            #expect(count == [100])
            let readCount = zone.callCount(.read, of: .log)
            #expect(readCount < frameCount * 3 / 2, "\(readCount) reads of \(frameCount) frames")
            await next.close()
        }
    }
}
