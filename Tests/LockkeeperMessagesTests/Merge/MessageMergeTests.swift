import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import Testing

@Suite("Messages and their edits: M-1 to M-4, M-15")
struct MessageMergeTests {
    // M-1, M-15
    @Test("an edit that comes before its message waits unseen, and the message is shown edited")
    func editFirst() async throws {
        try await withAccount { account in
            let store = account.messages
            let first = try await store.ingest([edit("m1", version: 2, "edited")])
            #expect(first.outcomes == counts(updated: 1))
            #expect(try await store.shown() == [])
            #expect(try await store.message("m1", in: "c")?.sender == nil)
            let second = try await store.ingest([message("m1", seq: 1, "original")])
            #expect(second.outcomes == counts(inserted: 1))
            #expect(try await store.shown() == ["m1:edited"])
            #expect(try await store.message("m1", in: "c")?.version == 2)
        }
    }

    // M-1, M-4
    @Test("a provisional message stands at the end until its seq is known, then takes its place")
    func provisional() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([
                message("p", seq: nil, "from a push", version: 0), message("m9", seq: 9),
            ])
            #expect(try await store.shown() == ["m9:text", "p:from a push"])
            #expect(try await store.conversation("c")?.last?.id == "p")
            let receipt = try await store.ingest([message("p", seq: 3, "from the server")])
            // It was shown before: nothing is inserted, nothing contradicts.
            #expect(receipt.outcomes == counts(updated: 1))
            #expect(try await store.shown() == ["p:from the server", "m9:text"])
            #expect(try await store.conversation("c")?.last?.id == "m9")
            let late = try await store.ingest([message("p", seq: nil, "push again", version: 0)])
            #expect(late.outcomes == counts(stale: 1) && late.commit == nil)
            #expect(try await store.quarantine().isEmpty)
        }
    }

    // M-1, I-9
    @Test("the edit of one message too many that waits goes to quarantine")
    func waitingBound() async throws {
        var limits = Limits()
        limits.waitingMessageCountMax = 3
        try await withAccount(limits: limits) { account in
            let store = account.messages
            let edits = try ["m1", "m2", "m3"].map { try edit(MessageID($0), version: 2, "x") }
            #expect(try await store.ingest(edits).outcomes == counts(updated: 3))
            let receipt = try await store.ingest([edit("m4", version: 2, "x")])
            #expect(receipt.outcomes == counts(quarantined: 1))
            #expect(try await store.quarantine().map(\.reason) == ["too-many-waiting-messages"])
            // Those that wait are merged all the same, and one that is complete makes room.
            try await store.ingest([edit("m1", version: 3, "y"), message("m1", seq: 1)])
            let next = try await store.ingest([edit("m5", version: 2, "x")])
            #expect(next.outcomes == counts(updated: 1))
        }
    }

    // M-2
    @Test("the newer version of each field wins, and an edit leaves alone what it does not carry")
    func registers() async throws {
        try await withAccount { account in
            let store = account.messages
            let original = try message("m1", seq: 1, "one") { event in
                event.kind = "poll"
                event.attachments = try Attachments(#"[{"id":"a"}]"#)
            }
            try await store.ingest([original, edit("m1", version: 3, "three")])
            let older = try await store.ingest([edit("m1", version: 2, "two")])
            #expect(older.outcomes == counts(stale: 1) && older.commit == nil)
            let stored = try #require(try await store.message("m1", in: "c"))
            #expect(stored.body == "three" && stored.version == 3 && stored.kind == "poll")
            #expect(stored.attachments == #"[{"id":"a"}]"#)
            #expect(try await store.ingest([original]).outcomes == counts(stale: 1))
        }
    }

    // M-3
    @Test(
        "of two values at one version the larger stays, the other is quarantined, in both orders",
        arguments: [false, true]
    )
    func conflict(reversed: Bool) async throws {
        try await withAccount { account in
            let store = account.messages
            let apple = message("m1", seq: 1, "apple")
            let pair = [apple, message("m1", seq: 1, "pear")]
            for event in reversed ? pair.reversed() : pair { try await store.ingest([event]) }
            #expect(try await store.shown() == ["m1:pear"])
            // The loser again: it is counted, and nothing else is new.
            let again = try await store.ingest([apple, apple])
            #expect(again.outcomes == counts(quarantined: 2))
            let list = try await store.quarantine()
            #expect(list.map(\.reason) == ["conflict"] && list.map(\.count) == [3])
            #expect(list[0].conversation == "c" && list[0].message == "m1")
            let item = try #require(try await store.quarantined(list[0].number))
            let text = #"{"conversation":"c","id":"m1","version":1,"body":"apple"}"#
            #expect(String(decoding: item.content, as: UTF8.self) == text)
        }
    }

    // M-3
    @Test("times and attachment addresses never contradict")
    func noConflict() async throws {
        try await withAccount { account in
            let store = account.messages
            for url in ["1", "2"] {
                let event = try message("m1", seq: 1, sentAt: url == "1" ? 1_000 : 2_000) {
                    $0.attachments = try Attachments(#"[{"id":"a","url":"\#(url)"}]"#)
                }
                try await store.ingest([event])
            }
            #expect(try await store.quarantine().isEmpty)
        }
    }

    // Ids are bytes: SQLite's TEXT and Swift's String would each merge or cut some of these.
    @Test("ids that look alike or hold NUL are different messages")
    func idsAreBytes() async throws {
        try await withAccount { account in
            let store = account.messages
            let ids = ["é", "e\u{301}", "E", "e", "a", "a\0", "a\0b", "\0"]
            let events = try ids.enumerated().map { index, id in
                try message(MessageID(id), seq: Int64(index + 1), id)
            }
            #expect(try await store.ingest(events).outcomes == counts(inserted: ids.count))
            for id in ids {
                let stored = try await store.message(try MessageID(id), in: "c")
                #expect(stored.map { Array(($0.body ?? "").utf8) } == Array(id.utf8))
            }
        }
    }

    // M-15
    @Test("the outcomes are one per event: their sum is the number of events, whatever they are")
    func outcomesSum() async throws {
        try await withAccount { account in
            let seed = UInt64.random(in: 0 ... .max)
            var generator = SeededGenerator(seed: seed)
            for _ in 0..<40 {
                var pool = EventPool.random(&generator).events
                pool += pool.prefix(3)
                pool.append(.page(page("elsewhere", "x")))
                pool.append(.later(LaterEvent(type: "x", line: Array(#"{"type":"x"}"#.utf8))))
                let receipt = try await account.messages.ingest(pool, durability: .committed)
                #expect(receipt.outcomes.total == pool.count, "seed \(seed)")
            }
        }
    }

    @Test("an event of an unknown type is kept for later merge rules, once")
    func later() async throws {
        try await withAccount { account in
            let line = #"{"type":"poll","question":"?"}"#
            let event = Event.later(LaterEvent(type: "poll", line: Array(line.utf8)))
            let receipt = try await account.messages.ingest([event, event])
            #expect(receipt.outcomes == counts(duplicate: 1, quarantined: 1))
            #expect(try await account.messages.exported() == [line])
        }
    }

    // R-1
    @Test("a server that drops its only copy gets durable receipts or none")
    func contract() async throws {
        try await withAccount(contract: ServerContract(delivery: StreamContract(retention: .drops)))
        { account in
            let error = await #expect(throws: LockkeeperError.self) {
                try await account.messages.ingest([message("m", seq: 1)], durability: .committed)
            }
            #expect(error?.code == .contract)
            let receipt = try await account.messages.ingest([message("m", seq: 1)])
            #expect(receipt.durability == .durable && receipt.outcomes == counts(inserted: 1))
        }
    }

    // I-3: the app's row and the messages are one transaction.
    @Test("messages applied in an app's transaction commit with its rows, or not at all")
    func apply() async throws {
        try await withAccount { account in
            let store = account.messages
            try await account.session.database.write {
                try $0.execute("CREATE TABLE note (text TEXT)")
            }
            struct Refused: Error {}
            for isRefused in [true, false] {
                let write = { [store] in
                    try await account.session.database.write { transaction in
                        try transaction.execute("INSERT INTO note VALUES ('x')")
                        let outcomes = try store.apply([message("m1", seq: 1)], in: transaction)
                        if isRefused { throw Refused() }
                        return outcomes
                    }
                }
                if isRefused {
                    await #expect(throws: Refused.self) { try await write() }
                    #expect(try await store.shown() == [])
                } else {
                    #expect(try await write().value == counts(inserted: 1))
                }
            }
            #expect(try await store.shown() == ["m1:text"])
        }
    }
}

/// Outcome counts by name; those that are not named are 0.
func counts(
    inserted: Int = 0,
    updated: Int = 0,
    duplicate: Int = 0,
    stale: Int = 0,
    quarantined: Int = 0
) -> [EventOutcome: Int] {
    [
        .inserted: inserted, .updated: updated, .duplicate: duplicate, .stale: stale,
        .quarantined: quarantined,
    ]
}

func == (left: OutcomeCounts, right: [EventOutcome: Int]) -> Bool {
    counts(
        inserted: left.inserted,
        updated: left.updated,
        duplicate: left.duplicate,
        stale: left.stale,
        quarantined: left.quarantined
    ) == right
}
