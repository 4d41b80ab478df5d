import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperStorage
import Synchronization

/// What runs in a workspace.
///
/// ```
/// open ──suspend──▶ suspending ──▶ suspended ──resume──▶ resuming ──▶ open
///   ▲                   └──deadline──┐  ▲                     └──error──┐
///   └────────────────────────────────┘  └────────────────────────────────┘
/// ```
struct WorkspaceActivity: Sendable {
    enum Phase: Sendable, Hashable {
        case open, suspending, suspended, resuming
    }

    var phase = Phase.open
    /// Calls that open, switch, look or change something, and run now.
    var operationCount = 0
}

extension Workspace {
    /// Whether the workspace is suspended, or about to be.
    public var isSuspended: Bool { activity.withLock { $0.phase != .open } }

    /// Lets go of everything that could stand in another process's way: when this returns, the process
    /// has no connection to any database of the workspace and no lock on any of its files. To be
    /// called before the process is stopped, frozen, or put to sleep for long (B10).
    ///
    /// Work that runs ends first, and its sync. What waits for its turn keeps its place and goes on
    /// after ``resume()``; its deadline runs on, and it fails with `suspended` then. Every call fails
    /// with `suspended`; feeds wait. A host serves no longer. Does nothing the second time.
    ///
    /// - Parameter waitMax: how long to wait for what runs; ``Limits/admissionWaitMax`` by default.
    /// - Throws: ``LockkeeperError`` with the code `busy` when something still ran then. Nothing is
    ///   suspended in that case.
    public func suspend(waitMax: Duration? = nil) async throws {
        let deadline = Deadline(after: waitMax ?? limits.admissionWaitMax, from: clock.now())
        try await blocking("lk-suspend") { [self] in
            try ErrorMapping.mapped("workspace \(root)") {
                guard try begin(.suspending, from: .open, until: deadline) else { return }
                do {
                    try awaitOperations(until: deadline)
                    try letGo(until: deadline)
                } catch {
                    // What has left comes back; what cannot is told by the next call.
                    try? takeUp(until: .never)
                    setPhase(.open)
                    throw error
                }
                setPhase(.suspended)
            }
        }
    }

    /// Goes on after ``suspend(waitMax:)``. Files may have been replaced meanwhile, accounts switched:
    /// sessions find out as they would have. Does nothing where the workspace is not suspended.
    ///
    /// - Throws: ``LockkeeperError``: as for opening the workspace and its accounts, and `hostRunning`
    ///   when this process was the host and another one is now. The workspace is still suspended then.
    public func resume() async throws {
        try await blocking("lk-resume") { [self] in
            try ErrorMapping.mapped("workspace \(root)") {
                let deadline = deadlineOfOpening()
                guard try begin(.resuming, from: .suspended, until: deadline) else { return }
                do {
                    try takeUp(until: deadline)
                } catch {
                    try? letGo(until: .never)
                    setPhase(.suspended)
                    throw error
                }
                setPhase(.open)
                finishAbandonedSwitch()
            }
        }
    }

    /// Counts a call that uses the registry or an account's files.
    func beginOperation() throws(LockingError) {
        let isOpen = activity.withLock { activity in
            guard activity.phase == .open else { return false }
            activity.operationCount += 1
            return true
        }
        if !isOpen { throw .suspended }
    }

    func endOperation() {
        activity.withLock { $0.operationCount -= 1 }
        activity.broadcast()
    }

    // MARK: - Steps

    /// Returns whether there is something to do; waits where another thread is at it.
    private func begin(
        _ phase: WorkspaceActivity.Phase,
        from start: WorkspaceActivity.Phase,
        until deadline: Deadline
    ) throws(LockingError) -> Bool {
        let isFirst: Bool? = activity.wait(until: deadline) { activity in
            switch activity.phase {
            case start:
                activity.phase = phase
                return true
            case .open, .suspended: return false
            case .suspending, .resuming: return nil
            }
        }
        guard let isFirst else { throw .busy(.presence, holders: [], waited: .zero) }
        return isFirst
    }

    private func setPhase(_ phase: WorkspaceActivity.Phase) {
        activity.withLock { $0.phase = phase }
        activity.broadcast()
    }

    private func awaitOperations(until deadline: Deadline) throws(LockingError) {
        let isQuiet = activity.wait(until: deadline) { $0.operationCount == 0 ? true : nil }
        if isQuiet != true { throw .busy(.switching, holders: [], waited: .zero) }
    }

    private func letGo(until deadline: Deadline) throws {
        let (host, attachments) = live()
        host?.stop()
        for attachment in attachments { try attachment.leave(.suspended, until: deadline) }
        // Feeds, which might stand for it, have left with their accounts.
        hubSeat.vacate(self)
        for attachment in attachments { try attachment.membership.detach() }
        try registry.close()
        try membership.detach()
    }

    private func takeUp(until deadline: Deadline) throws {
        try membership.attach()
        try membership.setActivity(.idle)
        try registry.reopen(until: deadline)
        let (host, attachments) = live()
        for attachment in attachments {
            try attachment.membership.attach()
            try attachment.comeBack(until: deadline)
            try attachment.membership.setActivity(.idle)
        }
        try host?.goOn()
    }

    private func live() -> (Host?, [AccountAttachment]) {
        state.withLock { ($0.host?.value, $0.attachments.values.compactMap(\.value)) }
    }
}
