package import LockkeeperMessages

/// What a demo run leaves behind, to be judged: what was sent and acknowledged, and what the
/// databases, the follower and the processes' endings say.
package struct DemoEvidence: Sendable {
    /// The events that helpers were given for the first account.
    package var sent: [Event] = []
    /// How many of them have no receipt.
    package var unacknowledgedCount = 0
    /// The events that a helper was given after its account had been switched away from.
    package var sentTooLate: [Event] = []
    /// How many events that helper said were not stored.
    package var refusedCount = 0
    /// The export of the first account.
    package var exported: [Event] = []
    /// The messages that were put aside in the first account instead of being merged.
    package var quarantined: Set<ChatModel.Key> = []
    /// The events that a helper was given for the second account.
    package var sentToOther: [Event] = []
    /// The export of the second account.
    package var exportedFromOther: [Event] = []
    /// The number of the last commit before the run.
    package var commitBefore: Int64 = 0
    /// The number of the last commit of the first account.
    package var commitHead: Int64 = 0
    /// The commits that receipts name.
    package var acknowledgedCommits: [Int64] = []
    /// The messages that were to be shown to a person, once each.
    package var notifiable: Set<ChatModel.Key> = []
    /// Those of them that were to be withdrawn, once each.
    package var withdrawable: Set<ChatModel.Key> = []
    /// What was shown and withdrawn.
    package var told: [EffectLog.Told] = []
    /// The ranges that the follower saw, in its order.
    package var ranges: [ClosedRange<Int64>] = []
    /// What the inspection of both databases found, a sentence each.
    package var findings: [String] = []
    /// How processes ended.
    package var endings: [Ending] = []

    /// How one process ended, and how it should have.
    package struct Ending: Sendable, Hashable {
        /// The process.
        package let process: String
        /// How it should have ended.
        package let expected: String
        /// How it did.
        package let actual: String

        /// Joins a process and its endings.
        package init(process: String, expected: String, actual: String) {
            self.process = process
            self.expected = expected
            self.actual = actual
        }
    }

    /// Evidence of nothing yet.
    package init() {}
}
