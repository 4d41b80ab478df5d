import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import Testing

@Suite("Positions that name a message (M-9, R-14)")
struct PositionByMessageTests {
    // B74
    @Test("a position never goes back, and one that names an unknown message waits for it")
    func neverBack() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("m40", seq: 40), message("m50", seq: 50)])
            try await store.ingest([read(upTo: 50)])
            let helper = try await account.process("helper")
            let back = try await helper.ingest([read(upTo: 40)])
            #expect(back.outcomes == counts(stale: 1) && back.commit == nil)
            let again = try await store.ingest([read(upTo: 50)])
            #expect(again.outcomes == counts(duplicate: 1) && again.commit == nil)
            try await store.ingest([read(upTo: "m60")])
            #expect(try await store.conversation("c")?.readSequence == 50)
            #expect(try await store.shown() == ["m40:text", "m50:text"])
            try await store.ingest([message("m60", seq: 60), message("m61", seq: 61)])
            #expect(try await store.conversation("c")?.readSequence == 60)
            #expect(try await store.unread() == 1)
            // To mark as unread is another matter than reading.
            try await store.ingest([conversation { $0.isMarkedUnread = true }])
            #expect(try await store.conversation("c")?.isMarkedUnread == true)
            #expect(try await store.conversation("c")?.readSequence == 60)
        }
    }

    @Test("others' positions wait as well, and move nothing of ours")
    func others() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([read(upTo: "m1", by: "bob"), read(upTo: "m1", .delivered)])
            try await store.ingest([message("m1", seq: 3)])
            #expect(try await store.unread() == nil)
            let lines = try await store.exported()
            #expect(
                lines.contains(#"{"type":"read","conversation":"c","seq":3,"by":"bob"}"#)
            )
            #expect(
                lines.contains(
                    #"{"type":"read","conversation":"c","seq":3,"by":"me","kind":"delivered"}"#
                )
            )
        }
    }

    @Test(
        "a message that is moved up takes the position with it, and down it does not, in any order"
    )
    func moved() async throws {
        try await withAccount { account in
            let store = account.messages
            let events = [
                read(upTo: "m1"), message("m1", seq: 9), message("m1", seq: 5, version: 2),
            ]
            for (number, order) in permutations(of: events).enumerated() {
                let conversation = try ConversationID("c\(number)")
                for event in order { try await store.ingest([event.moved(to: conversation)]) }
                #expect(
                    try await store.conversation(conversation)?.readSequence == 9,
                    "\(order)"
                )
            }
        }
    }

    @Test("what waits for messages is bounded per person; beyond, it is put aside")
    func bounded() async throws {
        var limits = Limits()
        limits.waitingPositionCountMax = 3
        limits.positionMessageCountMax = 2
        try await withAccount(limits: limits) { account in
            let store = account.messages
            let reads = try (1...5).map { read(upTo: try MessageID("m\($0)")) }
            let receipt = try await store.ingest(reads)
            #expect(receipt.outcomes == counts(updated: 3, quarantined: 2))
            try await store.ingest((1...5).map { try message(MessageID("m\($0)"), seq: Int64($0)) })
            #expect(try await store.conversation("c")?.readSequence == 3)
            // The two largest are remembered.
            let lines = try await store.exported().filter { $0.contains(#""type":"read""#) }
            #expect(lines.count == 3)
        }
    }
}
