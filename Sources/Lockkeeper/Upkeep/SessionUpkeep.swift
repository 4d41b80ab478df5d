import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform

/// A session's upkeep where no host lives: it begins once this process has not written for a while.
///
/// ```
/// idle ──wrote──▶ scheduled ──rested, or long enough behind──▶ running ──done──▶ idle
///                   ▲   └── wrote since: later                   │
///                   └────────────── more to do ──────────────────┘   close ──▶ closed
/// ```
///
/// - `idle`: nothing is known that is to be done.
/// - `scheduled`: a timer will look.
/// - `running`: a thread goes through the steps; a write of this process ends its pass.
/// - `closed`: nothing is begun any more.
final class SessionUpkeep: Sendable {
    private let workspace: Workspace
    private let steps: [UpkeepStep]
    private let clock = SystemClock()
    private let monitor = Monitor(State())

    private enum Phase {
        case idle, scheduled, running, closed
    }

    private struct State {
        var phase = Phase.idle
        var session: Weak<Session>?
        var lastWrite = MonotonicInstant(nanoseconds: 0)
        var lastPass = MonotonicInstant(nanoseconds: 0)
    }

    init(_ workspace: Workspace, steps: [UpkeepStep]) {
        self.workspace = workspace
        self.steps = steps
    }

    /// Says whose upkeep it is. Called once, before the session is handed out.
    func attach(_ session: Session) { monitor.withLock { $0.session = Weak(session) } }

    /// A write of this process has ended.
    func wrote() {
        guard !steps.isEmpty else { return }
        let now = clock.now()
        let isFirst = monitor.withLock { state in
            state.lastWrite = now
            guard state.phase == .idle else { return false }
            state.phase = .scheduled
            state.lastPass = now
            return true
        }
        if isFirst { schedule(after: workspace.limits.upkeepIdleAfter) }
    }

    /// Waits for a pass that runs and begins none any more. Blocks.
    func close() {
        _ = monitor.wait(until: .never) { state -> Bool? in
            if state.phase == .running {
                // The pass ends before its next transaction.
                state.lastWrite = clock.now()
                return nil
            }
            state.phase = .closed
            return true
        }
    }

    private func schedule(after duration: Duration) {
        do throws(SystemCallError) {
            let deadline = Deadline(after: duration, from: clock.now())
            try workspace.timer.schedule(at: deadline) { [weak self] in self?.look() }
        } catch {
            // Without a timer the next write tries again.
            monitor.withLock { if $0.phase == .scheduled { $0.phase = .idle } }
        }
    }

    private enum Next {
        case nothing, later, run(since: MonotonicInstant)
    }

    /// The timer fired.
    private func look() {
        let limits = workspace.limits
        // A host does it for everybody.
        let hasHost = (try? workspace.membership.isHeld(.host, against: .exclusive)) == true
        let now = clock.now()
        let next = monitor.withLock { state -> Next in
            guard state.phase == .scheduled else { return .nothing }
            if hasHost {
                state.phase = .idle
                return .nothing
            }
            let isRested = now.duration(since: state.lastWrite) >= limits.upkeepIdleAfter
            let isLate = now.duration(since: state.lastPass) >= limits.upkeepIdleAfter * 4
            guard isRested || isLate else { return .later }
            state.phase = .running
            return .run(since: state.lastWrite)
        }
        switch next {
        case .nothing: break
        case .later: schedule(after: limits.upkeepIdleAfter)
        case .run(let write):
            do {
                _ = try WorkerThread.start(name: "lk-tidy") { [self] in run(since: write) }
            } catch {
                end(isDone: true)
            }
        }
    }

    private func run(since write: MonotonicInstant) {
        let limits = workspace.limits
        let began = clock.now()
        let isBusy = began.duration(since: write) < limits.upkeepIdleAfter
        let session = monitor.withLock { $0.session?.value }
        var isDone = true
        if let session {
            let pass = UpkeepPass(
                session,
                steps: steps,
                timeMax: isBusy ? limits.upkeepTimeMaxBesideOthers : limits.upkeepTimeMax,
                timeMaxBesideOthers: limits.upkeepTimeMaxBesideOthers
            )
            // What cannot be done now is done after the next write.
            isDone =
                (try? pass.run { isBusy || monitor.withLock { $0.lastWrite == write } }) ?? true
        }
        end(isDone: isDone)
    }

    private func end(isDone: Bool) {
        let now = clock.now()
        let goesOn = monitor.withLock { state in
            state.lastPass = now
            let hasRested = now.duration(since: state.lastWrite) >= workspace.limits.upkeepIdleAfter
            let goesOn = !isDone || !hasRested
            state.phase = goesOn ? .scheduled : .idle
            return goesOn
        }
        monitor.broadcast()
        if goesOn { schedule(after: workspace.limits.upkeepIdleAfter / 10) }
    }
}
