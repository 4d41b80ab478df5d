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
}
