import LockkeeperDomain
import LockkeeperPlatform

/// When the next checkpoint is made.
///
/// ```
/// quiet ──the log is past its mark──▶ due ──its time has come──▶ running
///   ▲                                  ▲                            │
///   │                                  └──pinned, no room,──────────┤
///   │                                  │  elsewhere, failed          │
///   │                                  └──complete, grew meanwhile──┤
///   └──complete─────────────────────────────────────────────────────┘
/// ```
///
/// One that could not be completed is made again by time, with growing waits, until it is: the log
/// comes back under its mark after the reader that pinned it has gone, also where nobody commits.
struct CheckpointPlan: Equatable {
    /// The size of the log, in frames, that was told last.
    private(set) var frameCount = 0
    /// When the next one is made; `nil` where none is due.
    private(set) var due: MonotonicInstant?
    private var isRunning = false
    /// Whether the log grew past its mark after the one that runs had copied everything.
    private var grewMeanwhile = false
    /// How many in a row a reader kept from their end.
    private var incompleteCount = 0

    /// Notes a log that is past its mark. Returns whether the thread must be woken for it.
    mutating func logGrew(to frameCount: Int, now: MonotonicInstant) -> Bool {
        self.frameCount = frameCount
        if isRunning { grewMeanwhile = true }
        guard due == nil, !isRunning else { return false }
        due = now
        return true
    }

    /// Notes that the disk has no room for the log, so that the next one is made now, however long the
    /// wait after those before. Returns whether the thread must be woken for it.
    mutating func diskIsFull(frameCount: Int, now: MonotonicInstant) -> Bool {
        self.frameCount = frameCount
        if isRunning { grewMeanwhile = true }
        guard !isRunning else { return false }
        due = now
        return true
    }

    /// The size of the log where a checkpoint is to be made now.
    mutating func begin(now: MonotonicInstant) -> Int? {
        guard let due, now >= due else { return nil }
        self.due = nil
        isRunning = true
        grewMeanwhile = false
        return frameCount
    }

    /// Notes that the one that runs has copied everything, and that nobody has written since: WRITER is
    /// still held.
    mutating func copiedEverything() { grewMeanwhile = false }

    /// Notes how it ended; `nil` for an error.
    mutating func end(_ outcome: Checkpoint.Outcome?, now: MonotonicInstant, retry: Backoff) {
        isRunning = false
        switch outcome {
        case .complete, .notDue:
            incompleteCount = 0
            // Perhaps nobody writes any more, who would tell of it again.
            if grewMeanwhile { due = now }
        case .pinned, .noRoom, nil:
            due = now.advanced(by: retry.ceiling(attempt: incompleteCount))
            incompleteCount += 1
        case .elsewhere:
            // Whoever is at it may not get to the end: soon there is another look, which finds
            // little to do where it did.
            due = now.advanced(by: retry.ceiling(attempt: max(incompleteCount, 4)))
        }
    }
}

/// Has the log of an account copied when this process's commits have made it long (5.4), on a thread
/// of its own and never on the path of somebody's commit. The host does the same for logs that
/// others make long (``LogUpkeep``).
///
/// Times are the kernel's, because its thread sleeps by them.
final class Checkpointer: Sendable {
    private struct State {
        var plan = CheckpointPlan()
        var isClosed = false
        var thread: WorkerThread?
    }

    private let monitor = Monitor(State())
    private let checkpoint: Checkpoint
    private let isDue: @Sendable (_ frameCount: Int) -> Bool
    private let clock = SystemClock()

    /// - Parameter isDue: whether this process should see to a log of so many frames. It depends on
    ///   whether a host lives.
    init(_ checkpoint: Checkpoint, isDue: @escaping @Sendable (_ frameCount: Int) -> Bool) {
        self.checkpoint = checkpoint
        self.isDue = isDue
    }

    /// Says how many frames the log has after a commit. Never waits.
    func logGrew(to frameCount: Int) {
        guard isDue(frameCount) else { return }
        plan { $0.logGrew(to: frameCount, now: $1) }
    }

    /// Says that the disk has no room for the log: it is copied whatever its size, so that it can begin
    /// anew. Never waits.
    func diskIsFull() {
        let frameCount = checkpoint.limits.checkpointFrameCountBesideHost
        plan { $0.diskIsFull(frameCount: frameCount, now: $1) }
    }

    /// Copies the log now, on the calling thread, where the disk has room for all of it; waits shortly
    /// for whoever is at it. What cannot be copied is left.
    ///
    /// - Returns: what became of the last attempt; `nil` for an error.
    func copyNow() -> Checkpoint.Outcome? {
        let last = Deadline(after: Self.copyWaitMax, from: clock.now())
        while true {
            let frameCount = checkpoint.limits.checkpointFrameCountBesideHost
            let outcome = try? checkpoint.run(frameCount: frameCount, whenCopied: {})
            guard outcome == .pinned || outcome == .elsewhere, !last.hasPassed(at: clock.now())
            else { return outcome }
            clock.sleep(until: Deadline(after: .milliseconds(10), from: clock.now()))
        }
    }

    /// Whether the log can still be copied when a small write has made it longer.
    func leavesRoom() -> Bool { (try? checkpoint.leavesRoom()) ?? false }

    /// Longer than a checkpoint of a log of the usual size takes.
    private static let copyWaitMax = Duration.seconds(1)

    /// Changes the plan; the closure answers whether the thread must be woken for it.
    private func plan(_ change: (inout CheckpointPlan, MonotonicInstant) -> Bool) {
        let now = clock.now()
        let isNews = monitor.withLock { state in
            guard !state.isClosed, change(&state.plan, now) else { return false }
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
        while let frameCount = waitUntilDue() {
            let outcome = try? checkpoint.run(frameCount: frameCount) { [monitor] in
                monitor.withLock { $0.plan.copiedEverything() }
            }
            let now = clock.now()
            monitor.withLock {
                $0.plan.end(outcome, now: now, retry: checkpoint.limits.checkpointRetry)
            }
        }
    }

    /// `nil` once this was closed.
    private func waitUntilDue() -> Int? {
        while true {
            let due = monitor.withLock { $0.plan.due }
            let step = monitor.wait(until: due.map { Deadline(at: $0) } ?? .never) {
                state -> Int?? in
                if state.isClosed { return .some(nil) }
                if let frameCount = state.plan.begin(now: clock.now()) { return frameCount }
                // Another time than the one that is waited for: to be looked at again.
                return .none
            }
            if let step { return step }
        }
    }
}
