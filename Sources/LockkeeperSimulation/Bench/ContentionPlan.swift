import LockkeeperDomain

/// How many processes write how to one database, through Lockkeeper and through plain SQLite.
package struct ContentionPlan: Sendable, Hashable {
    /// Processes that write at the same time.
    package var processCount = 8
    /// Messages in one transaction.
    package var batchCount = 1
    /// How long they write, each time.
    package var time: Duration = .seconds(10)
    /// How much longer each sync takes.
    package var syncDelay: Duration = .zero
    /// How often both are measured, in turn.
    package var repeatCount = 3
    /// How messages reach Lockkeeper.
    package var way: BenchAssignment.Way = .ingest
    /// Instead of equal processes: one that commits transactions of 5 ms in a tight loop, against
    /// one that writes every 100 ms, whose waits are what is reported.
    package var isMixed = false

    /// The defaults.
    package init() {}

    /// What each process does.
    package func assignments(_ store: BenchAssignment.Store) -> [BenchAssignment] {
        (0..<(isMixed ? 2 : processCount)).map { number in
            var assignment = BenchAssignment(
                store: store,
                number: number,
                batchCount: batchCount,
                time: time
            )
            assignment.syncDelay = syncDelay
            assignment.way = isMixed ? .write : way
            if isMixed, number == 0 { assignment.hold = .milliseconds(5) }
            if isMixed, number == 1 { assignment.pause = .milliseconds(100) }
            return assignment
        }
    }

    /// Of the processes' tallies those that are reported.
    package func reported(_ tallies: [BenchTally]) -> [BenchTally] {
        isMixed ? Array(tallies.suffix(1)) : tallies
    }

    /// What is run, in a few words.
    var setting: String {
        let delay = syncDelay > .zero ? ", each sync \(syncDelay) longer" : ""
        let who =
            isMixed
            ? "one that writes every 100 ms beside one that holds 5 ms in a loop"
            : "\(processCount) processes, batches of \(batchCount) through \(way.rawValue)"
        return "\(who)\(delay), \(time) each, \(repeatCount) rounds"
    }

    // MARK: - Budgets: section 9 of the design

    /// What the commits of all processes should come to.
    var rateBudget: BenchFigure.Budget? {
        guard !isMixed, processCount == 8 else { return nil }
        switch (way, batchCount, syncDelay) {
        case (.ingest, 1, .zero): return .atLeast(0.95)
        case (.ingest, 10, .zero): return .atLeast(1)
        case (.write, 1, .zero): return .atLeast(0.8)
        case (.write, 10, .zero): return .atLeast(0.85)
        case (.ingest, 1, .milliseconds(1)): return .atLeast(4)
        case (.ingest, 10, .milliseconds(1)): return .atLeast(2.5)
        default: return nil
        }
    }

    /// What the share of the least busy process should come to.
    var fairnessBudget: BenchFigure.Budget? {
        !isMixed && processCount == 8 ? .atLeast(0.9) : nil
    }

    /// What the longest wait should come to. Plain SQLite gives up after five seconds, so that a run
    /// of ten shows what there is.
    var gapBudget: BenchFigure.Budget? {
        !isMixed && processCount == 8 && time >= .seconds(10) ? .atMost(0.01) : nil
    }
}
