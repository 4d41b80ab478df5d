package import LockkeeperDomain
import Synchronization

/// One execution of a statement, as it was traced: from its first step to its end.
package struct TracedExecution: Sendable, Hashable {
    /// The statement's text, without values.
    package let sql: String
    /// The statement's text with the values that were bound; `nil` unless they were asked for.
    package let expandedSQL: String?
    /// The file of the caller that prepared it, with its module; empty where nobody said.
    package let file: String
    /// The line in that file; 0 where nobody said.
    package let line: Int
    /// From the first step to the end, the caller's work between two rows included.
    package let duration: Duration
    /// How many rows it gave.
    package let rowCount: Int
}

/// Tells each statement of this process, or only the slow ones, to somebody who looks for what is slow.
///
/// It costs one load per execution while nobody asks. What is told carries no bound values unless they
/// were asked for: they are people's messages.
package enum StatementTracing {
    /// What is asked for.
    package struct Request: Sendable {
        let least: Duration
        let includesValues: Bool
        let clock: any MonotonicClock
        let report: @Sendable (TracedExecution) -> Void

        /// Asks.
        ///
        /// - Parameters:
        ///   - least: what a statement must last to be told.
        ///   - includesValues: whether bound values are told.
        ///   - report: called on the thread that ran the statement, perhaps inside of a transaction:
        ///     it must not block for long, and run no statement.
        package init(
            least: Duration,
            includesValues: Bool,
            clock: any MonotonicClock,
            report: @escaping @Sendable (TracedExecution) -> Void
        ) {
            self.least = least
            self.includesValues = includesValues
            self.clock = clock
            self.report = report
        }
    }

    private static let isOn = Atomic(false)
    private static let request = Mutex<Request?>(nil)

    /// What is asked for; `nil` for nothing.
    static var current: Request? {
        guard isOn.load(ordering: .relaxed) else { return nil }
        return request.withLock { $0 }
    }

    /// Asks for statements from now on; `nil` ends that. An execution that has begun is not told.
    package static func ask(for new: Request?) {
        request.withLock { $0 = new }
        isOn.store(new != nil, ordering: .relaxed)
    }
}

/// An execution that is being traced.
struct RunningTrace {
    let request: StatementTracing.Request
    let began: MonotonicInstant
    var rowCount = 0
}
