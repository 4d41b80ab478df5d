import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform

/// Measures what a commit costs in a store of many messages beside one in a store of few: durable
/// batches of messages whose ids come by chance, as a server's do. The caller's thread may block.
package struct GrowthRun: Sendable {
    private let fewCount: Int
    private let manyCount: Int
    private let repeatCount: Int
    private let site: BenchSite
    private let clock = SystemClock()

    /// What is written to each store in a round: little beside what is in it.
    private let loads: [(batchCount: Int, commitCount: Int, budget: Double)]
    /// Messages in a transaction while a store is filled.
    private static let fillCount = 1000

    /// A run that has not begun.
    ///
    /// - Parameters:
    ///   - fewCount: messages in the small store, which is made anew for each round.
    ///   - manyCount: messages in the large one.
    ///   - commitCount: commits of one message in a round; those of ten are a quarter, those of a
    ///     hundred a tenth as many.
    package init(
        fewCount: Int,
        manyCount: Int,
        commitCount: Int = 200,
        repeatCount: Int,
        at site: BenchSite
    ) {
        precondition(fewCount > 0 && manyCount > 0 && repeatCount > 0, "something is measured")
        precondition(commitCount >= 10, "something is measured of each load")
        loads = [(1, commitCount, 1.5), (10, commitCount / 4, 1.5), (100, commitCount / 10, 2.5)]
        self.fewCount = fewCount
        self.manyCount = manyCount
        self.repeatCount = repeatCount
        self.site = site
    }

    /// A store and what is written to it next.
    private struct Target {
        let store: MessageStore
        var messages: BenchMessages
    }

    /// Measures.
    ///
    /// - Throws: what the stores throw.
    package func run() async throws -> BenchReport {
        try await withTarget("many", manyCount, seed: 0) { many in
            var many = many
            var costs: [Int: (few: [Double], many: [Double])] = [:]
            for round in 0..<repeatCount {
                try await withTarget("few-\(round)", fewCount, seed: UInt64(round + 1)) { few in
                    var few = few
                    for (index, load) in loads.enumerated() {
                        let (batch, count) = (load.batchCount, load.commitCount)
                        // The one that goes first does not always go first.
                        var first: Double?
                        if round.isMultiple(of: 2) { first = try await cost(batch, count, &few) }
                        let manyCost = try await cost(batch, count, &many)
                        let fewCost: Double
                        if let first {
                            fewCost = first
                        } else {
                            fewCost = try await cost(batch, count, &few)
                        }
                        costs[index, default: ([], [])].few.append(fewCost)
                        costs[index, default: ([], [])].many.append(manyCost)
                    }
                }
            }
            let figures = loads.enumerated().map { index, load in
                BenchFigure(
                    "a commit of \(load.batchCount)",
                    .milliseconds,
                    costs[index]?.many ?? [],
                    against: costs[index]?.few ?? [],
                    budget: .atMost(load.budget)
                )
            }
            let setting =
                "durable, random ids, among \(manyCount) messages against \(fewCount),"
                + " \(repeatCount) rounds"
            return BenchReport("growth", setting, figures)
        }
    }

    /// Makes a store with some messages and lets it be used.
    private func withTarget<Value>(
        _ name: String,
        _ messageCount: Int,
        seed: UInt64,
        _ body: (Target) async throws -> Value
    ) async throws -> Value {
        try await site.withFolder(name) { folder in
            try await BenchWorker.makeAccount(in: folder)
            return try await BenchWorker.withStore(in: folder) { store in
                var messages = BenchMessages(number: 0, idsFrom: seed)
                var left = messageCount
                while left > 0 {
                    let count = min(left, Self.fillCount)
                    try await store.ingest(messages.next(count), durability: .committed)
                    left -= count
                    if left > 0, left.isMultiple(of: 100_000) { site.note("\(left) to store") }
                }
                return try await body(Target(store: store, messages: messages))
            }
        }
    }

    /// What a commit costs, in milliseconds: the mean, because a checkpoint now and then is a part of
    /// the price.
    private func cost(
        _ batchCount: Int,
        _ commitCount: Int,
        _ target: inout Target
    ) async throws -> Double {
        let batches = (0..<commitCount).map { _ in target.messages.next(batchCount) }
        let start = clock.now()
        for batch in batches { try await target.store.ingest(batch) }
        return clock.now().duration(since: start).milliseconds / Double(commitCount)
    }
}
