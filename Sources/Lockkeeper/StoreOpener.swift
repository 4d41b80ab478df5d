import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// Opens one of an account's current files for the parts of a session. Which file that is, is read
/// from the registry each time: after exclusive work it is another one.
struct StoreOpener: Sendable {
    let workspace: Workspace
    let account: AccountID
    let kind: StoreKind

    init(workspace: Workspace, account: AccountID, kind: StoreKind = .messages) {
        self.workspace = workspace
        self.account = account
        self.kind = kind
    }

    private var environment: StoreEnvironment { workspace.environment }

    /// A connection to read with, and the stay that it needs.
    struct Reader {
        let store: StoreReader
        let stay: AccountAttachment.Stay
    }

    /// Opens a reader, whose reads are for a purpose where they do not say otherwise.
    func reader(
        _ stay: AccountAttachment.Stay,
        for purpose: ReadPurpose = .query
    ) throws -> Reader {
        let store = try StoreReader(
            path: try files(stay).path(of: kind),
            account: account,
            migrator: workspace.migrator(for: kind),
            environment: environment,
            busyDeadline: deadline(),
            purpose: purpose,
            watcher: NotedReads(stay.attachment.reads)
        )
        return Reader(store: store, stay: stay)
    }

    /// The connection that commits.
    struct Writer {
        let store: StoreWriter
        let trust: FileTrust
        /// What is to be settled before the first transaction.
        let unfinished: [UnfinishedSync]
    }

    /// Opens the connection that commits.
    func writer(_ stay: AccountAttachment.Stay) throws -> Writer {
        let files = files(stay)
        let trust = try files.trust(in: kind)
        let store = try StoreWriter(
            path: trust.path,
            account: account,
            origin: workspace.name,
            migrator: workspace.migrator(for: kind),
            environment: environment,
            busyDeadline: deadline()
        )
        // After the log was opened: what fails from now on is told to this descriptor as well.
        return Writer(store: store, trust: trust, unfinished: try files.unfinishedSyncs())
    }

    /// A connection that syncs the log and does nothing else.
    struct Log {
        let connection: Connection
        let trust: FileTrust

        func sync() throws { try trust.syncing { try connection.syncLog() } }
    }

    /// Opens a connection that syncs the log. What others died in is settled before the first sync,
    /// because a descriptor that was opened later is not told that theirs failed.
    func log(_ stay: AccountAttachment.Stay) throws -> Log {
        let files = files(stay)
        let trust = try files.trust(in: kind)
        let connection = try StoreFile.open(
            trust.path,
            for: .maintaining,
            environment: environment,
            busyDeadline: deadline()
        )
        // SQLite opens the log with the first read.
        _ = try connection.value("SELECT generation FROM lk_fence")
        let unfinished = try files.unfinishedSyncs()
        if !unfinished.isEmpty {
            let deadline = deadline()
            try stay.attachment.underWriter(deadline: deadline) { [files] in
                try files.settle(unfinished, deadline: deadline)
            }
        }
        return Log(connection: connection, trust: trust)
    }

    /// Who uses the account's databases.
    func users(_ attachment: AccountAttachment) -> DatabaseUsers {
        DatabaseUsers(membership: attachment.membership) { [workspace, account] in
            try workspace.databasePaths(of: account)
        }
    }

    /// The account's files, as they are now.
    func files(_ stay: AccountAttachment.Stay) -> AccountFiles {
        AccountFiles(stay, of: workspace)
    }

    /// Until when a connection waits for a lock of SQLite's while it is opened.
    private func deadline() -> Deadline {
        Deadline(after: workspace.limits.admissionWaitMax, from: environment.clock.now())
    }
}
