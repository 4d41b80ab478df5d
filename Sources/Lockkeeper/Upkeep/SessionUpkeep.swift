import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform

/// A session's upkeep where no host lives: it begins once this process has not written for a while, or
/// has opened an account whose log has something in it. When everything is done and nobody writes for
/// ``Limits/checkpointIdleAfter`` the log is copied and emptied, so that what was recalled does not stay
/// there until a host comes.
///
/// ```
/// idle ──wrote, opened──▶ scheduled ──rested, or long enough behind──▶ running ──done──▶ idle
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
    private let logPath: String
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
        var log = LogWatch()
    }

    /// - Parameter logPath: the log of the database that the steps are about.
    init(_ workspace: Workspace, steps: [UpkeepStep], logPath: String) {
        self.workspace = workspace
        self.steps = steps
        self.logPath = logPath
    }

    /// Says whose upkeep it is. Called once, before the session is handed out.
    func attach(_ session: Session) {
        monitor.withLock { $0.session = Weak(session) }
        if let stamp = logStamp, stamp.byteCount > 0 { wrote() }
    }

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
        let isEmpty = isDone && !isBusy ? session.map(emptyLog) ?? true : true
        end(isDone: isDone, isEmpty: isEmpty)
    }

    /// Copies and empties the log where nobody has written for long enough.
    ///
    /// - Returns: whether nothing is left to be done; otherwise it is to be looked at again.
    private func emptyLog(of session: Session) -> Bool {
        guard let stamp = logStamp else { return true }
        let limits = workspace.limits
        let step = monitor.withLock { $0.log.look(stamp, now: clock.now(), limits: limits) }
        guard step == .empty else { return stamp.byteCount == 0 }
        // A process that suspends itself waits for this, and none that has done so begins it.
        do { try workspace.beginOperation() } catch { return false }
        defer { workspace.endOperation() }
        let id = session.token.account
        let outcome = try? Checkpoint(
            attachment: workspace.attach(id),
            opener: StoreOpener(workspace: workspace, account: id)
        ).run(isIdle: true)
        monitor.withLock {
            $0.log.end(outcome, now: clock.now(), retry: limits.checkpointRetry)
        }
        return outcome == .complete
    }

    private var logStamp: LogWatch.Stamp? {
        guard let status = (try? FileSystem.status(logPath)) ?? nil else { return nil }
        return LogWatch.Stamp(byteCount: status.size, modified: status.modified)
    }

    /// - Parameters:
    ///   - isDone: whether no step has more to do.
    ///   - isEmpty: whether the log needs no look.
    private func end(isDone: Bool, isEmpty: Bool = true) {
        let now = clock.now()
        let limits = workspace.limits
        let wait = monitor.withLock { state -> Duration? in
            state.lastPass = now
            let hasRested = now.duration(since: state.lastWrite) >= limits.upkeepIdleAfter
            let wait: Duration? =
                !isDone || !hasRested
                ? limits.upkeepIdleAfter / 10
                : isEmpty ? nil : max(limits.checkpointIdleAfter / 2, limits.upkeepIdleAfter / 10)
            state.phase = wait == nil ? .idle : .scheduled
            return wait
        }
        monitor.broadcast()
        if let wait { schedule(after: wait) }
    }
}
