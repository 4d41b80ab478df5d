package import LockkeeperDomain

/// Names a scheduled action, so that it can be cancelled.
package struct TimerToken: Sendable, Hashable {
    fileprivate let number: UInt64
}

/// Runs actions at deadlines, on one thread of its own that is started by the first of them.
///
/// Actions run one after the other: one that takes long delays the others. They may schedule and
/// cancel. Actions whose time has not come when the timer goes away never run.
package final class DeadlineTimer: Sendable {
    private let name: String
    private let monitor = Monitor(State())

    fileprivate struct Entry: Sendable {
        let token: TimerToken
        let deadline: Deadline
        let action: @Sendable () -> Void
    }

    fileprivate struct State: Sendable {
        /// Latest first, so that the next one is taken from the end; equal deadlines in the order
        /// in which they were scheduled.
        var entries: [Entry] = []
        var tokenCount: UInt64 = 0
        var thread: WorkerThread?
        var isClosed = false
    }

    /// A timer; `name` is its thread's.
    package init(name: String) { self.name = name }

    /// The thread holds the monitor, not the timer, so that it does not keep the timer alive.
    deinit {
        monitor.withLock { $0.isClosed = true }
        monitor.broadcast()
    }

    /// Schedules an action; it runs at once, on the timer's thread, when the deadline has passed.
    ///
    /// - Throws: ``SystemCallError`` when the thread cannot be started.
    @discardableResult
    package func schedule(
        at deadline: Deadline,
        action: @escaping @Sendable () -> Void
    ) throws(SystemCallError) -> TimerToken {
        let (token, isNext) = try monitor.withLock {
            (state) throws(SystemCallError) -> (TimerToken, Bool) in
            // Under the lock, so that two first callers do not start two threads.
            if state.thread == nil {
                state.thread = try WorkerThread.start(name: name) { [monitor] in
                    Self.run(monitor)
                }
            }
            return state.insert(deadline, action)
        }
        if isNext { monitor.signal() }
        return token
    }

    /// Takes an action back.
    ///
    /// - Returns: Whether it will never run. `false`: it runs now, has run, or was cancelled before.
    @discardableResult
    package func cancel(_ token: TimerToken) -> Bool {
        monitor.withLock { state in
            guard let index = state.entries.firstIndex(where: { $0.token == token }) else {
                return false
            }
            state.entries.remove(at: index)
            return true
        }
    }

    private static func run(_ monitor: Monitor<State>) {
        let clock = SystemClock()
        var awaited = Deadline.never
        while true {
            let step = monitor.wait(until: awaited) { $0.nextStep(at: clock.now(), awaited) }
            switch step {
            case .run(let action): action()
            case .wait(let deadline): awaited = deadline
            case .end: return
            // Time is up, so that the next look finds the action due.
            case nil: continue
            }
        }
    }
}

/// What the timer's thread does next.
private enum TimerStep: Sendable {
    case run(@Sendable () -> Void)
    /// The next deadline is another one than the thread waits for.
    case wait(Deadline)
    case end
}

extension DeadlineTimer.State {
    fileprivate mutating func insert(
        _ deadline: Deadline,
        _ action: @escaping @Sendable () -> Void
    ) -> (TimerToken, isNext: Bool) {
        tokenCount += 1
        let token = TimerToken(number: tokenCount)
        let index = entries.firstIndex { $0.deadline <= deadline } ?? entries.endIndex
        entries.insert(
            DeadlineTimer.Entry(token: token, deadline: deadline, action: action),
            at: index
        )
        return (token, index == entries.endIndex - 1)
    }

    /// What is to be done now; `nil` to go on waiting for the same deadline.
    fileprivate mutating func nextStep(
        at now: MonotonicInstant,
        _ awaited: Deadline
    ) -> TimerStep? {
        if isClosed { return .end }
        let next = entries.last?.deadline ?? .never
        if let entry = entries.last, next.hasPassed(at: now) {
            entries.removeLast()
            return .run(entry.action)
        }
        return next == awaited ? nil : .wait(next)
    }
}
