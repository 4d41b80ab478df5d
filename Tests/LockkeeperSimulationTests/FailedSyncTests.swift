import Lockkeeper
import LockkeeperDomain
import LockkeeperSimulation
import LockkeeperTesting
import Testing

@Suite("A sync that failed says nothing of what was written before it (5.2, I-6)")
struct FailedSyncTests {
    // Found from outside: the next sync succeeded, and its receipt covered what was lost.
    @Test(
        "after a failed sync the session acknowledges nothing any more, although later syncs succeed"
    )
    func nothingIsAcknowledged() async throws {
        try await TestWorkspace.with { test in
            let zone = FaultZone(folder: test.root)
            let app = try await test.process("app", vfs: FaultZone.vfs)
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            try await alice.database.write { try $0.execute("CREATE TABLE note (n INTEGER)") }
            zone.fail(.sync, of: .log, after: 0, times: 1, with: .ioError)
            await #expect(throws: LockkeeperError.self) {
                try await alice.database.write { try $0.execute("INSERT INTO note VALUES (1)") }
            }
            for _ in 0..<3 {
                let error = await #expect(throws: LockkeeperError.self) {
                    try await alice.database.write { try $0.execute("INSERT INTO note VALUES (2)") }
                }
                #expect(error?.code == .ioFailed)
            }
            // The next one who opens the account copies it, so that it ends sound.
            _ = try await test.process("next", vfs: FaultZone.vfs).session("alice")
        }
    }
}
