import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import Testing

@Suite("Deleting and clearing only grow, and take the content for good (M-7, R-16, R-58)")
struct DeletionTests {
    private static let secret = "the-deleted-text"

    // I-5, M-7
    @Test("every order of message, edit, reaction and delete leaves id and seq, and nothing else")
    func everyOrder() async throws {
        try await withAccount { account in
            let store = account.messages
            let events = [
                message("m1", seq: 1, Self.secret), edit("m1", version: 2, Self.secret + "2"),
                reaction("m1", by: "bob", Self.secret), delete("m1"),
                message("m1", seq: 1, Self.secret + "3"),
            ]
            for (number, order) in permutations(of: events).enumerated() {
                let conversation = try ConversationID("c\(number)")
                for event in order {
                    try await store.ingest(
                        [event.moved(to: conversation)],
                        durability: .committed
                    )
                }
                #expect(try await store.shown(conversation) == [], "\(order)")
                let stored = try #require(try await store.message("m1", in: conversation))
                #expect(stored.isGone && stored.sequence == 1 && stored.sender == nil)
                #expect(try await store.reactions(to: "m1", in: conversation).isEmpty)
            }
            #expect(try await store.quarantine().isEmpty)
            #expect(try await !store.exported().joined().contains(Self.secret))
        }
    }

    @Test("a deleted message is neither unread nor the summary, and frees its place for nobody")
    func derived() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                read(upTo: 0), message("m1", seq: 1),
                message("m2", seq: 2) { $0.mentionsMe = true },
            ])
            try await store.ingest([delete("m2")])
            let conversation = try #require(try await store.conversation("c"))
            #expect(conversation.unread == 1 && conversation.unreadMentions == 0)
            #expect(conversation.last?.id == "m1")
            let receipt = try await store.ingest([message("m3", seq: 2)])
            #expect(receipt.outcomes == counts(quarantined: 1))
            let again = try await store.ingest([delete("m2")])
            #expect(again.outcomes == counts(duplicate: 1) && again.commit == nil)
        }
    }

    // B69: what is deleted is the message, not its text.
    @Test("a message that was deleted and is sent again under another id is shown")
    func sentAgain() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("m1", seq: 1, "hello"), delete("m1")])
            try await store.ingest([message("m2", seq: 2, "hello"), message("m1", seq: 1, "hello")])
            #expect(try await store.shown() == ["m2:hello"])
        }
    }

    //
    @Test("a clear holds against late history, and a new message brings the conversation back")
    func clearing() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                read(upTo: 0), message("m1", seq: 1, Self.secret),
                message("m2", seq: 2, Self.secret),
                recall("m0", seq: 3, from: "bob"),
            ])
            let receipt = try await store.ingest([clear(upTo: 3)])
            #expect(receipt.outcomes == counts(updated: 1))
            #expect(try await store.conversations().isEmpty)
            #expect(try await store.unread() == 0)
            let late = try await store.ingest([
                message("m1", seq: 1, Self.secret), message("m3", seq: 3, Self.secret),
                edit("m2", version: 2, Self.secret), clear(upTo: 2),
            ])
            #expect(late.outcomes.inserted == 0)
            #expect(try await store.shown() == [])
            #expect(try await store.conversations().isEmpty)
            #expect(try await !store.exported().joined().contains(Self.secret))
            try await store.ingest([message("m4", seq: 4, "new")])
            #expect(try await store.shown() == ["m4:new"])
            #expect(try await store.conversations().map(\.id) == ["c"])
            #expect(try await store.unread() == 1)
        }
    }

    @Test(
        "a clear takes out what was refused for a place below it, and nothing is kept of such later"
    )
    func clearedQuarantine() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("m1", seq: 1), message("m2", seq: 1, Self.secret)])
            #expect(try await store.quarantine().count == 1)
            try await store.ingest([clear(upTo: 1)])
            #expect(try await store.quarantine().isEmpty)
            let late = try await store.ingest([message("m2", seq: 1, Self.secret)])
            #expect(late.outcomes == counts(stale: 1))
            #expect(try await store.quarantine().isEmpty)
        }
    }

    // The row remembers every place that it was given.
    @Test(
        "a message that stood below the clear once is cleared, wherever it was moved, in any order"
    )
    func moved() async throws {
        try await withAccount { account in
            let store = account.messages
            let events = [
                message("m1", seq: 5, Self.secret), message("m1", seq: 9, Self.secret, version: 2),
                clear(upTo: 6),
            ]
            for (number, order) in permutations(of: events).enumerated() {
                let conversation = try ConversationID("c\(number)")
                for event in order { try await store.ingest([event.moved(to: conversation)]) }
                #expect(try await store.shown(conversation) == [], "\(order)")
                #expect(try await store.message("m1", in: conversation)?.sequence == 9)
            }
        }
    }

    //
    @Test("a purge removes what lies below the clear in batches, and what stays is in order")
    func purge() async throws {
        try await withAccount { account in
            let store = account.messages
            let events = try (1...600).map { try message(MessageID("m\($0)"), seq: Int64($0)) }
            try await store.ingest(
                events + [read(upTo: "m7"), delete("m590"), delete("m595")],
                durability: .committed
            )
            #expect(try await store.purge("c") == 0)
            try await store.ingest([clear(upTo: 590)])
            let before = try await store.session.database.head()
            #expect(try await store.purge("c") == 590)
            let after = try await store.session.database.head()
            #expect(after.commit.rawValue - before.commit.rawValue == 3)
            #expect(try await store.purge("c") == 0)
            #expect(try await store.timeline("c", limit: 100).count == 9)
            #expect(try await store.message("m595", in: "c")?.isGone == true)
            #expect(try await store.message("m590", in: "c") == nil)
            #expect(try await store.conversation("c")?.readSequence == 7)
            #expect(try await store.conversation("c")?.unread == 9)
            // Late history below the clear stays without content.
            try await store.ingest([message("m590", seq: 590, Self.secret)])
            #expect(try await store.message("m590", in: "c")?.isGone == true)
            #expect(try await store.purge("unknown") == 0)
        }
    }

    // M-7, R-16: a push has no place by which the clear would reach it.
    @Test("what was purged does not come back, by whichever event without a place")
    func purgedStaysAway() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                message("m1", seq: 1, Self.secret), message("m2", seq: 2, Self.secret),
                recall("m1", version: 2), clear(upTo: 2),
            ])
            #expect(try await store.purge("c") == 2)
            let receipt = try await store.ingest([
                message("m1", seq: nil, Self.secret, version: 0),
                message("m2", seq: nil, Self.secret, version: 0),
                message("m2", seq: 3, Self.secret, version: 4),
                edit("m1", version: 5, Self.secret), reaction("m1", by: "bob", Self.secret),
                recall("m2", version: 6), delete("m2"),
            ])
            #expect(receipt.outcomes.stale == 7)
            #expect(try await store.shown() == [])
            #expect(try await store.effects().isEmpty)
            try await expectNowhere(Self.secret, account)
            // Another message, and the same id elsewhere, are not meant.
            try await store.ingest([
                message("m3", seq: nil, "other", version: 0),
                message("m1", seq: 1, "elsewhere", in: "d"),
            ])
            #expect(try await store.shown() == ["m3:other"])
            #expect(try await store.shown("d") == ["m1:elsewhere"])
        }
    }

    // M-7: any event that ever placed it counts, also where the place was refused.
    @Test("a push is cleared with the place that its message was refused, in every order")
    func clearedPush() async throws {
        try await withAccount { account in
            let store = account.messages
            let events = [
                message("m1", seq: nil, Self.secret, version: 0),
                message("m1", seq: 3, Self.secret),
                clear(upTo: 3),
            ]
            for (number, order) in permutations(of: events).enumerated() {
                let conversation = try ConversationID("c\(number)")
                try await store.ingest([message("other", seq: 3, "other", in: conversation)])
                for event in order { try await store.ingest([event.moved(to: conversation)]) }
                #expect(try await store.shown(conversation) == [], "\(order)")
            }
            #expect(try await store.quarantine().isEmpty)
            #expect(try await !store.exported().contains { $0.contains(Self.secret) })
        }
    }
}
