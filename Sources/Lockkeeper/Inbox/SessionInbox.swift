import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperStorage

/// The inbox as a session sees it: it looks for packets when the account is opened, before a write and
/// after it, and applies what it finds.
///
/// ```
/// idle ──something waits──▶ draining ◀──again──┐
///   ▲                          │ └─────────────┘
///   └────────nothing new───────┘      close ──▶ closed, once nothing runs
/// ```
///
/// - `idle`: no thread.
/// - `draining`: a thread applies packets; who asks meanwhile makes it look once more.
/// - `closed`: nothing is begun any more.
///
/// Who keeps a packet looks afterwards whether the database can take it now, and every writer looks
/// after it has let WRITER go: whichever of the two is later finds it.
final class SessionInbox: Sendable {
    private let workspace: Workspace
    private let folder: InboxFolder
    private let intake: PacketIntake
    private let monitor = Monitor(State())

    private enum Phase {
        case idle
        case draining(again: Bool)
        case closed
    }

    private struct State {
        var phase = Phase.idle
        var patience = InboxPatience()
        var session: Weak<Session>?
        /// Who waits for the end of the pass.
        var waiters: [@Sendable () -> Void] = []
    }

    init(_ workspace: Workspace, folder: InboxFolder, intake: @escaping PacketIntake) {
        self.workspace = workspace
        self.folder = folder
        self.intake = intake
    }

    /// Says whose inbox it is. Called once, before the session is handed out.
    func attach(_ session: Session) {
        monitor.withLock { $0.session = Weak(session) }
        folder.makeReserve(byteCount: Int64(workspace.limits.inboxReserveByteCount))
    }

    /// Whether something waits that is worth an attempt. One system call where nothing does.
    var isDue: Bool { dueStamp != nil }

    /// Applies what waits, if it is worth an attempt. Blocks.
    func drain(until deadline: Deadline) {
        // What cannot be applied is left; whoever comes next tries again.
        if isDue { _ = try? pass(until: deadline) }
    }

    /// Applies what waits, and tells what became of it. Blocks.
    func report(until deadline: Deadline) throws -> InboxReport {
        try pass(until: deadline) ?? InboxReport()
    }

    /// Has what waits applied on a thread of its own, if it is worth an attempt. Never waits.
    func look() {
        guard isDue else { return }
        start(until: deadline()) {}
    }

    /// Calls back once what waits has been applied or was left; at once where a thread is at it, which
    /// stands in the line before the caller.
    func whenDrained(until deadline: Deadline, _ then: @escaping @Sendable () -> Void) {
        start(until: deadline, then)
    }

    /// Waits for a pass that runs and begins none any more. Blocks.
    func close() {
        let waiters = monitor.withLock { state in
            if case .idle = state.phase { state.phase = .closed }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter() }
        _ = monitor.wait(until: .never) { state -> Bool? in
            switch state.phase {
            case .closed: return true
            case .idle:
                state.phase = .closed
                return true
            case .draining: return nil
            }
        }
    }

    private var dueStamp: Int64? {
        guard let stamp = (try? folder.waitingStamp()) ?? nil else { return nil }
        let now = SystemClock().now()
        return monitor.withLock { $0.patience.isDue(stamp, now: now) } ? stamp : nil
    }

    private func deadline() -> Deadline {
        Deadline(after: workspace.limits.admissionWaitMax, from: workspace.clock.now())
    }

    private func start(until deadline: Deadline, _ then: @escaping @Sendable () -> Void) {
        let isFirst = monitor.withLock { state in
            guard case .idle = state.phase else {
                if case .draining = state.phase { state.phase = .draining(again: true) }
                return false
            }
            state.phase = .draining(again: false)
            state.waiters.append(then)
            return true
        }
        guard isFirst else { return then() }
        do {
            _ = try WorkerThread.start(name: "lk-inbox") { [self] in run(until: deadline) }
        } catch {
            // Whoever comes next tries again.
            end()
        }
    }

    private func run(until deadline: Deadline) {
        repeat { _ = try? pass(until: deadline) } while isAskedAgain()
        end()
    }

    private func isAskedAgain() -> Bool {
        let isAsked = monitor.withLock { state in
            guard case .draining(again: true) = state.phase else { return false }
            state.phase = .draining(again: false)
            return true
        }
        return isAsked && isDue
    }

    private func end() {
        let waiters = monitor.withLock { state in
            state.phase = .idle
            defer { state.waiters = [] }
            return state.waiters
        }
        monitor.broadcast()
        for waiter in waiters { waiter() }
    }

    private func pass(until deadline: Deadline) throws -> InboxReport? {
        guard let session = monitor.withLock({ $0.session?.value }) else { return nil }
        try workspace.beginOperation()
        defer { workspace.endOperation() }
        let drain = InboxDrain(
            workspace: workspace,
            session: session,
            folder: folder,
            intake: intake,
            deadline: deadline
        )
        let report = try drain.run()
        let now = SystemClock().now()
        monitor.withLock { state in
            state.patience.end(
                report.stamp,
                isEmpty: report.leftCount == 0,
                now: now,
                retry: workspace.limits.inboxRetry
            )
        }
        return report
    }
}
