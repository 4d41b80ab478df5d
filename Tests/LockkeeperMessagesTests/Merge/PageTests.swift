import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import Testing

@Suite("Pages and cursors: a cursor follows edges from where it stands (I-4, M-12)")
struct PageTests {
    private static let chain = [
        page(nil, "c1"), page("c1", "c2"), page("c2", "c3"), page("c3", "c4"),
        page("c4", "c5", done: true),
    ]

    // I-5
    @Test(
        "five pages in every order, redelivered at random, end at the last cursor"
    )
    func everyOrder() async throws {
        try await withAccount { account in
            let seed = UInt64.random(in: 0 ... .max)
            var generator = SeededGenerator(seed: seed)
            for (number, order) in permutations(of: Self.chain).enumerated() {
                let stream = try StreamID("s\(number)")
                var arrived: Set<SyncPage> = []
                for (index, page) in order.enumerated() {
                    let receipt = try await deliver([page], to: stream, account)
                    arrived.insert(page)
                    let reached = Self.chain.prefix { arrived.contains($0) }.last?.next
                    #expect(receipt.cursors == [stream: reached], "seed \(seed): \(order)")
                    let again = order[...index].randomElement(using: &generator) ?? page
                    let repeated = try await deliver([again], to: stream, account)
                    #expect(repeated.outcomes == counts(duplicate: 1) && repeated.commit == nil)
                }
                #expect(try await account.messages.cursors()[stream] == "c5")
            }
            #expect(try await account.messages.waitingPages().isEmpty)
            #expect(try await account.messages.quarantine().isEmpty)
        }
    }

    @Test("the receipt of a page that waits says where the cursor stands and what was found")
    func receipt() async throws {
        try await withAccount { account in
            let store = account.messages
            let first = try await store.ingest([message("m9", seq: 9)], closing: page("c1", "c2"))
            #expect(first.cursors == ["inbox": nil] && first.outcomes.total == 2)
            let gap = try #require(first.gaps.first)
            #expect(gap.stream == "inbox" && gap.expected == nil && gap.found == "c1")
            #expect(try await store.waitingPages() == first.gaps)
            // Its events are stored meanwhile.
            #expect(try await store.shown() == ["m9:text"])
            let second = try await store.ingest([], closing: page(nil, "c1"))
            #expect(second.cursors == ["inbox": "c2"] && second.gaps.isEmpty)
        }
    }

    @Test("a batch that brings a page before the one it needs reports no gap")
    func filledInBatch() async throws {
        try await withAccount { account in
            let receipt = try await account.messages.ingest(
                Self.chain.reversed().map(Event.page)
            )
            #expect(receipt.cursors == ["inbox": "c5"] && receipt.gaps.isEmpty)
        }
    }

    @Test("a page that leads nowhere moves nothing, wherever it lies")
    func leadsNowhere() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([], closing: page(nil, "c1"))
            for cursor in ["c1", "elsewhere"] as [Cursor] {
                let receipt = try await store.ingest([], closing: page(cursor, cursor))
                #expect(receipt.outcomes == counts(duplicate: 1))
                #expect(receipt.cursors == ["inbox": "c1"] && receipt.gaps.isEmpty)
            }
        }
    }

    @Test("of two edges from one cursor the first that was followed stands, the other is put aside")
    func contradiction() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([], closing: page(nil, "c1"))
            let late = try await store.ingest([], closing: page(nil, "other"))
            #expect(late.outcomes == counts(quarantined: 1) && late.cursors == ["inbox": "c1"])
            // Both wait where the cursor comes by: the smaller one is followed in every process.
            try await store.ingest([.page(page("c2", "z")), .page(page("c2", "c3"))])
            let receipt = try await store.ingest([], closing: page("c1", "c2"))
            #expect(receipt.cursors == ["inbox": "c3"])
            #expect(
                try await store.quarantine().map(\.reason)
                    == Array(repeating: "page-contradicts", count: 2)
            )
            #expect(try await store.waitingPages().isEmpty)
        }
    }

    @Test("a page that leads back to a cursor which was left moves nothing back, in any order")
    func loop() async throws {
        let back = page("c3", "c1")
        for order in permutations(of: Array(Self.chain.prefix(3)) + [back]) {
            try await withAccount { account in
                let store = account.messages
                for page in order { try await store.ingest([.page(page)]) }
                #expect(try await store.cursors() == ["inbox": "c3"], "\(order)")
                #expect(try await store.quarantine().map(\.reason) == ["page-contradicts"])
                #expect(try await store.waitingPages().isEmpty)
                // What follows is followed.
                try await store.ingest([.page(Self.chain[3])])
                #expect(try await store.cursors() == ["inbox": "c4"])
                // A server that really goes back says so by a reset.
                try await store.ingest([reset("c4"), .page(page(nil, "c1"))])
                #expect(try await store.cursors() == ["inbox": "c1"])
            }
        }
    }

    // B56: all of the page or nothing of it.
    @Test(
        "a page after a gap is rolled back whole where gaps are refused, and the error says why"
    )
    func refuse() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([], closing: page(nil, "c1"))
            let head = try await account.session.database.head()
            let events = try (1...250).map { try message(MessageID("m\($0)"), seq: Int64($0)) }
            let error = await #expect(throws: LockkeeperError.self) {
                try await store.ingest(events, closing: page("c2", "c3"), onGap: .refuse)
            }
            #expect(error?.code == .gap && error?.answer == .askAgain)
            let said = error?.explanation ?? ""
            #expect(said.contains("'c1'") && said.contains("'c2'"))
            #expect(try await account.session.database.head() == head)
            #expect(try await store.shown() == [])
            // The same page is taken once its predecessor was.
            try await store.ingest([], closing: page("c1", "c2"), onGap: .refuse)
            let receipt = try await store.ingest(events, closing: page("c2", "c3"), onGap: .refuse)
            #expect(receipt.cursors == ["inbox": "c3"] && receipt.outcomes.inserted == 250)
            // And taken again as the redelivery that it is.
            let again = try await store.ingest([], closing: page("c2", "c3"), onGap: .refuse)
            #expect(again.outcomes == counts(duplicate: 1))
        }
    }

    @Test("a page that waits already is refused like any other after a gap")
    func refuseWaiting() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([], closing: page("c1", "c2"))
            let error = await #expect(throws: LockkeeperError.self) {
                try await store.ingest(
                    [message("m1", seq: 1)],
                    closing: page("c1", "c2"),
                    onGap: .refuse
                )
            }
            #expect(error?.code == .gap)
            #expect(try await store.shown() == [])
        }
    }

    // the cursor moves with the last of the page's transactions.
    @Test("a page of several batches moves its cursor with the last of them")
    func severalBatches() async throws {
        var limits = Limits()
        limits.batchEventCountMax = 10
        try await withAccount(limits: limits) { account in
            let start = try await account.session.database.head()
            let events = try (1...35).map { try message(MessageID("m\($0)"), seq: Int64($0)) }
            let receipt = try await account.messages.ingest(events, closing: page(nil, "c1"))
            #expect(receipt.outcomes == counts(inserted: 35, updated: 1))
            #expect(receipt.cursors == ["inbox": "c1"] && receipt.waits.count == 4)
            let ranges = try await account.session.ranges(after: start, commitCount: 4)
            let moves = ranges.map { range in range.tables.contains { $0.name == "lk_cursor" } }
            #expect(moves == [false, false, false, true])
        }
    }

    // I-9
    @Test(
        "as many pages wait as the bound says, and as many passed ones are remembered"
    )
    func bounds() async throws {
        var limits = Limits()
        limits.edgeCountMax = 4
        try await withAccount(limits: limits) { account in
            let store = account.messages
            let chain = try (0..<9).map { number in
                page(number == 0 ? nil : try Cursor("c\(number)"), try Cursor("c\(number + 1)"))
            }
            let ahead = try await store.ingest(chain[4...].map(Event.page))
            #expect(ahead.outcomes == counts(updated: 4, quarantined: 1))
            #expect(try await store.waitingPages().count == 4)
            #expect(try await store.quarantine().map(\.reason) == ["too-many-waiting-pages"])
            // The way there is still open.
            let way = try await store.ingest(chain[..<4].map(Event.page))
            #expect(way.cursors == ["inbox": "c8"])
            let again = try await store.ingest([], closing: chain[8])
            #expect(again.cursors == ["inbox": "c9"])
            let remembered = try await store.ingest(chain[5...].map(Event.page))
            #expect(remembered.outcomes == counts(duplicate: 4) && remembered.commit == nil)
        }
    }

    // M-12: one stream's gap is no other's.
    @Test("streams move apart from each other, and live events move none")
    func streams() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest([], closing: page(nil, "a1", of: "a"))
            try await store.ingest([], closing: page("b1", "b2", of: "b"))
            let live = try await store.ingest([message("m1", seq: 1)])
            #expect(live.cursors.isEmpty)
            #expect(try await store.cursors() == ["a": "a1"])
        }
    }

    private func deliver(
        _ pages: [SyncPage],
        to stream: StreamID,
        _ account: TestAccount
    ) async throws -> Receipt {
        let events = pages.map { page in
            Event.page(
                SyncPage(stream: stream, after: page.after, next: page.next, done: page.isDone)
            )
        }
        return try await account.messages.ingest(events, durability: .committed)
    }
}
