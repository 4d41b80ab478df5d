import LockkeeperDomain
import LockkeeperLocking
import LockkeeperNotifier
import LockkeeperPlatform
import Synchronization

/// A process's part in who keeps the workspace's hub: whoever has HUB, a host by preference (5.6).
///
/// ```
/// vacant ──a feed stands: no host lives, HUB is free──▶ kept by a helper
///   ▲  ▲                                                  │ │  │
///   │  └──the last feed ends, suspended, closed───────────┘ │  └──this process becomes the host──┐
///   │  └──a host asks: the hub ends, then HUB is let go─────┘                                    ▼
///   └──────────closed, suspended───────────────────────────────────────────── kept by the host ◀─┤
/// vacant ──the host takes HUB, now or with a later tick──────────────────────────────────────────┘
/// ```
///
/// Only a process that listens itself stands: one that writes and leaves pays for no socket and no
/// thread, and where nobody listens nobody needs a hub. Nothing is polled for it: a feed whose hub
/// dies hears that from the kernel at once, and stands. A hub that is stopped keeps HUB: it is not
/// shot, feeds look at the log themselves, and `status` names it.
///
/// Lock rules
/// 1. `turn` makes standing and vacating one at a time; it is held while the socket is opened or
///    closed, and taken by threads of our own only, never by the hub's.
/// 2. `state` is held for single steps, and is the only one that the hub's thread takes.
final class HubSeat: Sendable {
    private struct State: ~Copyable, Sendable {
        var hub: Hub?
        var lock: LockGuard?
        /// Tells a hub that ends from the one that came after it.
        var serial: UInt64 = 0
        var isHost = false
        /// The hub has been asked for, and ends.
        var isHandingOver = false
        /// Feeds of this process.
        var feedCount = 0
        var isClosed = false
    }

    private let turn = Mutex(())
    private let state = Mutex(State())

    /// What came of standing.
    enum Outcome: Sendable, Hashable {
        /// This process keeps the hub.
        case kept
        /// Another one does, or is about to.
        case elsewhere
        /// Nobody could open the socket here, or this process may not use the workspace now.
        case impossible
    }

    /// Whether this process keeps the hub.
    var isServing: Bool { isKept && state.withLock { $0.hub != nil } }

    /// How many clients the hub that this process keeps has; 0 where it keeps none.
    var connectionCount: Int { state.withLock { $0.hub }?.connectionCount ?? 0 }

    /// Takes what the hub that this process keeps knows of other users' connections.
    func takeStrangers() -> Strangers? { state.withLock { $0.hub }?.takeStrangers() }

    /// A feed of this process begins to listen.
    func enter() { state.withLock { $0.feedCount += 1 } }

    /// A feed of this process has ended; with the last one a helper gives the hub up. Blocks.
    func leave(_ workspace: Workspace) {
        let isLast = state.withLock { state in
            state.feedCount -= 1
            return state.feedCount == 0 && !state.isHost
        }
        if isLast { vacate(workspace) { $0.feedCount == 0 && !$0.isHost } }
    }

    /// Takes the hub for a feed that reaches none, unless somebody else has it or a host lives, who
    /// will have it in a moment. Blocks while the socket is opened.
    func stand(in workspace: Workspace) -> Outcome {
        turn.withLock { _ in
            if isKept { return .kept }
            if state.withLock({ $0.isClosed }) { return .impossible }
            do {
                if try workspace.membership.isHeld(.host, against: .exclusive) { return .elsewhere }
                return try take(workspace, asHost: false) ? .kept : .elsewhere
            } catch {
                return .impossible
            }
        }
    }

    /// Takes the hub for the host; whoever else has it is asked to give it up.
    ///
    /// - Parameters:
    ///   - inherited: a socket that the service manager has bound, if it has.
    ///   - deadline: until when to wait for that. A holder that is stopped does not answer.
    /// - Returns: whether the host has it.
    /// - Throws: ``LockkeeperError`` when the socket cannot be opened.
    func takeForHost(
        _ workspace: Workspace,
        inheriting inherited: Int32?,
        until deadline: Deadline
    ) throws -> Bool {
        let clock = SystemClock()
        while true {
            let isTaken = try turn.withLock { _ in
                if keepAsHost() { return true }
                return try take(workspace, asHost: true, inheriting: inherited)
            }
            if isTaken { return true }
            HubRequest.release(path: workspace.paths.socket)
            let now = clock.now()
            if deadline.hasPassed(at: now) { return false }
            clock.sleep(until: min(deadline, Deadline(after: Self.answerWait, from: now)))
        }
    }

    /// Gives the hub up, whatever for. Blocks; does nothing where it is not kept.
    func vacate(_ workspace: Workspace) { vacate(workspace) { _ in true } }

    /// Gives the hub up for good.
    func close(_ workspace: Workspace) {
        state.withLock { $0.isClosed = true }
        vacate(workspace)
    }

    /// A running hub answers within a round of its thread.
    private static let answerWait = Duration.milliseconds(5)

    // MARK: - Steps

    private var isKept: Bool {
        state.withLock { $0.lock != nil && !$0.isHandingOver && $0.hub?.failure == nil }
    }

    /// What a helper kept, the host keeps.
    private func keepAsHost() -> Bool {
        guard isKept else { return false }
        return state.withLock { state in
            guard state.lock != nil, !state.isHandingOver else { return false }
            state.isHost = true
            return true
        }
    }

    /// Returns whether HUB was free.
    private func take(
        _ workspace: Workspace,
        asHost isHost: Bool,
        inheriting inherited: Int32? = nil
    ) throws -> Bool {
        // One that ended by itself, or was handed over.
        clear(workspace)
        guard let lock = try workspace.membership.tryAcquire(.hub, .exclusive) else { return false }
        let serial = begin(holding: lock, isHost: isHost)
        do {
            let hub = try Hub(
                path: workspace.paths.socket,
                inheriting: inherited,
                limits: workspace.limits,
                clock: workspace.clock,
                source: StoreLogs(workspace),
                handOver: HubHandOver(
                    begins: { [weak self, weak workspace] in
                        guard let self, let workspace else { return false }
                        return handsOver(serial, workspace.membership)
                    },
                    ended: { [weak self] in self?.ended(serial) }
                ),
                metrics: { [weak workspace, process = workspace.process] count in
                    workspace?.hubMetrics(connectionCount: count)
                        ?? HubMetrics(
                            pid: process.identity.pid,
                            name: process.processName,
                            role: process.role.name,
                            connectionCount: count,
                            stages: [:]
                        )
                }
            )
            state.withLock { $0.hub = hub }
            workspace.announcements.serve(through: hub)
            return true
        } catch {
            clear(workspace)
            throw error
        }
    }

    private func begin(holding lock: consuming LockGuard, isHost: Bool) -> UInt64 {
        var held: LockGuard? = lock
        return state.withLock { state in
            swap(&state.lock, &held)
            state.serial += 1
            state.isHost = isHost
            state.isHandingOver = false
            return state.serial
        }
    }

    /// Whether the hub ends now because a host waits for HUB. On the hub's thread.
    private func handsOver(_ serial: UInt64, _ membership: LockFileMembership) -> Bool {
        // A host that cannot be told from here finds HUB free when this process ends.
        guard (try? membership.isHeld(.host, against: .exclusive)) == true else { return false }
        return state.withLock { state in
            guard state.serial == serial, !state.isHost else { return false }
            state.isHandingOver = true
            return true
        }
    }

    /// The hub has closed its socket. On its thread, which may not be waited for here: the hub itself
    /// stays until somebody else clears it away.
    private func ended(_ serial: UInt64) {
        state.withLock { state in
            if state.serial == serial { state.lock = nil }
        }
    }

    private func vacate(_ workspace: Workspace, if isDue: (borrowing State) -> Bool) {
        turn.withLock { _ in
            if state.withLock({ isDue($0) }) { clear(workspace) }
        }
    }

    private func clear(_ workspace: Workspace) {
        let hub = state.withLock { state -> Hub? in
            defer { state.hub = nil }
            return state.hub
        }
        workspace.announcements.serve(through: nil)
        hub?.close()
        // Only now: whoever has HUB opens the socket at once.
        state.withLock { state in
            state.lock = nil
            state.isHost = false
            state.isHandingOver = false
        }
    }
}
