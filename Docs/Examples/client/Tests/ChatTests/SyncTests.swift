import Chat
import Lockkeeper
import LockkeeperMessages
import LockkeeperTesting
import Testing

@Test("the client converges with a server that redelivers, after a full disk")
func converges() async throws {
    let faults = Faults()
    try await TestWorkspace.with(faults: faults) { test in
        let app = try await test.process("app", role: .host)
        try await app.addAccount(Chat.account, ownID: Array("u1".utf8))
        let store = try MessageStore(await app.activate(Chat.account))
        var trouble = FakeServer.Trouble()
        trouble.redeliveriesPerThousand = 100
        let server = FakeServer(trouble: trouble, seed: 7)
        server.publish(Traffic(seed: 7).events)
        faults.fail(.commit, .diskFull, times: nil)
        await #expect(throws: LockkeeperError.self) { try await server.sync(store) }
        faults.heal(.commit)
        try await server.sync(store)
        _ = try await store.send(OutgoingMessage(conversation: "room-1", body: "hello"))
        try await server.takeOutbox(of: store)
        try await server.sync(store)
        try await expectConverges(store, with: server)
    }
}
