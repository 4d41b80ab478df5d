import Lockkeeper
import LockkeeperDomain
import LockkeeperSQLite
import LockkeeperTesting
import Testing

@testable import LockkeeperMessages

@Suite("Timelines by keys: back, onwards, around a message, with gaps (M-13, M-14, R-29)")
struct TimelineTests {
    private func events(_ numbers: some Sequence<Int>) throws -> [Event] {
        try numbers.map { message(try MessageID("m\($0)"), seq: Int64($0)) }
    }

    private func sequences(_ page: [StoredMessage]) -> [Int64] { page.compactMap(\.sequence) }

    // B63: pages that were cut by a count shifted while rows arrived.
    @Test("pages read back and onwards miss no message that was there, whatever arrives meanwhile")
    func keyset() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest(try events(stride(from: 2, through: 200, by: 2)))
            var seen: [Int64] = []
            var place: MessagePlace?
            var round = 0
            while true {
                let page = try await store.timeline("c", before: place, limit: 30)
                guard let last = page.last else { break }
                seen += sequences(page)
                place = last.place
                // Late old messages, between those that were read and those that were not.
                round += 1
                try await store.ingest(
                    try events(stride(from: round, through: 199, by: 40).map { $0 | 1 })
                )
            }
            #expect(seen == seen.sorted(by: >) && Set(seen).count == seen.count)
            #expect(Set(seen).isSuperset(of: stride(from: 2, through: 200, by: 2).map(Int64.init)))

            var onwards: [Int64] = []
            var from = MessagePlace(sequence: 1)
            while true {
                let page = try await store.timeline("c", after: from, limit: 30)
                guard let newest = page.first else { break }
                #expect(sequences(page) == sequences(page).sorted(by: >))
                onwards += sequences(page).reversed()
                from = newest.place
            }
            let all = try await store.timeline("c", limit: 1_000)
            #expect(onwards == sequences(all).reversed())
            #expect(try await store.timeline("unknown", after: from, limit: 3).isEmpty)
        }
    }

    @Test("around a message: it stands in the middle, and at an end where there is nothing beyond")
    func around() async throws {
        try await withAccount(contract: ServerContract(order: .ties)) { account in
            let store = account.messages
            try await store.ingest(try events(1...100))
            // Two more at the same place, one of them right behind it by its id.
            try await store.ingest([message("m50\0", seq: 50), message("m5", seq: 50, version: 2)])
            func around(_ id: MessageID, _ limit: Int) async throws -> [String]? {
                try await store.timeline("c", around: id, limit: limit)?.map(\.id.description)
            }
            #expect(try await around("m50", 5) == ["m51", "m50\0", "m50", "m5", "m49"])
            #expect(try await around("m1", 4) == ["m3", "m2", "m1"])
            #expect(try await around("m100", 4) == ["m100", "m99", "m98", "m97"])
            #expect(try await around("m70", 1) == ["m70"])
            #expect(try await around("unknown", 4) == nil)
            // One that is gone keeps its place.
            try await store.ingest([
                .delete(DeleteEvent(conversation: "c", id: "m80")), recall("m90"),
            ])
            #expect(try await around("m80", 3) == ["m81", "m79", "m78"])
            #expect(try await around("m90", 3) == ["m91", "m90", "m89"])
            // What waits has no place.
            try await store.ingest([edit("later", version: 2, "text")])
            #expect(try await around("later", 3) == nil)
        }
    }

    // B62: order was decided by the sender's clock.
    @Test("the server's order decides, whatever senders' clocks say, for pages and unread alike")
    func senderClocks() async throws {
        try await withAccount { account in
            let store = account.messages
            let base: Int64 = 1_790_000_000_000
            let clocks: [Int64] = [
                base + 3 * 3_600_000, base - 180_000, base, 0, 4_102_444_800_000,
            ]
            try await store.ingest(
                try clocks.enumerated().reversed().map { index, clock in
                    message(
                        try MessageID("m\(index + 1)"),
                        seq: Int64(index + 1),
                        sentAt: clock
                    )
                }
            )
            #expect(sequences(try await store.timeline("c", limit: 9)) == [5, 4, 3, 2, 1])
            let page = try await store.timeline("c", after: MessagePlace(sequence: 2), limit: 2)
            #expect(page.map(\.id) == ["m3", "m2"])
            try await store.ingest([read(upTo: 3)])
            #expect(try await store.unread() == 2)
            // A message of one's own without a place stands last, and takes its place when it has one.
            try await store.ingest([
                message("own", seq: nil, version: 0, from: "me", sentAt: 0)
            ])
            #expect(try await store.timeline("c", limit: 1).map(\.id) == ["own"])
            try await store.ingest([message("own", seq: 6, from: "me")])
            try await store.ingest([message("m7", seq: 7)])
            #expect(try await store.timeline("c", limit: 2).map(\.id) == ["m7", "own"])
        }
    }

    @Test("gaps are what lies between the ranges that were given, and close as they are given")
    func gaps() async throws {
        try await withAccount { account in
            let store = account.messages
            func given(_ range: ClosedRange<Int64>) async throws {
                try await store.ingest([
                    .history(
                        HistoryEvent(
                            conversation: "c",
                            from: range.lowerBound,
                            to: range.upperBound
                        )
                    )
                ])
            }
            #expect(try await store.gaps(of: "c").isEmpty)
            try await given(10...20)
            #expect(try await store.gaps(of: "c").isEmpty)
            try await given(40...50)
            try await given(22...22)
            #expect(try await store.gaps(of: "c") == [21...21, 23...39])
            try await given(15...30)
            #expect(try await store.gaps(of: "c") == [31...39])
            try await given(31...39)
            #expect(try await store.gaps(of: "c").isEmpty)
        }
    }

    // B63
    @Test(
        "pages of the list of conversations, pinned and empty ones among them, are the list itself"
    )
    func conversations() async throws {
        try await withAccount { account in
            let store = account.messages
            var events: [Event] = []
            for number in 0..<40 {
                let id = try ConversationID("c\(number)")
                // Several at one instant, some without a message, some pinned.
                if number % 5 != 0 {
                    events.append(
                        message("m", seq: 1, in: id, sentAt: Int64(1_000 * (number / 4)))
                    )
                }
                var conversation = ConversationEvent(conversation: id, version: 1)
                conversation.isPinned = number % 3 == 0
                events.append(.conversation(conversation))
            }
            try await store.ingest(events)
            let all = try await store.conversations().map(\.id)
            #expect(all.count == 40)
            for limit in [1, 3, 7, 50] {
                var paged = try await store.conversations(limit: limit)
                while let last = paged.last {
                    let next = try await store.conversations(after: last.place, limit: limit)
                    if next.isEmpty { break }
                    paged += next
                }
                #expect(paged.map(\.id) == all, "pages of \(limit)")
            }
            // One that moves to the front meanwhile is missed by no page, and hides no other.
            let first = try await store.conversations(limit: 20)
            let moving = try #require(try await store.conversations().last)
            try await store.ingest([message("new", seq: 9, in: moving.id, sentAt: 900_000)])
            let last = try #require(first.last)
            let rest = try await store.conversations(after: last.place, limit: 50)
            #expect(Set((first + rest).map(\.id)) == Set(all).subtracting([moving.id]))
            for query in [MessageStore.sameInstantQuery, MessageStore.olderQuery] {
                let plan = try await account.plan(of: query)
                #expect(plan.count == 1 && plan[0].hasPrefix("SEARCH"), "\(plan)")
                #expect(plan[0].contains("INDEX lk_conversation_list"), "\(plan)")
            }
        }
    }

    //
    @Test("each page is found by the index alone, without sorting, and touches no hidden row")
    func plans() async throws {
        try await withAccount { account in
            for query in [MessageStore.timelineQuery, MessageStore.timelineAfterQuery] {
                let plan = try await account.plan(of: query)
                #expect(plan.count == 1, "\(plan)")
                let index = "SEARCH lk_message USING INDEX lk_message_place"
                #expect(plan.first?.hasPrefix(index) == true)
            }
            let plan = try await account.plan(of: MessageStore.historyQuery)
            #expect(plan.count == 1 && plan.first?.hasPrefix("SEARCH lk_history USING") == true)
        }
    }

    // the index holds what is shown, so that what was deleted costs a page nothing.
    @Test("a page steps over nothing where thousands were deleted before it")
    func deletedRows() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest(try events(1...2_000), durability: .committed)
            try await store.ingest(
                try (101...1_990).map {
                    Event.delete(DeleteEvent(conversation: "c", id: try MessageID("m\($0)")))
                },
                durability: .committed
            )
            #expect(
                sequences(try await store.timeline("c", limit: 12)).suffix(3) == [1991, 100, 99]
            )
            let count = try await account.session.database.read { transaction in
                try transaction.query(
                    "SELECT count(*) FROM lk_message INDEXED BY lk_message_place WHERE state IN (1, 2)"
                ) { $0.integer(0) }
            }
            #expect(count == [110])
        }
    }
}

extension TestAccount {
    /// How SQLite would run a query, a step per line.
    fileprivate func plan(of query: StaticString) async throws -> [String] {
        try await session.database.readConnection { connection in
            let explain = try connection.prepare("EXPLAIN QUERY PLAN \(query)")
            var steps: [String] = []
            while try explain.step() { steps.append(explain.string(3)) }
            return steps
        }
    }
}
