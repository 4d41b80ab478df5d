import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperStorage
import Synchronization

/// Decides when the write-ahead log is copied into the database file, and has it done (5.4).
///
/// One process at a time does it, under MAINTENANCE, on a thread of its own and never on the path of
/// somebody's commit. A long log is first copied while writers go on; the short rest is copied under
/// WRITER, so that the next commit can begin the log anew. A log whose file has grown past the
/// degraded mark is shortened then, when no reader is in the way.
final class Checkpointer: Sendable {
    private struct State {
        var isWanted = false
        var isClosed = false
        /// The size of the log, in frames, that was told last.
        var frameCount = 0
        /// A reader kept the last checkpoint from its end: before this the next one would be too.
        var nextAttempt: MonotonicInstant?
        /// How many in a row a reader kept from their end.
        var incompleteCount = 0
        var thread: WorkerThread?
    }

    private let monitor = Monitor(State())
    private let attachment: AccountAttachment
    private let opener: StoreOpener
    private let environment: StoreEnvironment
    private let limits: Limits
    private let frameCountMark: @Sendable () -> Int

    /// - Parameter frameCountMark: the size of the log, in frames, from which it is copied. It
    ///   depends on whether a host lives.
    init(
        attachment: AccountAttachment,
        opener: StoreOpener,
        environment: StoreEnvironment,
        limits: Limits,
        frameCountMark: @escaping @Sendable () -> Int
    ) {
        self.attachment = attachment
        self.opener = opener
        self.environment = environment
        self.limits = limits
        self.frameCountMark = frameCountMark
    }

    /// Says how many frames the log has after a commit. Never waits.
    func logGrew(to frameCount: Int) {
        guard frameCount >= frameCountMark() else { return }
        let now = environment.clock.now()
        let isNews = monitor.withLock { state in
            state.frameCount = frameCount
            guard !state.isClosed, !state.isWanted else { return false }
            if let next = state.nextAttempt, now < next { return false }
            state.isWanted = true
            if state.thread == nil {
                state.thread = try? WorkerThread.start(name: "lk-checkpoint") { [self] in run() }
            }
            return true
        }
        if isNews { monitor.broadcast() }
    }

    /// Ends the thread after the checkpoint that runs.
    func close() {
        let thread = monitor.withLock { state in
            state.isClosed = true
            return state.thread
        }
        monitor.broadcast()
        thread?.join()
    }

    // MARK: - On the thread

    private func run() {
        while let frameCount = waitUntilWanted() {
            // A checkpoint that could not be made is made after one of the next commits; the log
            // only grows meanwhile, and `status` tells.
            let isComplete = (try? checkpoint(frameCount)) ?? false
            let now = environment.clock.now()
            monitor.withLock { state in
                state.isWanted = false
                let wait = limits.checkpointRetry.ceiling(attempt: state.incompleteCount)
                state.nextAttempt = isComplete ? nil : now.advanced(by: wait)
                state.incompleteCount = isComplete ? 0 : state.incompleteCount + 1
            }
        }
    }

    private func waitUntilWanted() -> Int? {
        monitor.wait(until: .never) { state -> Int?? in
            if state.isClosed { return .some(nil) }
            return state.isWanted ? .some(state.frameCount) : .none
        } ?? nil
    }

    /// Returns whether everything in the log was copied.
    private func checkpoint(_ frameCount: Int) throws -> Bool {
        let membership = attachment.membership
        // Another process that is at it does it for everybody.
        guard let maintenance = try membership.tryAcquire(.maintenance, .exclusive) else {
            return true
        }
        let deadline = Deadline(after: limits.admissionWaitMax, from: environment.clock.now())
        let stay = try attachment.stay(until: deadline)
        let trust = try opener.files(stay).trust(in: .messages)
        try trust.check()
        let step = CheckpointStep(
            trust: trust,
            environment: environment,
            deadline: deadline,
            limits: limits
        )
        return try maintenance.whileHeld {
            if frameCount > limits.checkpointFrameCountUnderWriter { _ = try step.copy() }
            return try attachment.underWriter(deadline: deadline) {
                guard try step.copy() else { return false }
                try step.shortenIfDegraded()
                return true
            }
        }
    }
}
