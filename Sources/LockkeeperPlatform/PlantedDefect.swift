import Synchronization

/// A mistake that the tests of the tests switch on: who judges a run and finds nothing in a program that
/// has one of these is worth nothing.
///
/// Each is compiled in where it would be made, and off. Off, a place costs a load of one byte that never
/// changes and a branch that is never taken, where a transaction costs thousands of them. Nothing that an
/// app can call switches one on.
package enum PlantedDefect: String, Sendable, Hashable, CaseIterable {
    /// A token that is not current is admitted (I-2).
    case skipFenceCheck = "skip-fence-check"
    /// Others are told of a commit before it is one (I-7).
    case announceBeforeCommit = "announce-before-commit"
    /// A receipt says durable before anything was synced (I-6).
    case acknowledgeBeforeSync = "acknowledge-before-sync"
    /// A write that changed nothing says durable, although what it found was not synced (I-6, 5.2).
    case duplicateAcknowledgedUnsynced = "duplicate-acknowledged-unsynced"
    /// A range is told on that does not continue what was told before (I-7).
    case skipPredecessorCheck = "skip-predecessor-check"
    /// A message that comes once more is counted as unread once more (I-16).
    case countDuplicates = "count-duplicates"
    /// A commit gets the number of the one before (I-8).
    case reuseCommitNumber = "reuse-commit-number"
    /// The log is copied while nobody keeps it from beginning anew (I-10).
    case checkpointWithoutReader = "checkpoint-without-reader"

    /// Whether it is switched on in this process.
    @inline(__always)
    package var isPlanted: Bool {
        let planted = Self.planted.load(ordering: .relaxed)
        return planted != 0 && planted == number
    }

    /// Switches it on, for the whole process and for good.
    package func plant() { Self.planted.store(number, ordering: .relaxed) }

    /// The number of the one that is switched on; 0 for none.
    private static let planted = Atomic<UInt8>(0)

    private var number: UInt8 {
        switch self {
        case .skipFenceCheck: 1
        case .announceBeforeCommit: 2
        case .acknowledgeBeforeSync: 3
        case .duplicateAcknowledgedUnsynced: 4
        case .skipPredecessorCheck: 5
        case .countDuplicates: 6
        case .reuseCommitNumber: 7
        case .checkpointWithoutReader: 8
        }
    }
}
