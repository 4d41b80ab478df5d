import LockkeeperDomain
import LockkeeperLocking
import LockkeeperNotifier
import LockkeeperPlatform
import LockkeeperStorage
import LockkeeperSystemd
import Synchronization

/// The long-lived process of a workspace: it keeps the notifier's hub and the log short.
///
/// Nothing but this needs a host: helpers write, read, announce to each other and switch without one.
public final class Host: Sendable {
    private let workspace: Workspace
    private let parts: Parts
    /// `nil` once it was closed, and while the process is suspended.
    private let service: Mutex<Service?>

    /// What outlives a suspension.
    fileprivate struct Parts: Sendable {
        /// The service manager's socket, which outlives what serves on it.
        let inherited: Int32?
        let note: @Sendable (HostNote) -> Void
    }

    /// What serves, and the lock that gives the right to. The hub is the workspace's
    /// (``HubSeat``), because a helper's may become the host's.
    fileprivate struct Service: ~Copyable, Sendable {
        let upkeep: LogUpkeep
        let inboxes: InboxUpkeep
        let tidies: HostUpkeep
        let host: LockGuard

        /// Takes HOST, and the hub as soon as who has it gives it up. A helper that is stopped with it
        /// keeps nobody from serving: the host asks again with each tick.
        ///
        /// - Throws: ``LockkeeperError`` with the code `hostRunning`.
        static func start(_ workspace: Workspace, _ parts: Parts) throws -> Service {
            guard let host = try workspace.membership.tryAcquire(.host, .exclusive) else {
                let holders = try workspace.membership.holders(of: .host)
                throw LockkeeperError.hostRunning(workspace.root, holders.map(\.description))
            }
            let soon = Deadline(after: hubWaitMax, from: SystemClock().now())
            _ = try workspace.hubSeat.takeForHost(
                workspace,
                inheriting: parts.inherited,
                until: soon
            )
            let upkeep = try LogUpkeep(workspace) { tick($0, parts) }
            let inboxes = try InboxUpkeep(workspace)
            let tidies = try HostUpkeep(workspace)
            return Service(upkeep: upkeep, inboxes: inboxes, tidies: tidies, host: host)
        }

        /// What a host does once a second beside its care for the logs.
        private static func tick(_ workspace: Workspace, _ parts: Parts) {
            do throws(LockingError) {
                try workspace.membership.checkPath()
            } catch {
                if case .lockFileReplaced(let path) = error {
                    return parts.note(.lockFileReplaced(path: path))
                }
            }
            // A socket that cannot be opened now is tried again with the next tick.
            let now = Deadline(after: .zero, from: SystemClock().now())
            let seat = workspace.hubSeat
            _ = try? seat.takeForHost(workspace, inheriting: parts.inherited, until: now)
            if let strangers = seat.takeStrangers() { parts.note(.strangersRefused(strangers)) }
            // A watchdog that is not told has the host started again: only who still holds HOST tells
            // it.
            guard ServiceManager.wantsWatchdog,
                (try? workspace.membership.isHeld(.host, against: .exclusive)) == true
            else { return }
            // One that cannot be told now is told with the next tick, or ends this process.
            _ = try? ServiceManager.notify(.watchdog)
        }

        /// How long a host that begins to serve waits for the hub of a helper, which runs and gives it
        /// up at once, or is stopped.
        private static let hubWaitMax = Duration.seconds(1)
    }

    fileprivate init(
        _ workspace: Workspace,
        _ parts: Parts,
        _ service: consuming sending Service
    ) {
        self.workspace = workspace
        self.parts = parts
        self.service = Mutex(service)
    }

    deinit { stop() }

    /// Stops serving and lets the locks go. Sessions stay open.
    public func close() async {
        workspace.state.withLock { $0.host = nil }
        let host = self
        // Closing cannot fail; `blocking` only moves it off the cooperative pool.
        try? await blocking("lk-close") { host.stop() }
    }

    /// Stops serving; ``goOn()`` serves again. Blocks; does nothing the second time.
    func stop() {
        guard let upkeep = service.withLock({ $0?.upkeep }) else { return }
        service.withLock { $0?.inboxes }?.close()
        service.withLock { $0?.tidies }?.close()
        // It might take the hub once more.
        upkeep.close()
        workspace.hubSeat.vacate(workspace)
        // HOST last: feeds leave the hub to a host while there is one.
        service.withLock { $0 = nil }
    }

    /// Serves again after ``stop()``; nothing happens where it serves. Blocks.
    ///
    /// - Throws: ``LockkeeperError`` with the code `hostRunning` when another process has become the
    ///   host meanwhile.
    func goOn() throws {
        if service.withLock({ $0 != nil }) { return }
        var fresh: Service? = try .start(workspace, parts)
        service.withLock { swap(&$0, &fresh) }
    }
}

extension Workspace {
    /// Becomes the host of the workspace.
    ///
    /// - Throws: ``LockkeeperError`` with the code `hostRunning`, which names the process, when
    ///   another host serves.
    public func serve() async throws -> Host { try await serve(inheriting: nil) }

    /// The same for a program that runs as a service.
    ///
    /// - Parameters:
    ///   - inherited: a socket that the service manager has bound at the notifier's path.
    ///   - note: told what an operator should know, on a thread of the host's that may wait.
    package func serve(
        inheriting inherited: Int32?,
        noting note: @escaping @Sendable (HostNote) -> Void = { _ in }
    ) async throws -> Host {
        try await work { workspace in
            let parts = Host.Parts(inherited: inherited, note: note)
            let host = Host(workspace, parts, try .start(workspace, parts))
            workspace.state.withLock { $0.host = Weak(host) }
            return host
        }
    }
}
