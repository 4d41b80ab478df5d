import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import Testing

@Suite("Conversations, members and history (M-9, M-13, M-14, R-57, R-58)")
struct ConversationTests {
    //
    @Test("what is known of a conversation merges field by field, by version, in any order")
    func registers() async throws {
        try await withAccount { account in
            let store = account.messages
            let events = [
                conversation(version: 1) {
                    $0.title = "old"
                    $0.isMuted = true
                    $0.parent = "p"
                },
                conversation(version: 2) { $0.title = "new" },
                conversation(version: 3) { $0.isMuted = false },
            ]
            for (number, order) in permutations(of: events).enumerated() {
                let id = try ConversationID("c\(number)")
                for event in order { try await store.ingest([event.moved(to: id)]) }
                let known = try #require(try await store.conversation(id))
                #expect(known.title == "new" && !known.isMuted && known.parent == "p")
            }
            let late = try await store.ingest([events[0].moved(to: "c0")])
            #expect(late.outcomes == counts(stale: 1) && late.commit == nil)
        }
    }

    @Test("a member who left stays known as that until a newer event says otherwise")
    func membership() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                member("bob", version: 2, removed: true), member("bob", version: 1, role: "admin"),
                member("eve", version: 1),
            ])
            var members = try await store.members(of: "c")
            #expect(members.map(\.isRemoved) == [true, false])
            #expect(members.first?.role == "admin")
            try await store.ingest([member("bob", version: 3)])
            members = try await store.members(of: "c")
            #expect(members.map(\.isRemoved) == [false, false])
        }
    }

    // M-14
    @Test("pinned conversations are listed first, and the list is read by its index alone")
    func list() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                message("m1", seq: 1, in: "a", sentAt: 1),
                message("m1", seq: 1, in: "b", sentAt: 3),
                message("m1", seq: 1, in: "d", sentAt: 2),
                conversation("a") { $0.isPinned = true }, conversation("b") { $0.isPinned = false },
                conversation("e") { $0.title = "without messages" },
            ])
            #expect(try await store.conversations().map(\.id) == ["a", "b", "d", "e"])
            let plan = try await store.session.database.read { transaction in
                try transaction.query(
                    """
                    EXPLAIN QUERY PLAN SELECT conversation_id FROM lk_conversation
                    WHERE clear_seq IS NULL OR last_message IS NOT NULL
                    ORDER BY ifnull(pinned, 0) DESC, last_at DESC, conversation_id LIMIT 10
                    """
                ) { $0.text(3) }
            }
            #expect(plan.count == 1 && plan[0].contains("INDEX lk_conversation_list"), "\(plan)")
        }
    }

    // M-9
    @Test("the total leaves muted conversations out, and says what it does not know")
    func total() async throws {
        try await withAccount { account in
            let store = account.messages
            for id: ConversationID in ["a", "b", "d"] {
                try await store.ingest([
                    message("m1", seq: 1, in: id) { $0.mentionsMe = true },
                    message("m2", seq: 2, in: id),
                ])
            }
            try await store.ingest([
                read(upTo: 0, in: "a"), read(upTo: 0, in: "b"), read(upTo: 0, in: "e"),
                conversation("b") { $0.isMuted = true },
                conversation("e") { $0.isMarkedUnread = true },
            ])
            let total = try await store.unreadTotal()
            #expect(total.unread == 2 && total.mentions == 1)
            #expect(total.markedCount == 1 && total.unknownCount == 1)
            try await store.ingest([conversation("b", version: 2) { $0.isMuted = false }])
            #expect(try await store.unreadTotal().unread == 4)
        }
    }

    // M-13, R-57
    @Test(
        "ranges that meet or touch become one, a gap stays one, and unread says whether it spans it"
    )
    func ranges() async throws {
        try await withAccount { account in
            let store = account.messages
            let ranges: [ClosedRange<Int64>] = [10...12, 1...3, 5...6, 4...4, 11...20]
            for (number, order) in permutations(of: ranges).enumerated() where number % 7 == 0 {
                let id = try ConversationID("c\(number)")
                for range in order {
                    try await store.ingest(
                        [history(range, in: id)],
                        durability: .committed
                    )
                }
                #expect(try await store.history(of: id) == [1...6, 10...20], "\(order)")
            }
            try await store.ingest([
                message("m3", seq: 3), message("m15", seq: 15), read(upTo: 2),
                history(1...6), history(10...20),
            ])
            #expect(try await store.conversation("c")?.unread == 2)
            #expect(try await store.conversation("c")?.unreadIsComplete == false)
            let known = try await store.ingest([history(12...13)])
            #expect(known.outcomes == counts(duplicate: 1) && known.commit == nil)
            try await store.ingest([history(7...9)])
            #expect(try await store.conversation("c")?.unreadIsComplete == true)
            // A message beyond the range opens a gap again.
            try await store.ingest([message("m30", seq: 30)])
            #expect(try await store.conversation("c")?.unreadIsComplete == false)
            try await store.ingest([read(upTo: 30)])
            #expect(try await store.conversation("c")?.unreadIsComplete == true)
        }
    }

    // B59, M-12, R-57: no cursor means full sync; neither "up to date" nor a place that was guessed.
    @Test(
        "a reset takes the cursor and its edges away; a stream without a cursor needs a full sync"
    )
    func expiredCursor() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest(
                [message("m1", seq: 1)],
                closing: page(nil, "k1")
            )
            try await store.ingest([], closing: page("k1", "k2"))
            let overtaken = try await store.ingest([reset("k1")])
            #expect(overtaken.outcomes == counts(stale: 1) && overtaken.cursors == ["inbox": "k2"])
            let receipt = try await store.ingest([reset("k2")])
            #expect(receipt.outcomes == counts(updated: 1))
            #expect(receipt.cursors == ["inbox": Cursor?.none])
            #expect(try await store.cursors().isEmpty)
            let again = try await store.ingest([reset("k2")])
            #expect(again.outcomes == counts(duplicate: 1) && again.commit == nil)
            // The full sync begins anew, even with the cursors of old.
            try await store.ingest(
                [message("m1", seq: 1), message("m2", seq: 2)],
                closing: page(nil, "k1")
            )
            #expect(try await store.cursors() == ["inbox": "k1"])
            #expect(try await store.shown() == ["m1:text", "m2:text"])
        }
    }
}
