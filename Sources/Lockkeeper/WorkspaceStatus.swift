import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// What goes on in a workspace, as one look found it.
public struct WorkspaceStatus: Sendable, Hashable {
    /// A process that has something open.
    public struct Process: Sendable, Hashable {
        /// Its process id.
        public let pid: Int32
        /// Its program's file name.
        public let program: String
        /// The name under which it commits.
        public let name: String
        /// "host", "helper" or "tool".
        public let role: String
        /// What it is doing: "idle", "waiting", "writing", …
        public let activity: String
        /// How far it is with that: "step 2 of 5"; `nil` where it has no steps.
        public let progress: String?
        /// For how long it has been doing that.
        public let duration: Duration
        /// "running", "stopped", "zombie", "frozen" or "gone".
        public let condition: String
        /// The names of the locks that it holds.
        public let locks: [String]
    }

    /// An account.
    public struct Account: Sendable, Hashable {
        /// What the registry says of it.
        public let info: AccountInfo
        /// The size of the messages' write-ahead log in bytes; 0 before it was first activated.
        public fileprivate(set) var logByteCount: Int64
        /// Whether that log is so large that the account counts as degraded.
        public fileprivate(set) var isDegraded: Bool
        /// The newest commit of messages; `nil` before it was first activated.
        public fileprivate(set) var head: Position?
        /// The size of the settings' write-ahead log in bytes; 0 before it was first activated.
        public fileprivate(set) var settingsLogByteCount: Int64
        /// Whether that log is so large that changes of settings are made to wait.
        public fileprivate(set) var settingsAreDegraded: Bool
        /// The newest commit of settings; `nil` before it was first activated.
        public fileprivate(set) var settingsHead: Position?
        /// Packets that wait until they are applied: as files, and as rows where the database can be
        /// read.
        public fileprivate(set) var waitingPacketCount: Int
        /// Packets that were put aside, and wait for somebody to look at them.
        public fileprivate(set) var parkedPacketCount: Int
        /// What waits to be done outside: the outbox and the effects, where the database can be read.
        public fileprivate(set) var backlogs: [Backlog]
        /// Who has it open.
        public fileprivate(set) var processes: [Process]
        /// Who keeps its log from being copied and begun anew, the oldest reader first. A healthy
        /// reader is there for a moment.
        public fileprivate(set) var pins: [LogPin]
        /// Who has it open without Lockkeeper (I-10).
        public fileprivate(set) var foreignProcesses: [ForeignProcess]
        /// What people should know of its tables, as sentences: an index that is behind, for example.
        public fileprivate(set) var notes: [String]
        /// What inspections found: each opening's, and those of the other levels when they were last
        /// run.
        public fileprivate(set) var inspections: [InspectionSummary]
        /// The recovery of damaged files that was begun and is not at its end, as a sentence with its
        /// phase; `nil` where there is none.
        public fileprivate(set) var recovery: String?
        /// Why its files could not be looked at, as a sentence; `nil` where they could.
        public fileprivate(set) var problem: String?
    }

    /// The folder.
    public let root: String
    /// Who has the workspace open.
    public let processes: [Process]
    /// The accounts.
    public let accounts: [Account]
    /// A switch, signing in or out that was begun and is not finished, in words; `nil` where there is
    /// none.
    public let pendingSwitch: String?
    /// When the registry was lost and made anew of the accounts' own files, in milliseconds since 1970;
    /// `nil` where it never was.
    public let registryRebuiltAt: Int64?
    /// Bytes that are free on the disk for this user.
    public let freeByteCount: Int64
    /// The version of the SQLite that is loaded.
    public let sqliteVersion: String
    /// Whether that SQLite has the fix of the WAL-reset fault (3.51.3, 3.50.7, 3.44.6). Without it
    /// Lockkeeper's exclusion of checkpoints (I-10) is what keeps the store safe.
    public let sqliteHasResetFix: Bool
    /// Whether Lockkeeper's exclusion of checkpoints (I-10) is on.
    public let excludesCheckpoints: Bool

    /// What the process that keeps the hub has done; `nil` where none answers.
    public let hubMetrics: ProcessMetrics?

    /// The known faults of that SQLite that concern a store, by name: `wal-reset`. Empty where it has
    /// none that is known.
    public var sqliteKnownFaults: [String] { sqliteHasResetFix ? [] : ["wal-reset"] }
}

extension WorkspaceStatus.Account {
    /// The process that is inside of a write transaction, or just before or behind one.
    public var writer: WorkspaceStatus.Process? { processes.first { $0.locks.contains("WRITER") } }

    /// The process whose turn is next: it stands at the door.
    public var nextWriter: WorkspaceStatus.Process? {
        processes.first { $0.locks.contains("QUEUE") }
    }

    /// The processes that wait to write, the longest first. In each of them several callers may stand
    /// in line behind the one whose wait is told.
    public var waitingWriters: [WorkspaceStatus.Process] {
        processes.filter { $0.activity == ProcessActivity.waiting.name }
            .sorted { $0.duration > $1.duration }
    }
}

extension Workspace {
    /// Whether this process found the workspace's registry lost, and made it anew of what the accounts'
    /// own files say.
    public var hasRebuiltRegistry: Bool { registry.hasRebuilt }

    /// The version of the SQLite that is loaded.
    public static var sqliteVersion: String { SQLiteLibrary.version }

    /// Whether the SQLite that is loaded has the fix of the WAL-reset fault.
    public static var sqliteHasResetFix: Bool { !SQLiteLibrary.hasLogResetDefect }

    /// Whether Lockkeeper's exclusion of checkpoints (I-10) is on: always, there is no switch.
    public static var excludesCheckpoints: Bool { true }

    /// Looks what goes on, without waiting for anybody.
    public func status() async throws -> WorkspaceStatus {
        try await work { workspace in
            let records = try workspace.registry.use { try $0.accounts() }
            return WorkspaceStatus(
                root: workspace.root,
                processes: try processesWithLocks(
                    in: workspace.membership,
                    locks: [.host, .switching, .hub]
                ),
                accounts: try records.map { try workspace.status(of: $0) },
                pendingSwitch: try workspace.registry.use { try $0.intent()?.description },
                registryRebuiltAt: try workspace.registry.use { try $0.rebuiltAt() },
                freeByteCount: try FileSystem.freeBytes(at: workspace.root),
                sqliteVersion: SQLiteLibrary.version,
                sqliteHasResetFix: Self.sqliteHasResetFix,
                excludesCheckpoints: Self.excludesCheckpoints,
                hubMetrics: workspace.metricsOfHub()
            )
        }
    }

    /// What can be seen of an account. Its lock file is looked at first, because a process that is
    /// stopped while it opens the database keeps everybody from reading it, and stands there by name.
    private func status(of record: AccountRecord) throws -> WorkspaceStatus.Account {
        var account = WorkspaceStatus.Account(info: AccountInfo(record))
        let packets = try inboxFolder(of: record).entries()
        account.waitingPacketCount = packets.count { $0.parked == nil }
        account.parkedPacketCount = packets.count - account.waitingPacketCount
        account.recovery = try registry.use { try $0.recovery(of: record.id)?.description }
        guard record.messagesFile > 0 else { return account }
        let patience = Deadline(after: Self.statusPatience, from: clock.now())
        let files: AccountFiles
        do {
            files = try AccountFiles(record.id, of: self, until: patience)
        } catch {
            // Somebody has the account to himself, and is named.
            account.note(error)
            return account
        }
        account.processes = try processesWithLocks(
            in: files.attachment.membership,
            locks: [.entry, .maintenance, .queue, .writer]
        )
        do {
            let users = files.users
            // Before anything is opened here, which would be a reader itself.
            account.pins = try users.pins()
            account.foreignProcesses = try users.foreign()
            try noteSettings(of: record.id, files, in: &account, until: patience)
            let (reader, log) = try reader(of: .messages, record.id, files, until: patience)
            defer { try? reader.close() }
            account.logByteCount = log
            account.isDegraded = log > Int64(limits.logByteCountDegraded)
            account.head = try reader.head().position
            let rows = try reader.packetCounts()
            account.waitingPacketCount += rows.waiting
            account.parkedPacketCount += rows.parked
            // A store that this program has not migrated yet has no such tables.
            account.notes = schemas.flatMap { (try? $0.notes(reader.connection)) ?? [] }
            account.backlogs = schemas.flatMap { (try? $0.backlogs(reader.connection)) ?? [] }
            account.notes += schemas.flatMap { schema in
                let warnings = (try? schema.warnings(reader.connection, limits)) ?? []
                return warnings.map { "\($0.explanation) \($0.remedy)" }
            }
            for kind in StoreKind.allCases { try files.trust(in: kind).check() }
            account.inspections = try files.inspectionSummaries(of: account.info)
        } catch StorageError.fileMissing where account.recovery != nil {
            // What a recovery has moved aside is not missing.
        } catch {
            account.note(error)
        }
        return account
    }

    /// Looks at the account's second database.
    private func noteSettings(
        of id: AccountID,
        _ files: AccountFiles,
        in account: inout WorkspaceStatus.Account,
        until patience: Deadline
    ) throws {
        let (reader, log) = try reader(of: .settings, id, files, until: patience)
        defer { try? reader.close() }
        account.settingsLogByteCount = log
        account.settingsAreDegraded = log > Int64(limits.logByteCountDegraded)
        account.settingsHead = try reader.head().position
    }

    /// Opens one of an account's databases, and says how many bytes its log has.
    private func reader(
        of kind: StoreKind,
        _ id: AccountID,
        _ files: AccountFiles,
        until patience: Deadline
    ) throws -> (StoreReader, log: Int64) {
        let path = try files.path(of: kind)
        let reader = try StoreReader(
            path: path,
            account: id,
            environment: environment,
            busyDeadline: patience
        )
        return (reader, try StoreFiles(path).logByteCount())
    }

    /// Longer than any healthy transaction keeps a reader from opening.
    private static let statusPatience = Duration.milliseconds(500)
}

extension WorkspaceStatus.Account {
    /// Says why something could not be looked at, or what is wrong with it.
    fileprivate mutating func note(_ error: any Error) {
        problem = String(describing: ErrorMapping.map(error, subject: "account \(info.id)"))
    }

    /// An account of which nothing but the registry's row is known yet.
    fileprivate init(info: AccountInfo) {
        self.init(
            info: info,
            logByteCount: 0,
            isDegraded: false,
            head: nil,
            settingsLogByteCount: 0,
            settingsAreDegraded: false,
            settingsHead: nil,
            waitingPacketCount: 0,
            parkedPacketCount: 0,
            backlogs: [],
            processes: [],
            pins: [],
            foreignProcesses: [],
            notes: [],
            inspections: [],
            recovery: nil,
            problem: nil
        )
    }
}

/// The processes in a lock file, each with the locks that it holds.
private func processesWithLocks(
    in membership: LockFileMembership,
    locks: [LockByte]
) throws -> [WorkspaceStatus.Process] {
    var held: [ProcessIdentity: [String]] = [:]
    for lock in locks {
        for holder in try membership.holders(of: lock) {
            held[holder.identity, default: []].append(lock.name)
        }
    }
    return try membership.members().map { member in
        WorkspaceStatus.Process(
            pid: member.identity.pid,
            program: member.program,
            name: member.processName,
            role: member.role.name,
            activity: member.activity.name,
            progress: member.progress?.description,
            duration: member.activityDuration,
            condition: member.condition.rawValue,
            locks: held[member.identity] ?? []
        )
    }
}
