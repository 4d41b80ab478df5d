public import LockkeeperDomain
import LockkeeperLocking
package import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

/// A folder with the accounts of one client, shared by all its processes.
///
/// Any process may open it at any time: the main app, a helper that lives for seconds, a tool. None
/// of them needs another one to be alive. Opens of one folder in one process share one instance.
public final class Workspace: Sendable {
    /// The canonical path of the folder.
    public var root: String { paths.root }
    /// This process's name among the origins of changes: "app", "push-helper".
    public let name: String
    /// The bounds that this process keeps.
    public let limits: Limits

    let paths: WorkspacePaths
    let schemas: [Schema]
    let environment: StoreEnvironment
    /// Where the keys of accounts' files are kept; `nil` where files are plain.
    let keySource: (any StoreKeySource)?
    let process: ProcessDescription
    let registry: RegistryHandle
    let membership: LockFileMembership
    let announcements: Announcements
    let damage = DamageBoard()
    let hubSeat = HubSeat()
    /// How long the stages of this process's writes took.
    let stageTimes = StageTimes()
    let timer = DeadlineTimer(name: "lk-timer")
    let state = Mutex<State>(State())
    /// What runs in this instance, and whether it is suspended.
    let activity = Monitor(WorkspaceActivity())

    /// What lives in this instance for now. Held weakly: the caller's references keep it alive.
    struct State: Sendable {
        var attachments: [AccountID: Weak<AccountAttachment>] = [:]
        var sessions: [FencingToken: Weak<Session>] = [:]
        var host: Weak<Host>?
        var repairHandler: (@Sendable (RepairReport) -> Void)?
        var isClosed = false
    }

    /// How a process takes part, as the sentences about holders and `status` say it.
    public enum Role: Sendable, Hashable {
        /// Lives long, and may serve.
        case host
        /// Lives for seconds or hours beside others.
        case helper
        /// A command line or an inspection.
        case tool

        var recorded: ProcessRole {
            switch self {
            case .host: .host
            case .helper: .helper
            case .tool: .tool
            }
        }
    }

    var clock: any MonotonicClock { environment.clock }
    var wallClock: any WallClockSource { environment.wallClock }

    /// Opens the workspace at a path, and makes the folder where there is none.
    ///
    /// A switch that a process began and did not finish is finished first.
    ///
    /// - Parameters:
    ///   - path: the folder; it belongs to this process's user and lies on a local file system.
    ///   - name: this process's name among the origins of changes.
    ///   - role: how this process takes part.
    ///   - schemas: the tables that this program knows beside Lockkeeper's own.
    ///   - limits: the bounds that this process keeps.
    ///   - keys: where the keys of accounts' files are kept. With them new files are encrypted, and plain
    ///     ones refused until ``changeKey(of:to:waitMax:)`` encrypted them. Every process of the workspace
    ///     opens it the same way.
    /// - Throws: ``LockkeeperError`` — `invalidInput`, `permissionDenied`, `unsupportedFileSystem`,
    ///   `newerSchema`, `damaged`, `busy` when another process does exclusive work for too long;
    ///   `encrypted` for keys in a build without encryption.
    public static func open(
        at path: String,
        name: String,
        role: Role = .helper,
        schemas: [Schema] = [],
        limits: Limits = Limits(),
        keys: (any StoreKeySource)? = nil
    ) async throws -> Workspace {
        try requireEncryption(for: keys)
        return try await blocking("lk-open") {
            let folder = try WorkspaceFolder.prepare(path)
            let workspace = try Instances.shared(folder) {
                try Workspace(
                    folder,
                    name: name,
                    role: role,
                    schemas: schemas,
                    limits: limits,
                    clock: SystemClock(),
                    wallClock: SystemWallClock(),
                    keys: keys
                )
            }
            try workspace.requireOpened(as: name, role, schemas, limits, hasKeys: keys != nil)
            return workspace
        }
    }

    /// One process has one instance of a folder, and with it one name, role, set of schemas and set
    /// of bounds.
    private func requireOpened(
        as name: String,
        _ role: Role,
        _ schemas: [Schema],
        _ limits: Limits,
        hasKeys: Bool
    ) throws {
        let isSame =
            name == self.name && role.recorded == process.role && limits == self.limits
            && schemas.map(\.owner) == self.schemas.map(\.owner)
            && hasKeys == (keySource != nil)
        guard !isSame else { return }
        throw LockkeeperError(
            .invalidInput,
            subject: "workspace \(root)",
            explanation: "this process has it open as '\(self.name)' with other settings",
            answer: .fixProgram,
            remedy: "Open it once and pass the workspace on, or open it the same way everywhere."
        )
    }

    /// Opens an instance of its own, with clocks of the caller's: another process, as far as locks,
    /// connections and caches go. For tests and benchmarks.
    ///
    /// - Parameters:
    ///   - vfs: the SQLite VFS that all files are opened with; the default one otherwise.
    package static func openApart(
        at path: String,
        name: String,
        role: Role = .helper,
        schemas: [Schema] = [],
        limits: Limits = Limits(),
        clock: any MonotonicClock = SystemClock(),
        wallClock: any WallClockSource = SystemWallClock(),
        vfs: String? = nil,
        keys: (any StoreKeySource)? = nil
    ) async throws -> Workspace {
        try requireEncryption(for: keys)
        return try await blocking("lk-open") {
            try Workspace(
                try WorkspaceFolder.prepare(path),
                name: name,
                role: role,
                schemas: schemas,
                limits: limits,
                clock: clock,
                wallClock: wallClock,
                vfs: vfs,
                keys: keys
            )
        }
    }

    private init(
        _ folder: WorkspaceFolder,
        name: String,
        role: Role,
        schemas: [Schema],
        limits: Limits,
        clock: any MonotonicClock,
        wallClock: any WallClockSource,
        vfs: String? = nil,
        keys: (any StoreKeySource)?
    ) throws {
        let paths = WorkspacePaths(root: folder.path)
        self.paths = paths
        self.name = name
        self.limits = limits
        self.schemas = schemas
        keySource = keys
        (process, environment, membership, registry) = try ErrorMapping.mapped(
            "workspace \(folder.path)"
        ) {
            try SQLiteLibrary.check()
            let identity = try ProcessIdentity.current()
            let process = ProcessDescription(
                identity: identity,
                program: Environment.programName,
                processName: name,
                role: role.recorded
            )
            var generator = SystemRandomNumberGenerator()
            let bookkeeping = schemas.reduce(into: Set()) { $0.formUnion($1.bookkeeping) }
            let environment = StoreEnvironment(
                clock: clock,
                wallClock: wallClock,
                bootID: identity.bootID,
                jitterSeed: generator.next(),
                vfs: vfs,
                keys: KeyRing(keys, paths: paths),
                isBookkeeping: { bookkeeping.contains($0) }
            )
            let membership = try LockFileMembership(
                path: paths.locks,
                process: process,
                clock: clock
            )
            let registry = try RegistryHandle(
                RegistrySource(paths: paths, environment: environment, membership: membership),
                clock: clock,
                waitMax: limits.openWaitMax
            )
            try membership.setActivity(.idle)
            return (process, environment, membership, registry)
        }
        announcements = Announcements(socketPath: paths.socket, limits: limits, clock: clock)
        // One that cannot be finished now does not keep anybody from the other accounts: who opens
        // a session of its accounts tries again and is told why.
        finishAbandonedSwitch()
        try? finishPendingRemovals()
        try? eraseLeftovers()
    }

    /// Ends the host and every session, and lets every lock go.
    public func close() async {
        let (sessions, host) = state.withLock { state in
            state.isClosed = true
            defer {
                state.sessions = [:]
                state.attachments = [:]
            }
            return (state.sessions.values.compactMap(\.value), state.host?.value)
        }
        await host?.close()
        for session in sessions { await session.close() }
        // Closing cannot fail; `blocking` only moves it off the cooperative pool.
        try? await blocking("lk-close") { [self] in hubSeat.close(self) }
        announcements.close()
        damage.close()
        registry.retire()
    }

    func deadlineOfOpening() -> Deadline { Deadline(after: limits.openWaitMax, from: clock.now()) }

    /// Whether this process should copy a log of so many frames: the host first, others where no
    /// host lives, or when it does not come to it (5.4).
    func isCheckpointDue(frameCount: Int) -> Bool {
        let least = min(limits.checkpointFrameCount, limits.checkpointFrameCountWithoutHost)
        guard frameCount >= least else { return false }
        if state.withLock({ $0.host?.value }) != nil {
            return frameCount >= limits.checkpointFrameCount
        }
        guard frameCount >= limits.checkpointFrameCountWithoutHost else { return false }
        if frameCount >= limits.checkpointFrameCountBesideHost { return true }
        // Where the kernel does not say, the checkpoint is made here.
        return (try? membership.isHeld(.host, against: .exclusive)) != true
    }
}

/// A reference that does not keep its object alive.
struct Weak<Object: AnyObject & Sendable>: Sendable {
    weak let value: Object?

    init(_ value: Object) { self.value = value }
}

/// The workspaces of this process by their folders.
private enum Instances {
    private struct State: Sendable {
        var known: [String: Weak<Workspace>] = [:]
        /// Folders that a thread is opening; others wait for it and not for those of other folders.
        var opening: Set<String> = []
    }

    private static let monitor = Monitor(State())

    /// The instance of a folder, made where there is none.
    static func shared(
        _ folder: WorkspaceFolder,
        make: () throws -> Workspace
    ) throws -> Workspace {
        let known = monitor.wait(until: .never) { state -> Workspace?? in
            if let workspace = state.known[folder.path]?.value,
                !workspace.state.withLock({ $0.isClosed })
            {
                return .some(workspace)
            }
            return state.opening.insert(folder.path).inserted ? .some(nil) : .none
        }
        if let workspace = known ?? nil { return workspace }
        let made = Result { try make() }
        monitor.withLock { state in
            state.opening.remove(folder.path)
            if case .success(let workspace) = made { state.known[folder.path] = Weak(workspace) }
        }
        monitor.broadcast()
        return try made.get()
    }
}
