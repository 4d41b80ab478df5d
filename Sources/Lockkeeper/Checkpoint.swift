import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// One checkpoint of one of an account's files, by whoever finds that it is time (5.4).
///
/// It is done under MAINTENANCE, which is only tried: one process at a time does it for everybody. A
/// long log is first copied while writers go on; the short rest is copied under WRITER, so that the
/// next commit can begin the log anew. Blocks; called on threads of our own.
struct Checkpoint: Sendable {
    /// What became of it.
    enum Outcome: Sendable, Hashable {
        /// Everything was copied, and the file shortened where it was to be.
        case complete
        /// There was too little in the log for a checkpoint.
        case notDue
        /// A reader keeps the log from being copied or shortened.
        case pinned
        /// The disk has no room for the pages that the log would add to the database file. Nothing was
        /// copied: a copy that does not come to its end would only use up the room that the log can
        /// have.
        case noRoom
        /// Another process is at it, or makes or migrates files.
        case elsewhere
    }

    let attachment: AccountAttachment
    let opener: StoreOpener

    var limits: Limits { opener.workspace.limits }

    /// Runs it for the owner of a log whose size is known from its own commits.
    ///
    /// - Parameters:
    ///   - frameCount: the frames in the log.
    ///   - whenCopied: called once everything is copied, while WRITER is still held.
    func run(
        frameCount: Int,
        whenCopied: @escaping @Sendable () -> Void
    ) throws -> Outcome {
        try underMaintenance { step in
            if frameCount > limits.checkpointFrameCountUnderWriter, try isPinned(step) {
                return .pinned
            }
            return try finish(step, shortensAlways: false, whenCopied)
        }
    }

    /// Runs it for somebody who sees the log from outside, the host.
    ///
    /// - Parameter isIdle: whether nobody has written for a while. The file is then emptied, which
    ///   makes the next commits dearer, so that it is not done in between.
    func run(isIdle: Bool) throws -> Outcome {
        try underMaintenance { step in
            let first = try step.copy()
            if isIdle {
                // Nobody adds anything: what is not copied now is kept by a reader, and WRITER
                // would not help.
                guard first.isComplete else { return .pinned }
            } else if first.logFrameCount < limits.checkpointFrameCount, try !step.isDegraded {
                return .notDue
            } else if try first.remainingFrameCount > limits.checkpointFrameCountUnderWriter
                && isPinned(step)
            {
                return .pinned
            }
            return try finish(step, shortensAlways: isIdle)
        }
    }

    /// Copies without WRITER until the rest is short. Returns whether a reader keeps a long rest:
    /// then nothing more can be copied, and whoever writes need not wait for that.
    private func isPinned(_ step: CheckpointStep) throws -> Bool {
        let first = try step.copy()
        guard first.remainingFrameCount > limits.checkpointFrameCountUnderWriter else {
            return false
        }
        let second = try step.copy()
        return second.checkpointedFrameCount <= first.checkpointedFrameCount
            && second.remainingFrameCount > limits.checkpointFrameCountUnderWriter
    }

    private func finish(
        _ step: CheckpointStep,
        shortensAlways: Bool,
        _ whenCopied: @escaping @Sendable () -> Void = {}
    ) throws -> Outcome {
        try attachment.underWriter(deadline: step.deadline) {
            guard try step.copy().isComplete else { return .pinned }
            whenCopied()
            guard try shortensAlways || step.isDegraded else { return .complete }
            Failpoint.checkpointWhole.reach()
            return try step.shorten() ? .complete : .pinned
        }
    }

    private func underMaintenance(
        _ body: @Sendable (CheckpointStep) throws -> Outcome
    ) throws -> Outcome {
        // The stay first: whoever leaves the account waits for it, and then MAINTENANCE is free too.
        let stay = try attachment.stay(until: deadline())
        guard let maintenance = try attachment.membership.tryAcquire(.maintenance, .exclusive)
        else { return .elsewhere }
        let step = try step(stay)
        try step.trust.check()
        return try withExtendedLifetime(stay) {
            try maintenance.whileHeld {
                Failpoint.checkpointBegun.reach()
                return try step.whileIndexStays { try step.fits() ? body(step) : .noRoom }
            }
        }
    }

    /// Whether the disk has room for what the log would add to the database file, also when a write of
    /// the size of a deletion has made it longer.
    func leavesRoom() throws -> Bool {
        let stay = try attachment.stay(until: deadline())
        let step = try step(stay)
        return try withExtendedLifetime(stay) { try step.fits(leaving: Self.writeByteCount) }
    }

    /// A few large rows that are overwritten.
    private static let writeByteCount: Int64 = 256 * 1024

    private func deadline() -> Deadline {
        Deadline(after: limits.admissionWaitMax, from: opener.workspace.environment.clock.now())
    }

    private func step(_ stay: AccountAttachment.Stay) throws -> CheckpointStep {
        CheckpointStep(
            trust: try opener.files(stay).trust(in: opener.kind),
            environment: opener.workspace.environment,
            deadline: deadline(),
            limits: limits
        )
    }
}
