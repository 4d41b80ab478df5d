import Lockkeeper
import LockkeeperDomain
import LockkeeperSQLite
import Testing

@testable import LockkeeperMessages

@Suite("What could not be merged: bounded, retried, accepted, dropped; and later events (M-3, I-9)")
struct QuarantineTests {
    @Test("where nothing more may be put aside the batch is refused whole, and nothing is dropped")
    func bounded() async throws {
        var limits = Limits()
        limits.quarantineCountMax = 2
        try await withAccount(limits: limits) { account in
            let store = account.messages
            try await store.ingest([
                message("m1", seq: 1), message("m2", seq: 1), message("m3", seq: 1),
            ])
            await expect(.quarantineFull) {
                try await store.ingest([message("m9", seq: 9), message("m4", seq: 1)])
            }
            #expect(try await store.shown() == ["m1:text"])
            // A repetition needs no room.
            let again = try await store.ingest([message("m3", seq: 1)])
            #expect(again.outcomes == counts(quarantined: 1))
            let item = try #require(try await store.quarantine().last)
            #expect(item.count == 2)
            #expect(try await store.dropQuarantined(item.number))
            #expect(try await !store.dropQuarantined(item.number))
            let receipt = try await store.ingest([message("m9", seq: 9), message("m4", seq: 1)])
            #expect(receipt.outcomes == counts(inserted: 1, quarantined: 1))
        }
    }

    @Test("from four fifths of the bound on, check and status say that little room is left")
    func nearlyFull() async throws {
        var limits = Limits()
        limits.quarantineCountMax = 10
        try await withAccount(limits: limits) { account in
            func warned() async throws -> [String] {
                try await account.app.warnings(of: "alice").map(\.code)
            }
            let store = account.messages
            try await store.ingest([message("m0", seq: 1)])
            for number in 1...7 {
                try await store.ingest([message(try MessageID("m\(number)"), seq: 1)])
            }
            #expect(try await warned() == [])
            try await store.ingest([message("m8", seq: 1)])
            #expect(try await warned() == ["quarantine-nearly-full"])
            let notes = try await account.app.status().accounts[0].notes
            #expect(notes.contains { $0.hasPrefix("8 of 10 items and ") }, "\(notes)")
            let item = try #require(try await store.quarantine().first)
            _ = try await store.dropQuarantined(item.number)
            #expect(try await warned() == [])
        }
    }

    @Test("what is in nobody's way any more is merged when it is tried again")
    func retry() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([message("m1", seq: 1), message("m2", seq: 1, "second")])
            let item = try #require(try await store.quarantine().first)
            #expect(try await store.retryQuarantined(item.number) == .quarantined)
            let again = try #require(try await store.quarantine().first)
            try await store.ingest([message("m1", seq: 2, version: 2)])
            #expect(try await store.retryQuarantined(again.number) == .inserted)
            #expect(try await store.shown() == ["m2:second", "m1:text"])
            #expect(try await store.quarantine().isEmpty)
            #expect(try await store.retryQuarantined(again.number) == nil)
        }
    }

    @Test("accepted: a taken seq, a forged edit, a value that lost; refused: what is no event")
    func accept() async throws {
        try await withAccount(contract: ServerContract(authority: .author)) { account in
            let store = account.messages
            try await store.ingest([
                message("m1", seq: 1, "a"), message("m2", seq: 1, "tied"),
                edit("m1", version: 2, "by eve") { $0.editor = "eve" },
                message("m3", seq: 3, "y"), message("m3", seq: 3, "x"),
            ])
            #expect(try await store.shown() == ["m1:a", "m3:y"])
            for item in try await store.quarantine() {
                let outcome = try await store.acceptQuarantined(item.number)
                #expect(outcome == .inserted || outcome == .updated, "\(item)")
            }
            #expect(try await store.shown() == ["m1:by eve", "m2:tied", "m3:x"])
            // What stood before is put aside for it.
            #expect(try await store.quarantine().map(\.message) == ["m3"])
            try await store.ingest([
                .later(LaterEvent(type: "x", line: Array(#"{"type":"x"}"#.utf8)))
            ])
            let later = try #require(try await store.quarantine().last)
            await expect(.invalidInput) {
                _ = try await store.acceptQuarantined(later.number)
            }
            #expect(try await store.quarantine().count == 2)
        }
    }

    @Test("what changes a message that nobody has sent yet is not accepted before that is there")
    func acceptedTooEarly() async throws {
        try await withAccount(contract: ServerContract(authority: .author)) { account in
            let store = account.messages
            // Nobody says that he recalls it.
            try await store.ingest([recall("m1", version: 2)])
            let item = try #require(try await store.quarantine().first)
            await expect(.invalidInput) { _ = try await store.acceptQuarantined(item.number) }
            #expect(try await store.quarantine().map(\.number) == [item.number])
            try await store.ingest([message("m1", seq: 1, "gone")])
            #expect(try await store.acceptQuarantined(item.number) == .updated)
            #expect(try await store.shown() == ["m1:"])
            #expect(try await store.exported().count == 2)
        }
    }

    @Test("what was accepted stays so whatever the server repeats, until a newer version comes")
    func acceptedStays() async throws {
        try await withAccount(contract: ServerContract(authority: .author)) { account in
            let store = account.messages
            let forged = edit("m1", version: 3, "by eve") { $0.editor = "eve" }
            let lines = [message("m1", seq: 1, "one"), message("m1", seq: 1, "ONE")]
            try await store.ingest(lines)
            let item = try #require(try await store.quarantine().first)
            #expect(try await store.acceptQuarantined(item.number) == .updated)
            for order in permutations(of: lines + lines) { try await store.ingest(order) }
            #expect(try await store.shown() == ["m1:ONE"])
            // The one that stood is put aside, once, and can be accepted in its turn.
            var items = try await store.quarantine()
            #expect(items.count == 1 && items.allSatisfy { $0.number != item.number })
            _ = try await store.acceptQuarantined(items[0].number)
            try await store.ingest(lines.reversed())
            #expect(try await store.shown() == ["m1:one"])
            try await store.ingest([forged])
            items = try await store.quarantine().filter { $0.reason == "unauthorised" }
            _ = try await store.acceptQuarantined(try #require(items.first).number)
            try await store.ingest([forged] + lines)
            #expect(try await store.shown() == ["m1:by eve"])
            #expect(try await store.quarantine().allSatisfy { $0.reason != "unauthorised" })
            try await store.ingest([edit("m1", version: 4, "bob's") { $0.editor = "bob" }])
            #expect(try await store.shown() == ["m1:bob's"])
            // Nothing of it outlives the message.
            try await store.ingest([delete("m1")])
            let left = try await store.session.database.read {
                try $0.query("SELECT count(*) FROM lk_quarantine") { $0.integer(0) }
            }
            #expect(left == [0])
        }
    }

    @Test("of a conversation, a member and a reaction the value that loses is put aside too (I-5)")
    func otherLosers() async throws {
        try await withAccount { account in
            let store = account.messages
            let pairs: [[Event]] = [
                ["new", "old"].map { title in conversation { $0.title = title } },
                [true, false].map { muted in conversation { $0.isMuted = muted } },
                [member("eve", role: "guest"), member("eve", role: "admin")],
                [member("joe", removed: true), member("joe")],
                [reaction("m1", "👍", slot: "one"), reaction("m1", "👎", slot: "one")],
                [reaction("m1", "🎉"), reaction("m1", "🎉", removed: true)],
            ]
            func state() async throws -> String {
                let known = try #require(try await store.conversation("c"))
                let members = try await store.members(of: "c").map {
                    "\($0.person) \($0.role ?? "-") \($0.isRemoved)"
                }
                let reactions = try await store.reactions(to: "m1", in: "c").map(\.emoji)
                return "\(known.title ?? "-") \(known.isMuted) \(members) \(reactions)"
            }
            try await store.ingest([message("m1", seq: 1)] + pairs.joined())
            let before = try await state()
            #expect(before == "old true [\"eve guest false\", \"joe - true\"] [\"👎\"]")
            let items = try await store.quarantine()
            #expect(items.count == pairs.count && items.allSatisfy { $0.reason == "conflict" })
            for item in items {
                #expect(try await store.acceptQuarantined(item.number) == .updated)
            }
            let accepted = "new false [\"eve admin false\", \"joe - false\"] [\"👍\", \"🎉\"]"
            #expect(try await state() == accepted)
            try await store.ingest(pairs.joined() + pairs.joined().reversed())
            #expect(try await state() == accepted)
            // Accepted once more, all is as it was.
            for item in try await store.quarantine() {
                _ = try await store.acceptQuarantined(item.number)
            }
            try await store.ingest(Array(pairs.joined()))
            #expect(try await state() == before)
        }
    }

    // R-17: the number stands in the schema.
    @Test("later events are merged by the first program with larger rules, and by no smaller one")
    func laterRules() async throws {
        try await withAccount { account in
            let store = account.messages
            // As an older program kept them, which knew messages only.
            let lines = [#"{"type":"delete","conversation":"c","id":"m1"}"#, #"{"type":"poll"}"#]
            try await store.ingest(
                [message("m1", seq: 1)]
                    + lines.map { .later(LaterEvent(type: "later", line: Array($0.utf8))) }
            )
            #expect(try await store.shown() == ["m1:text"])
            try await merge(with: 2, store)
            #expect(try await store.shown() == [])
            #expect(try await store.quarantine().map(\.explanation).count == 1)
            await expect(.newerSchema) { try await store.ingest([message("m2", seq: 2)]) }
            #expect(try await store.shown() == [])
        }
    }

    /// Begins a batch as a program with other merge rules would.
    private func merge(with number: Int64, _ store: MessageStore) async throws {
        _ = try await store.session.database.submit(durability: .committed, waitMax: nil) {
            connection,
            _ in
            var rules = store.rules
            rules.number = number
            var merge = BatchMerge(connection: connection, rules: rules, now: 0)
            try merge.begin()
            return try merge.finish().outcomes
        }
    }

    // M-3, M-15
    @Test("the receipt counts what was put aside, whichever of two bodies comes first")
    func receiptOfConflict() async throws {
        try await withAccount { account in
            let store = account.messages
            for (number, bodies) in [["A", "B"], ["B", "A"]].enumerated() {
                let conversation = try ConversationID("c\(number)")
                let receipt = try await store.ingest(
                    bodies.map { message("m1", seq: 1, $0, in: conversation) }
                )
                #expect(receipt.outcomes.inserted == 1)
                #expect(receipt.outcomes.quarantined == 1)
                #expect(try await store.shown(conversation) == ["m1:B"])
                #expect(try await store.quarantine().count == number + 1)
            }
        }
    }
}
