import LockkeeperDomain
import LockkeeperLocking
import LockkeeperNotifier
import LockkeeperPlatform
import LockkeeperStorage
import Synchronization

/// The long-lived process of a workspace: it keeps the notifier's hub and the log short.
///
/// Nothing but this needs a host: helpers write, read and switch without one.
public final class Host: Sendable {
    private let workspace: Workspace
    /// `nil` once it was closed, and while the process is suspended.
    private let service: Mutex<Service?>

    /// What serves, and the locks that give the right to.
    fileprivate struct Service: ~Copyable, Sendable {
        let hub: Hub
        let upkeep: LogUpkeep
        let host: LockGuard
        let hubLock: LockGuard

        /// Takes HOST and HUB and opens the socket.
        ///
        /// - Throws: ``LockkeeperError`` with the code `hostRunning`.
        static func start(_ workspace: Workspace) throws -> Service {
            guard let host = try workspace.membership.tryAcquire(.host, .exclusive) else {
                let holders = try workspace.membership.holders(of: .host)
                throw LockkeeperError.hostRunning(workspace.root, holders.map(\.description))
            }
            let hubLock = try workspace.membership.acquire(
                .hub,
                .exclusive,
                until: workspace.deadlineOfOpening()
            )
            let upkeep = try LogUpkeep(workspace)
            let hub = try Hub(
                path: workspace.paths.socket,
                limits: workspace.limits,
                clock: workspace.clock,
                source: StoreLogs(workspace)
            )
            workspace.announcements.serve(through: hub)
            return Service(hub: hub, upkeep: upkeep, host: host, hubLock: hubLock)
        }
    }

    fileprivate init(_ workspace: Workspace, _ service: consuming sending Service) {
        self.workspace = workspace
        self.service = Mutex(service)
    }

    /// Stops serving and lets the locks go. Sessions stay open.
    public func close() async {
        workspace.state.withLock { $0.host = nil }
        let host = self
        // Closing cannot fail; `blocking` only moves it off the cooperative pool.
        try? await blocking("lk-close") { host.stop() }
    }

    /// Stops serving; ``goOn()`` serves again. Blocks.
    func stop() {
        workspace.announcements.serve(through: nil)
        service.withLock { $0?.hub }?.close()
        service.withLock { $0?.upkeep }?.close()
        service.withLock { $0 = nil }
    }

    /// Serves again after ``stop()``; nothing happens where it serves. Blocks.
    ///
    /// - Throws: ``LockkeeperError`` with the code `hostRunning` when another process has become the
    ///   host meanwhile.
    func goOn() throws {
        if service.withLock({ $0 != nil }) { return }
        var fresh: Service? = try .start(workspace)
        service.withLock { swap(&$0, &fresh) }
    }

    func announceGeneration(
        _ account: AccountID,
        _ generation: Generation,
        _ state: AccountState
    ) {
        service.withLock { $0?.hub }?.changeGeneration(
            of: account,
            to: GenerationChange(generation: generation, state: state)
        )
    }
}

extension Workspace {
    /// Becomes the host of the workspace.
    ///
    /// - Throws: ``LockkeeperError`` with the code `hostRunning`, which names the process, when
    ///   another host serves.
    public func serve() async throws -> Host {
        try await work { workspace in
            let host = Host(workspace, try .start(workspace))
            workspace.state.withLock { $0.host = Weak(host) }
            return host
        }
    }
}
