import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperTesting
import Testing

/// I-5: the same set of events gives the same state in any order, any duplication, any split into
/// batches, from any processes, pages out of order included. The state is what can be seen of it:
/// the export with its cursors, byte for byte, and the counters and summaries of the list.
@Suite("Convergence (I-5)")
struct ConvergenceTests {
    private static let seed = UInt64.random(in: 0 ... .max)

    @Test("pools of up to five events lead to one state in every order there is")
    func everyOrder() async throws {
        print("convergence, every order: seed \(Self.seed)")
        try await expectAgreement(
            poolCount: 25,
            eventCounts: 2...5,
            exhaustiveCountMax: 5,
            randomCount: 20,
            SeededGenerator(seed: Self.seed)
        )
    }

    // As many as LOCKKEEPER_CONVERGENCE_POOLS says; Docs/TESTING.md.
    @Test(
        "larger pools lead to one state in random orders, repeated and split at random",
        arguments: ServerContract.Authority.allCases
    )
    func randomOrders(authority: ServerContract.Authority) async throws {
        print("convergence, random orders: seed \(Self.seed)")
        let wanted = Environment.variable("LOCKKEEPER_CONVERGENCE_POOLS").flatMap { Int($0) }
        try await expectAgreement(
            poolCount: (wanted ?? 40) / 2,
            eventCounts: 6...EventPool.eventCountMax,
            exhaustiveCountMax: 0,
            randomCount: wanted == nil ? 30 : 10,
            SeededGenerator(seed: Self.seed &+ 1),
            ServerContract(authority: authority)
        )
    }

    @Test("under a contract with ties two ids on one place converge as well")
    func ties() async throws {
        var generator = SeededGenerator(seed: Self.seed &+ 2)
        try await withAccount(contract: ServerContract(order: .ties)) { account in
            for _ in 0..<20 {
                let events = EventPool.random(&generator, count: 5).events.map(\.onFirstPlace)
                try await expectAgreement(
                    about: EventPool(events: events),
                    Rehearsal(store: account.messages),
                    exhaustiveCountMax: 4,
                    randomCount: 30,
                    &generator
                )
            }
        }
    }

    // M-5: people, bodies and versions are few, so that most edits and recalls are forged.
    @Test("under the contract author edits and recalls of anybody converge in every order")
    func author() async throws {
        var generator = SeededGenerator(seed: Self.seed &+ 5)
        print("convergence, author: seed \(Self.seed)")
        try await withAccount(contract: ServerContract(authority: .author)) { account in
            for number in 0..<20 {
                try await expectAgreement(
                    about: EventPool.random(&generator, count: number % 2 == 0 ? 4 : 9),
                    Rehearsal(store: account.messages),
                    exhaustiveCountMax: 4,
                    randomCount: 30,
                    &generator
                )
            }
        }
    }

    @Test(
        "three processes that deliver the same events at the same time leave what one leaves alone"
    )
    func threeProcesses() async throws {
        var generator = SeededGenerator(seed: Self.seed &+ 3)
        print("convergence, three processes: seed \(Self.seed)")
        try await withAccount { account in
            let pools = (0..<30).map { number in
                EventPool.random(&generator).events.map {
                    $0.moved(
                        to: ConversationID(unchecked: Array("c\(number)".utf8)),
                        stream: StreamID(unchecked: Array("s\(number)".utf8))
                    )
                }
            }
            let events = Array(pools.joined())
            let alone = try await account.another("alone")
            try await alone.ingest(events, durability: .committed)
            let deliveries = (0..<3).map { _ in
                Delivery(random: events.map(PoolStep.event), &generator)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, delivery) in deliveries.enumerated() {
                    let store = try await account.process("helper-\(number)")
                    group.addTask {
                        for batch in delivery.batches {
                            try await store.ingest(
                                batch.compactMap(\.event),
                                durability: .committed
                            )
                        }
                    }
                }
                try await group.waitForAll()
            }
            let together = try await account.messages.exported(includingCursors: true)
            #expect(
                together == (try await alone.exported(includingCursors: true)),
                "seed \(Self.seed)"
            )
            #expect(
                try await account.messages.conversations() == (try await alone.conversations()),
                "seed \(Self.seed)"
            )
        }
    }

    // M-3, M-10: what a person accepts and what the account does converge with what the server says.
    @Test(
        "acceptances, refusals and confirmations at old versions lead to one state in every order",
        arguments: ServerContract.Authority.allCases
    )
    func ownActs(authority: ServerContract.Authority) async throws {
        var generator = SeededGenerator(seed: Self.seed &+ 6)
        print("convergence, own acts: seed \(Self.seed)")
        try await withAccount(contract: ServerContract(authority: authority)) { account in
            let rehearsal = Rehearsal(store: account.messages)
            var acceptedCount = 0
            for number in 0..<18 {
                // Few events seldom make something to accept.
                let count = number % 3 == 0 ? 9 : 4
                var pool = EventPool.randomWithActs(&generator, count: count)
                var acceptable = try await rehearsal.acceptable(in: pool)
                // Every third pool makes something to accept.
                while acceptable.isEmpty, number % 3 == 0 {
                    pool = EventPool.randomWithActs(&generator, count: count)
                    acceptable = try await rehearsal.acceptable(in: pool)
                }
                if let accepted = acceptable.randomElement(using: &generator) {
                    pool.steps.append(accepted)
                    acceptedCount += 1
                }
                try await expectAgreement(
                    about: pool,
                    rehearsal,
                    exhaustiveCountMax: 4,
                    randomCount: 20,
                    &generator
                )
            }
            #expect(acceptedCount >= 6, "seed \(Self.seed)")
        }
    }

    // The harness must fail when it should.
    @Test(
        "a planted defect is seen, and shrinks to two events or three of which none fails alone",
        arguments: PlantedDefect.allCases
    )
    func canary(defect: PlantedDefect) async throws {
        var generator = SeededGenerator(seed: Self.seed &+ 4)
        try await withAccount { account in
            let rehearsal = Rehearsal(store: account.messages, defect: defect)
            var found: Disagreement?
            for _ in 0..<1000 where found == nil {
                let pool = EventPool.random(&generator)
                let deliveries = Delivery.all(
                    of: pool,
                    exhaustiveCountMax: 0,
                    randomCount: 20,
                    &generator
                )
                found = try await rehearsal.disagreement(about: pool, deliveries: deliveries)
            }
            let failing = try #require(found, "seed \(Self.seed): the defect was not seen")
            let smallest = try await rehearsal.shrunk(failing, &generator)
            // Seldom no two of the three that are left show it: taking one away is all that is tried.
            let count = smallest.pool.steps.count
            #expect((2...3).contains(count), "seed \(Self.seed): \(smallest)")
            // The same pool without the defect is in order.
            try await expectAgreement(
                about: smallest.pool,
                Rehearsal(store: account.messages),
                exhaustiveCountMax: 2,
                randomCount: 5,
                &generator
            )
        }
    }

    // MARK: - The property

    private func expectAgreement(
        poolCount: Int,
        eventCounts: ClosedRange<Int>,
        exhaustiveCountMax: Int,
        randomCount: Int,
        _ generator: consuming SeededGenerator,
        _ contract: ServerContract = ServerContract()
    ) async throws {
        var generator = generator
        try await withAccount(contract: contract) { account in
            for _ in 0..<poolCount {
                let count = Int.random(in: eventCounts, using: &generator)
                let rehearsal = Rehearsal(store: account.messages)
                var pool =
                    Bool.random(using: &generator)
                    ? EventPool.random(&generator, count: count)
                    : EventPool.randomWithActs(&generator, count: count)
                if let accepted = try await rehearsal.acceptable(in: pool)
                    .randomElement(using: &generator), pool.steps.count < EventPool.eventCountMax
                {
                    pool.steps.append(accepted)
                }
                try await expectAgreement(
                    about: pool,
                    rehearsal,
                    exhaustiveCountMax: exhaustiveCountMax,
                    randomCount: randomCount,
                    &generator
                )
            }
        }
    }

    private func expectAgreement(
        about pool: EventPool,
        _ rehearsal: Rehearsal,
        exhaustiveCountMax: Int,
        randomCount: Int,
        _ generator: inout SeededGenerator
    ) async throws {
        let deliveries = Delivery.all(
            of: pool,
            exhaustiveCountMax: exhaustiveCountMax,
            randomCount: randomCount,
            &generator
        )
        guard let found = try await rehearsal.disagreement(about: pool, deliveries: deliveries)
        else { return }
        let smallest = try await rehearsal.shrunk(found, &generator)
        Issue.record("seed \(Self.seed): \(smallest)")
    }
}

extension Event {
    /// A message at the first place of all; other events as they are.
    fileprivate var onFirstPlace: Event {
        guard case .message(var message) = self, message.sequence != nil else { return self }
        message.sequence = 1
        return .message(message)
    }
}
