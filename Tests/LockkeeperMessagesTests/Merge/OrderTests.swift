import LockkeeperDomain
import LockkeeperMessages
import Testing

@Suite("Order and summaries (M-14)")
struct OrderTests {
    //
    @Test("an older message never takes over the summary, in one batch or in many")
    func summary() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                message("m5", seq: 5, "newest", sentAt: 1), message("m1", seq: 1, sentAt: 9_000),
            ])
            try await store.ingest([message("m4", seq: 4, sentAt: 8_000)])
            #expect(try await store.conversation("c")?.last?.id == "m5")
            try await store.ingest([message("m5", seq: 2, "moved down", version: 2)])
            #expect(try await store.conversation("c")?.last?.id == "m4")
        }
    }

    @Test(
        "conversations are listed by when the server took their last message"
    )
    func list() async throws {
        try await withAccount { account in
            try await account.messages.ingest([
                message("m1", seq: 1, in: "b", sentAt: 1) { $0.serverAt = instant(500) },
                message("m1", seq: 1, in: "a", sentAt: 9_000) { $0.serverAt = instant(400) },
                message("m1", seq: 1, in: "d", sentAt: 450),
                message("m1", seq: 1, in: "e", sentAt: 450),
            ])
            let ids = try await account.messages.conversations().map(\.id)
            #expect(ids == ["b", "d", "e", "a"])
            #expect(try await account.messages.conversations(limit: 1).map(\.id) == ["b"])
        }
    }

    @Test("where seq is unique, another id on a taken one goes to quarantine, new or moved there")
    func uniqueSeq() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("m1", seq: 1), message("m2", seq: 2)])
            let receipt = try await store.ingest([
                message("m3", seq: 1), message("m2", seq: 1, version: 2),
            ])
            #expect(receipt.outcomes == counts(quarantined: 2))
            #expect(try await store.shown() == ["m1:text", "m2:text"])
            #expect(try await store.quarantine().map(\.message) == ["m3", "m2"])
            // Another conversation counts for itself.
            let elsewhere = try await store.ingest([message("m3", seq: 1, in: "d")])
            #expect(elsewhere.outcomes == counts(inserted: 1))
        }
    }

    @Test("where the contract allows ties, both are shown, in the order of their ids' bytes")
    func ties() async throws {
        try await withAccount(contract: ServerContract(order: .ties)) { account in
            let store = account.messages
            try await store.ingest([
                message("é", seq: 1), message("b", seq: 1), message("a", seq: 1),
            ])
            #expect(try await store.shown() == ["a:text", "b:text", "é:text"])
            #expect(try await store.conversation("c")?.last?.id == "é")
            #expect(try await store.quarantine().isEmpty)
        }
    }

    @Test("pages are cut by keys: ties, provisional messages and the ends are each shown once")
    func pages() async throws {
        try await withAccount(contract: ServerContract(order: .ties)) { account in
            let store = account.messages
            var events = try (1...7).map {
                try message(MessageID("m\($0)"), seq: Int64($0 / 2 + 1))
            }
            events.append(message("p1", seq: nil, version: 0))
            events.append(message("p2", seq: nil, version: 0))
            try await store.ingest(events.shuffled())
            let all = try await store.timeline("c", limit: 100).map(\.id)
            #expect(all == ["p2", "p1", "m7", "m6", "m5", "m4", "m3", "m2", "m1"])
            for limit in 1...4 {
                var seen: [MessageID] = []
                var place: MessagePlace?
                while true {
                    let page = try await store.timeline("c", before: place, limit: limit)
                    guard let last = page.last else { break }
                    seen += page.map(\.id)
                    place = last.place
                }
                #expect(seen == all, "limit \(limit)")
            }
            let before = MessagePlace(sequence: 2, id: nil)
            #expect(try await store.timeline("c", before: before, limit: 9).map(\.id) == ["m1"])
            #expect(try await store.timeline("unknown", limit: 9).isEmpty)
        }
    }
}
