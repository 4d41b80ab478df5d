import Lockkeeper
package import LockkeeperDomain
import LockkeeperMessages

/// What is measured of one process that ingests.
package struct IngestPlan: Sendable, Hashable {
    /// Messages in one transaction, one measurement after the other.
    package var batchCounts = [100]
    /// What receipts promise.
    package var durability = Durability.durable
    /// How long it writes, each time.
    package var time: Duration = .seconds(10)
    /// How often each is measured, in turn.
    package var repeatCount = 3
    /// What is measured.
    package var variants = Variant.possible
    /// A log of event lines to read; `nil`: one that is made.
    package var file: String?
    /// Messages in a log that is made.
    package var fileMessageCount = 200_000

    /// Ways of ingesting.
    package enum Variant: String, Sendable, CaseIterable {
        /// As an app does.
        case everything
        /// Nobody is told of the messages: an import.
        case quiet = "no-effects"
        /// The index of texts is brought up to the messages again and again meanwhile.
        case searchable
        /// Into an encrypted account, beside a plain one in the same program.
        case encrypted
        /// The command `ingest` reads a file, beside the library with the same events decoded.
        case file

        /// Those that this program can measure.
        package static var possible: [Variant] {
            allCases.filter { $0 != .encrypted || Workspace.canEncrypt }
        }
    }

    /// The defaults.
    package init() {}

    /// What the one process does.
    func assignment(
        _ store: BenchAssignment.Store,
        _ batchCount: Int,
        _ variant: Variant
    ) -> BenchAssignment {
        var assignment = BenchAssignment(
            store: store,
            number: 0,
            batchCount: batchCount,
            time: time
        )
        assignment.durability = durability
        assignment.effects = variant == .quiet ? .suppress : .decide
        assignment.catchesUp = variant == .searchable
        assignment.isEncrypted = variant == .encrypted
        return assignment
    }

    /// The budget of a variant, where there is one (section 9 of the design).
    func budget(_ batchCount: Int, _ variant: Variant) -> BenchFigure.Budget? {
        guard variant == .everything, batchCount == 100, durability == .durable else { return nil }
        return .atLeast(0.85)
    }
}
