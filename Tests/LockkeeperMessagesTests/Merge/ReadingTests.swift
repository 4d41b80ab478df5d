import LockkeeperDomain
import LockkeeperMessages
import Testing

@Suite("Read positions and unread counters (M-9, I-16)")
struct ReadingTests {
    @Test("unread is unknown until a position is known, and 0 says that nothing was read")
    func unknown() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("m1", seq: 1)])
            #expect(try await store.unread() == nil)
            try await store.ingest([read(upTo: 0)])
            #expect(try await store.unread() == 1)
            #expect(try await store.conversation("c")?.readSequence == 0)
        }
    }

    //
    @Test("a position only grows, and receiving messages never moves it")
    func grows() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest((1...5).map { try message(MessageID("m\($0)"), seq: Int64($0)) })
            #expect(try await store.ingest([read(upTo: 3)]).outcomes == counts(updated: 1))
            #expect(try await store.unread() == 2)
            #expect(try await store.ingest([read(upTo: 2)]).outcomes == counts(stale: 1))
            #expect(try await store.ingest([read(upTo: 3)]).outcomes == counts(duplicate: 1))
            try await store.ingest([message("m6", seq: 6), message("m0", seq: 7)])
            #expect(try await store.conversation("c")?.readSequence == 3)
            #expect(try await store.unread() == 4)
        }
    }

    @Test("a position above every known message counts at once for those that come later")
    func ahead() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([read(upTo: 10), message("m4", seq: 4), message("m11", seq: 11)])
            #expect(try await store.unread() == 1)
        }
    }

    // B77
    @Test(
        "history that comes in descending pages counts only what lies above the position"
    )
    func backfill() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([read(upTo: 900)])
            for last in stride(from: 1_000, to: 0, by: -50) {
                let lines = try ((last - 49)...last).reversed().map {
                    try message(MessageID("m\($0)"), seq: Int64($0))
                }
                try await store.ingest(lines, durability: .committed)
                let known = max(0, 1_000 - max(last - 50, 900))
                #expect(try await store.unread() == known)
            }
            #expect(try await store.unread() == 100)
        }
    }

    @Test("own messages, those that say so, and those that do not count are not unread")
    func whatCounts() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                read(upTo: 0),
                message("own", seq: 1, from: "me"),
                message("other", seq: 2),
                message("system", seq: 3) { $0.counts = false },
                // What the event says beats what the sender suggests.
                message("own, but incoming", seq: 4, from: "me") { $0.isIncoming = true },
                message("own from another id", seq: 5) { $0.isIncoming = false },
                message("mention", seq: 6) { $0.mentionsMe = true },
            ])
            let conversation = try #require(try await store.conversation("c"))
            #expect(conversation.unread == 3 && conversation.unreadMentions == 1)
        }
    }

    @Test("without an own id every message counts that does not say otherwise")
    func withoutOwnID() async throws {
        try await withAccount(ownID: nil) { account in
            try await account.messages.ingest([
                read(upTo: 0), message("m1", seq: 1, from: "me"),
                message("m2", seq: 2) { $0.isIncoming = false },
            ])
            #expect(try await account.messages.unread() == 1)
        }
    }

    @Test("another version of a message counts anew, by what it says now")
    func versions() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                read(upTo: 5), message("m1", seq: 1),
                message("m9", seq: 9) { $0.mentionsMe = true },
            ])
            #expect(try await store.unread() == 1)
            // It moves below the position, and back above it without the mention.
            try await store.ingest([message("m9", seq: 2, version: 2)])
            #expect(try await store.unread() == 0)
            try await store.ingest([message("m9", seq: 7, version: 3) { $0.mentionsMe = false }])
            let conversation = try #require(try await store.conversation("c"))
            #expect(conversation.unread == 1 && conversation.unreadMentions == 0)
        }
    }

    @Test("the positions of others and of deliveries are kept apart and touch no counter")
    func others() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([read(upTo: 0), message("m1", seq: 1)])
            let receipt = try await store.ingest([
                read(upTo: 1, by: "bob"), read(upTo: 0, by: "bob"), read(upTo: 1, by: "bob"),
                read(upTo: 1, .delivered),
            ])
            #expect(receipt.outcomes == counts(updated: 2, duplicate: 1, stale: 1))
            #expect(try await store.unread() == 1)
            // Read by the account's own id is read by the account, on any of its devices.
            try await store.ingest([read(upTo: 1, by: "me")])
            #expect(try await store.unread() == 0)
        }
    }
}
