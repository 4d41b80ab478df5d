import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperStorage

/// One half of the inbox as a session sees it, packets that wait as files or those that wait as rows:
/// it looks for them when the account is opened and after each write, for files before a write as well,
/// and applies what it finds.
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
    /// Where packets wait.
    enum Half: Sendable {
        case files, rows
    }

    private let half: Half
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
        /// Whether what is begun is to end soon.
        var isClosing = false
        /// Who waits for the end of the pass.
        var waiters: [@Sendable () -> Void] = []
    }

    init(_ half: Half, _ workspace: Workspace, folder: InboxFolder, intake: PacketIntake) {
        self.half = half
        self.workspace = workspace
        self.folder = folder
        self.intake = intake
    }

    /// Says whose inbox it is. Called once, before the session is handed out.
    func attach(_ session: Session) {
        monitor.withLock { $0.session = Weak(session) }
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

    /// The same for something that has just come, whatever was left before.
    func lookAgain() {
        monitor.withLock { $0.patience = InboxPatience() }
        look()
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
            state.isClosing = true
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
        guard let stamp = (try? stamp()) ?? nil else { return nil }
        let now = SystemClock().now()
        return monitor.withLock { $0.patience.isDue(stamp, now: now) } ? stamp : nil
    }

    private func stamp() throws(StorageError) -> Int64? {
        switch half {
        case .files: try folder.waitingStamp()
        case .rows: try folder.rowsStamp()
        }
    }

    private func deadline() -> Deadline {
        Deadline(after: workspace.limits.admissionWaitMax, from: workspace.clock.now())
    }

    private func start(until deadline: Deadline, _ then: @escaping @Sendable () -> Void) {
        // Held until the thread has begun, for whoever opens an account only to have this done.
        let (isFirst, session) = monitor.withLock { state in
            guard case .idle = state.phase else {
                if case .draining = state.phase { state.phase = .draining(again: true) }
                return (false, nil as Session?)
            }
            state.phase = .draining(again: false)
            state.waiters.append(then)
            return (true, state.session?.value)
        }
        guard isFirst else { return then() }
        do {
            let name = half == .files ? "lk-inbox" : "lk-packets"
            _ = try WorkerThread.start(name: name) { [self] in
                withExtendedLifetime(session) { run(until: deadline) }
            }
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
        let report = try run(session, deadline)
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

    private func run(_ session: Session, _ deadline: Deadline) throws -> InboxReport {
        switch half {
        case .files:
            try InboxDrain(
                workspace: workspace,
                session: session,
                folder: folder,
                intake: intake,
                deadline: deadline
            ).run()
        case .rows:
            try PacketDrain(
                workspace: workspace,
                session: session,
                folder: folder,
                intake: intake,
                isStopping: { [monitor] in monitor.withLock { $0.isClosing } }
            ).run()
        }
    }
}
