import LockkeeperDomain

/// Everything that is known of a stress run that has ended.
package struct StressOutcome: Sendable {
    /// What was planned.
    package let plan: StressPlan
    /// What the processes asked and were told.
    package let histories: [StressHistory]
    /// What the databases hold.
    package let evidence: StressEvidence
    /// What was done to the processes.
    package let marks: [StressMark]
    /// How large the logs were when somebody looked.
    package let logSizes: [LogSize]
    /// What did not converge in time, a sentence each.
    package let stragglers: [String]
    /// When the workers were started, in microseconds.
    package let start: Int64
    /// When the trouble ended.
    package let end: Int64
    /// When everything had come to rest.
    package let converged: Int64

    /// How large the logs of all files were together.
    package struct LogSize: Sendable, Hashable {
        /// When, in microseconds.
        package let time: Int64
        /// Bytes.
        package let byteCount: Int64
    }

    /// An outcome of its parts.
    package init(
        plan: StressPlan,
        histories: [StressHistory],
        evidence: StressEvidence,
        marks: [StressMark] = [],
        logSizes: [LogSize] = [],
        stragglers: [String] = [],
        start: Int64 = 0,
        end: Int64 = 0,
        converged: Int64 = 0
    ) {
        self.plan = plan
        self.histories = histories
        self.evidence = evidence
        self.marks = marks
        self.logSizes = logSizes
        self.stragglers = stragglers
        self.start = start
        self.end = end
        self.converged = converged
    }
}
