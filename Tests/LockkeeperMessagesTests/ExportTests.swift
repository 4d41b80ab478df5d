import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import Testing

@Suite("Export: everything that a fresh store needs to behave the same")
struct ExportTests {
    @Test("an export is one line for each version, in the order that the design states")
    func lines() async throws {
        try await withAccount { account in
            try await account.messages.ingest([
                .later(LaterEvent(type: "new", line: Array(#"{"type":"new"}"#.utf8))),
                edit("waits", version: 2, "w"), recall("m1", version: 2),
                message("m2", seq: 2, "two"), edit("m2", version: 3, "three"),
                message("m1", seq: 1), read(upTo: 1), read(upTo: 2, by: "bob"),
                message("m1", seq: 1, in: "b"), .page(page(nil, "c1")), .page(page("c5", "c6")),
            ])
            let kinds = try await account.messages.exported(includingCursors: true)
                .map { try Kind(line: $0) }
            #expect(
                kinds.map(\.description) == [
                    "message b/m1", "message c/m2", "edit c/m2", "recall c/m1", "read c", "read c",
                    "edit c/waits", "later", "page", "page",
                ]
            )
        }
    }

    // I-5
    @Test(
        "export, import and export again give the same bytes, cursors included",
        arguments: ServerContract.Authority.allCases
    )
    func roundTrip(authority: ServerContract.Authority) async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("export round trip: seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        try await withAccount(contract: ServerContract(authority: authority)) { account in
            for number in 0..<20 {
                let source = try await account.another(try AccountID("source \(number)"))
                let target = try await account.another(try AccountID("target \(number)"))
                let pool = EventPool.random(&generator)
                try await source.ingest(pool.events, durability: .committed)
                let lines = try await source.exported(includingCursors: true)
                try await target.importing(lines)
                let again = try await target.exported(includingCursors: true)
                #expect(again == lines, "seed \(seed): \(pool)")
                #expect(
                    try await target.conversations() == (try await source.conversations()),
                    "seed \(seed): \(pool)"
                )
                // And it behaves the same: nothing of what made it is news.
                let receipt = try await target.ingest(pool.events, durability: .committed)
                #expect(receipt.outcomes.inserted == 0, "seed \(seed): \(pool)")
                let after = try await target.exported(includingCursors: true)
                #expect(after == lines, "seed \(seed): \(pool)")
            }
        }
    }

    // I-5: an export says nothing of it, so that an importing store would not know it.
    @Test(
        "a conversation of which everything was put aside is listed by nobody, until something is known"
    )
    func onlyPutAside() async throws {
        try await withAccount(contract: ServerContract(authority: .author)) { account in
            let store = account.messages
            // Nobody says that he recalls it.
            let receipt = try await store.ingest([recall("m1", version: 2)])
            #expect(receipt.outcomes == counts(quarantined: 1))
            #expect(try await store.conversations().isEmpty)
            try await store.ingest([message("m1", seq: 1), recall("m1", version: 2)])
            #expect(try await store.conversations().map(\.id) == ["c"])
        }
    }

    // M-12: an imported store knows the pages that were passed.
    @Test("a page that the exporting store had passed is a redelivery to the importing one")
    func passedPages() async throws {
        var limits = Limits()
        limits.edgeCountMax = 2
        try await withAccount(limits: limits) { account in
            let chain = [page(nil, "c1"), page("c1", "c2"), page("c2", "c3")]
            try await account.messages.ingest(chain.map(Event.page))
            let lines = try await account.messages.exported(includingCursors: true)
            let target = try await account.another("target")
            try await target.importing(lines)
            let again = try await target.ingest(chain[1...].map(Event.page))
            #expect(again.outcomes == counts(duplicate: 2) && again.cursors == ["inbox": "c3"])
            #expect(try await target.exported(includingCursors: true) == lines)
        }
    }

    @Test("an export that its taker ends leaves the store usable and throws what the taker threw")
    func ended() async throws {
        struct Enough: Error {}
        try await withAccount { account in
            try await account.messages.ingest([message("m1", seq: 1)])
            await #expect(throws: Enough.self) {
                try await account.messages.export { _ in throw Enough() }
            }
            try await account.messages.ingest([message("m2", seq: 2)])
            #expect(try await account.messages.exported().count == 2)
        }
    }

    /// What a line is about.
    private struct Kind: CustomStringConvertible {
        let description: String

        init(line: String) throws {
            var decoder = EventDecoder()
            switch try decoder.decode(line: Array(line.utf8)) {
            case .message(let event): description = "message \(event.conversation)/\(event.id)"
            case .edit(let event): description = "edit \(event.conversation)/\(event.id)"
            case .recall(let event): description = "recall \(event.conversation)/\(event.id)"
            case .read(let event): description = "read \(event.conversation)"
            case .page: description = "page"
            case .delete(let event): description = "delete \(event.conversation)/\(event.id)"
            case .reaction(let event): description = "reaction \(event.conversation)/\(event.id)"
            case .conversation(let event): description = "conversation \(event.conversation)"
            case .member(let event): description = "member \(event.conversation)"
            case .clear(let event): description = "clear \(event.conversation)"
            case .history(let event): description = "history \(event.conversation)"
            case .reset: description = "reset"
            case .later: description = "later"
            }
        }
    }
}
