import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import Testing

@Suite("Reactions are registers per person and slot (M-8)")
struct ReactionTests {
    @Test("the newest of each slot stands; removed ones are remembered and not shown")
    func registers() async throws {
        try await withAccount { account in
            let store = account.messages
            let events = [
                reaction("m1", by: "bob", "👍", version: 1),
                reaction("m1", by: "bob", "👍", version: 2, removed: true),
                reaction("m1", by: "eve", "👍", version: 1),
                reaction("m1", by: "me", "a", slot: "one", version: 1),
                reaction("m1", by: "me", "b", slot: "one", version: 2),
                message("m1", seq: 1),
            ]
            try await store.ingest(events.reversed())
            let shown = try await store.reactions(to: "m1", in: "c")
            #expect(shown.map { "\($0.reactor) \($0.emoji)" } == ["eve 👍", "me b"])
            let again = try await store.ingest(events)
            #expect(again.outcomes == counts(duplicate: 4, stale: 2) && again.commit == nil)
        }
    }

    @Test("a reaction that comes first waits unseen, and goes with its message's text")
    func waiting() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([reaction("m1")])
            #expect(try await store.shown() == [])
            #expect(try await store.conversation("c")?.last == nil)
            try await store.ingest([message("m1", seq: 1)])
            #expect(try await store.reactions(to: "m1", in: "c").count == 1)
            try await store.ingest([recall("m1")])
            #expect(try await store.reactions(to: "m1", in: "c").isEmpty)
            let late = try await store.ingest([reaction("m1", version: 7)])
            #expect(late.outcomes == counts(stale: 1))
            #expect(try await !store.exported().joined().contains("👍"))
        }
    }

    // B72: dependants hang on the message, which keeps its row and id.
    @Test("reactions, position and attachments survive an edit and another process's opening")
    func surviveEdits() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                message("m1", seq: 1) { $0.attachments = try Attachments(#"[{"id":"a"}]"#) },
                reaction("m1"), read(upTo: 1), edit("m1", version: 2, "edited"),
            ])
            let other = try await account.process("later")
            let stored = try #require(try await other.message("m1", in: "c"))
            #expect(stored.body == "edited" && stored.attachments == #"[{"id":"a"}]"#)
            #expect(try await other.reactions(to: "m1", in: "c").map(\.emoji) == ["👍"])
            #expect(try await other.conversation("c")?.readSequence == 1)
        }
    }
}
