import Lockkeeper
import LockkeeperMessages
import LockkeeperState
import LockkeeperTesting
import Testing

// What the README and the guides show and no program of Docs/Examples/client holds: it is compiled here,
// and SnippetTests compare the text.

@Suite("What the guides show works")
struct GuideSnippets {
    @Test("a message that the helper stores is on the app's screen")
    func seen() async throws {
        let test = try TestWorkspace()
        let app = try await test.process("app", role: .host)
        try await app.addAccount("alice", ownID: Array("u1".utf8))
        let screen = try MessageStore(await app.activate("alice"))
        let helper = try await test.process("push-helper")
        let message = MessageEvent(
            conversation: "c1",
            id: "m1",
            sequence: 1,
            sender: "u2",
            sentAt: try Timestamp("2026-11-30T09:00:00Z"),
            body: "hello"
        )
        _ = try await helper.deliver([.message(message)], to: "alice")
        #expect(try await screen.timeline("c1", limit: 1).first?.body == "hello")
        try await test.finish()
    }

    @Test("a full disk, a server that redelivers, and the store converges")
    func faults() async throws {
        let faults = Faults()
        try await TestWorkspace.with(faults: faults) { test in
            let app = try await test.process("app", role: .host)
            try await app.addAccount("alice", ownID: Array("u1".utf8))
            let store = try MessageStore(await app.activate("alice"))

            var trouble = FakeServer.Trouble()
            trouble.redeliveriesPerThousand = 100
            trouble.shufflesPages = true
            let server = FakeServer(trouble: trouble, seed: 7)
            server.publish(Traffic(seed: 7).events)

            faults.fail(.commit, .diskFull, times: nil)
            await #expect(throws: LockkeeperError.self) { try await server.sync(store) }
            faults.heal(.commit)
            server.expireCursors()
            try await server.sync(store)
            try await expectConverges(store, with: server)
        }
    }

    @Test("a vote and a message are one commit")
    func together() async throws {
        try await TestWorkspace.with { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            let session = try await app.activate("alice")
            try await session.database.write {
                try $0.execute("CREATE TABLE poll (id INTEGER PRIMARY KEY, votes INTEGER)")
                try $0.execute("INSERT INTO poll VALUES (7, 1)")
            }
            let event = Event.conversation(ConversationEvent(conversation: "c1", version: 1))
            let count = try await Self.vote(session, MessageStore(session), [event])
            #expect(count == 1)
        }
    }

    private static func vote(
        _ session: Session,
        _ messages: MessageStore,
        _ events: [Event]
    ) async throws -> Int {
        let (count, receipt) = try await session.database.write { transaction in
            try transaction.execute("UPDATE poll SET votes = votes + 1 WHERE id = ?1", .integer(7))
            let changed = transaction.changes
            try messages.apply(events, in: transaction)
            return changed
        }
        #expect(receipt.commit != nil)
        return count
    }

    /// Never called: it is compiled, and would run for ever.
    private static func live(
        _ messages: MessageStore,
        _ alice: Session,
        draw: (Any?) -> Void
    ) async throws {
        for try await list in messages.observeConversations(limit: 50) { draw(list.items) }
        let settings = try await SettingsStore(alice)  // schemas: [.messages, .state]
        let badge: SettingKey<Int> = "badge"
        try await settings.update { try $0.set(($0.stored(badge) ?? 0) + 1, for: badge) }
        for try await count in settings.observe(badge) { draw(count) }  // any process's change
    }
}
