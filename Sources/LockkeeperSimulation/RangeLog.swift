package import LockkeeperDomain
package import LockkeeperPlatform

/// The ranges of commits that a `tail` printed.
///
/// Lock rule: the monitor guards the list; nothing else is taken inside it.
package final class RangeLog: Sendable {
    private let state = Monitor(State())

    /// What was seen.
    package struct State: Sendable {
        /// The ranges in the order in which they came.
        package fileprivate(set) var ranges: [ClosedRange<Int64>] = []
        /// How the process ended; `nil` while it lives.
        package fileprivate(set) var ending: ExitStatus?
    }

    /// A log of nothing yet.
    package init() {}

    /// What was seen so far.
    package var seen: State { state.withLock { $0 } }

    /// Takes what happened to the process.
    package func observe(_ occurrence: ManagedProcess.Occurrence) {
        state.withLock { state in
            switch occurrence {
            case .ended(let status): state.ending = status
            case .line(let line):
                if case .range(let range)? = try? CommandOutput(line) { state.ranges.append(range) }
            }
        }
        state.broadcast()
    }

    /// Waits until what was seen satisfies a condition; `nil` at the deadline. Blocks the thread.
    package func wait<Result>(
        until deadline: Deadline,
        for predicate: (State) -> Result?
    ) -> Result? {
        state.wait(until: deadline) { predicate($0) }
    }
}
