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
            #expect(try await store.quarantine().isEmpty)
            try await store.ingest([
                .later(LaterEvent(type: "x", line: Array(#"{"type":"x"}"#.utf8)))
            ])
            let later = try #require(try await store.quarantine().first)
            await expect(.invalidInput) {
                _ = try await store.acceptQuarantined(later.number)
            }
            #expect(try await store.quarantine().count == 1)
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
}
