import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperTesting
import Testing

@Suite("A sync that failed says nothing of what was written before it (5.2, I-6)")
struct FailedSyncTests {
    // Found from outside: the next sync succeeded, and its receipt covered what was lost.
    @Test(
        "after a failed sync the session acknowledges nothing any more, although later syncs succeed"
    )
    func nothingIsAcknowledged() async throws {
        let faults = Faults()
        try await TestWorkspace.with(faults: faults) { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            try await alice.database.write { try $0.execute("CREATE TABLE note (n INTEGER)") }
            faults.fail(.sync)
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
            _ = try await test.process("next").session("alice")
        }
    }

    // 5.2: what cannot be made durable is handed out to nobody, and nobody may act on it by mistake.
    @Test("no effect and no item of the outbox is handed out while its attempt cannot be synced")
    func nothingIsHandedOut() async throws {
        let faults = Faults()
        try await TestWorkspace.with(faults: faults) { test in
            let app = try await test.process("app")
            try await app.addAccount("alice", ownID: Array("me".utf8))
            let store = try MessageStore(try await app.activate("alice"))
            try await store.ingest([message("m1", seq: 1)])
            _ = try await store.send(OutgoingMessage(conversation: "c", body: "x"))
            faults.fail(.sync)
            for _ in 0..<2 {
                await expectIOFailed {
                    if try await store.claimNextEffect() != nil { Issue.record("handed out") }
                }
                await expectIOFailed {
                    if try await store.claimNextOutboxItem() != nil { Issue.record("handed out") }
                }
            }
            // The claims were let go: whoever opens the account next, on sound files, has them.
            let next = try await test.process("next")
            let sound = try MessageStore(try await next.session("alice"))
            guard let claim = try await sound.claimNextEffect() else {
                Issue.record("nothing to claim")
                return
            }
            try await claim.confirm()
        }
    }

    private func expectIOFailed(_ body: () async throws -> Void) async {
        let error = await #expect(throws: LockkeeperError.self) { try await body() }
        #expect(error?.code == .ioFailed, "\(error as Any)")
    }
}
