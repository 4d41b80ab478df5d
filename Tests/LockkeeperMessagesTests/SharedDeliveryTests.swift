import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import Testing

@Suite("Several processes deliver the same messages (R-8)")
struct SharedDeliveryTests {
    // B51
    @Test(
        "a thousand messages that two processes deliver three times each are stored once"
    )
    func threeTimes() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("shared delivery: seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let events = try (1...1_000).map { try message(MessageID("m\($0)"), seq: Int64($0)) }
        let deliveries = (events + events + events).shuffled(using: &generator)
        try await withAccount { account in
            try await account.messages.ingest([read(upTo: 0)])
            let start = try await account.session.database.head()
            let receipts = try await deliver(deliveries, by: 2, account)
            #expect(receipts.map(\.outcomes.inserted).reduce(0, +) == 1_000, "seed \(seed)")
            #expect(receipts.map(\.outcomes.duplicate).reduce(0, +) == 2_000, "seed \(seed)")
            #expect(try await account.messages.unread() == 1_000)
            // Whoever brought nothing new made no commit; the others are in the log, row for row.
            for receipt in receipts {
                #expect((receipt.commit == nil) == (receipt.outcomes.inserted == 0))
            }
            let commits = receipts.compactMap(\.commit)
            #expect(Set(commits).count == commits.count)
            let ranges = try await account.session.ranges(
                after: start,
                commitCount: commits.count
            )
            let rows = ranges.flatMap { range in
                range.tables.first { $0.name == "lk_message" }?.rows?.ranges ?? []
            }
            #expect(rows.map(\.count).reduce(0, +) == 1_000, "seed \(seed)")
            #expect(try await account.session.database.head().commit == commits.max())
        }
    }

    // B53. The rounds are what finds a race: in each of them all begin with the same new id.
    @Test(
        "eight processes that bring the same new message at once insert it exactly once"
    )
    func sameNewID() async throws {
        try await withAccount { account in
            var stores: [MessageStore] = []
            for number in 0..<8 { stores.append(try await account.process("p\(number)")) }
            for round in 1...60 {
                let event = try message(MessageID("m\(round)"), seq: Int64(round))
                let outcomes = try await withThrowingTaskGroup(of: OutcomeCounts.self) { group in
                    for store in stores {
                        group.addTask {
                            try await store.ingest([event], durability: .committed).outcomes
                        }
                    }
                    var total = OutcomeCounts()
                    for try await outcomes in group { total.add(outcomes) }
                    return total
                }
                #expect(outcomes == counts(inserted: 1, duplicate: 7), "round \(round)")
            }
        }
    }

    /// Deals the events to processes that take batches of a few at the same time.
    private func deliver(
        _ events: [Event],
        by processCount: Int,
        _ account: TestAccount
    ) async throws -> [Receipt] {
        try await withThrowingTaskGroup(of: [Receipt].self) { group in
            for number in 0..<processCount {
                let store = try await account.process("p\(number)")
                let share = stride(from: number, to: events.count, by: processCount).map {
                    events[$0]
                }
                group.addTask {
                    var receipts: [Receipt] = []
                    for start in stride(from: 0, to: share.count, by: 15) {
                        let batch = Array(share[start..<min(start + 15, share.count)])
                        receipts.append(try await store.ingest(batch, durability: .committed))
                    }
                    return receipts
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }
}
