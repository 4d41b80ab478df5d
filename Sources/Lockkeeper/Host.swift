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
    private let hub: Hub
    private let locks: Mutex<Locks?>

    /// HOST and HUB, held for as long as the host serves.
    private struct Locks: ~Copyable, Sendable {
        let host: LockGuard
        let hub: LockGuard
    }

    fileprivate init(
        _ workspace: Workspace,
        hub: Hub,
        holding host: consuming LockGuard,
        and hubLock: consuming LockGuard
    ) {
        self.workspace = workspace
        self.hub = hub
        locks = Mutex(Locks(host: host, hub: hubLock))
    }

    /// Stops serving and lets the locks go. Sessions stay open.
    public func close() async {
        let (workspace, hub) = (workspace, hub)
        workspace.announcements.serve(through: nil)
        // Closing cannot fail; `blocking` only moves it off the cooperative pool.
        try? await blocking("lk-close") { hub.close() }
        locks.withLock { $0 = nil }
        workspace.state.withLock { $0.host = nil }
    }

    func announceGeneration(
        _ account: AccountID,
        _ generation: Generation,
        _ state: AccountState
    ) {
        hub.changeGeneration(
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
            guard let hostLock = try workspace.membership.tryAcquire(.host, .exclusive) else {
                let holders = try workspace.membership.holders(of: .host)
                throw LockkeeperError(
                    .hostRunning,
                    subject: "workspace \(workspace.root)",
                    explanation: "another host serves it",
                    holders: holders.map(\.description),
                    answer: .fixEnvironment,
                    remedy: "Use that one, or end it first."
                )
            }
            let hubLock = try workspace.membership.acquire(
                .hub,
                .exclusive,
                until: workspace.deadlineOfOpening()
            )
            let hub = try Hub(
                path: workspace.paths.socket,
                limits: workspace.limits,
                clock: workspace.clock,
                source: StoreLogs(workspace)
            )
            let host = Host(workspace, hub: hub, holding: hostLock, and: hubLock)
            workspace.state.withLock { $0.host = Weak(host) }
            workspace.announcements.serve(through: hub)
            return host
        }
    }
}

/// Reads the commit logs of accounts for the hub, on the hub's reading thread.
///
/// A reader is opened when an account is asked for and kept; where it fails it is opened anew for
/// the next question.
// Safe to share because only the hub's one reading thread calls it (see `HubSource`).
private final class StoreLogs: HubSource, @unchecked Sendable {
    private weak var workspace: Workspace?
    private var readers: [AccountID: (reader: StoreReader, attachment: AccountAttachment)] = [:]

    /// Commits that are read from a log at once.
    private static let readMax = 256

    init(_ workspace: Workspace) { self.workspace = workspace }

    func read(_ account: AccountID, after position: Position?) throws -> LogReading? {
        guard let workspace,
            let record = try workspace.registry.use({ try $0.account(account) }),
            record.messagesFile > 0
        else {
            readers[account] = nil
            return nil
        }
        do {
            return try read(try reader(of: account, in: workspace), after: position)
        } catch {
            readers[account] = nil
            throw error
        }
    }

    private func read(_ reader: StoreReader, after position: Position?) throws -> LogReading {
        let head = try reader.head()
        guard let position else {
            return LogReading(head: try storeHead(head, reader), ranges: [])
        }
        switch try reader.catchUp(after: position, limit: Self.readMax) {
        case .ranges(let ranges, _):
            return LogReading(head: try storeHead(reader.head(), reader), ranges: ranges)
        case .resync:
            return LogReading(head: try storeHead(reader.head(), reader), ranges: nil)
        }
    }

    private func storeHead(_ head: StoreReader.Head, _ reader: StoreReader) throws -> StoreHead {
        StoreHead(
            store: reader.store,
            generation: head.generation,
            state: head.state,
            head: head.position.commit,
            oldest: head.oldest
        )
    }

    private func reader(of account: AccountID, in workspace: Workspace) throws -> StoreReader {
        if let known = readers[account] { return known.reader }
        let files = try AccountFiles(account, of: workspace)
        let reader = try StoreReader(
            path: try files.path(of: .messages),
            account: account,
            environment: workspace.environment,
            busyDeadline: workspace.deadlineOfOpening()
        )
        readers[account] = (reader, files.attachment)
        return reader
    }
}
