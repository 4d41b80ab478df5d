public import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// A backup that was made.
public struct BackupReport: Sendable, Hashable {
    /// The file.
    public let path: String
    /// Of which account.
    public let account: AccountID
    /// Which of its databases.
    public let kind: StoreKind
    /// Up to where it is complete: everything that was committed until then is in it, and nothing
    /// later.
    public let position: Position
    /// The file's size.
    public let byteCount: Int64
    /// How long it took.
    public let duration: Duration
}

/// How far a backup is.
public struct BackupProgress: Sendable, Hashable {
    /// Pages that are copied.
    public let pagesDone: Int
    /// How many there are.
    public let pageCount: Int
}

/// How long backups are kept that an account keeps in its own folder.
public struct BackupRetention: Sendable, Hashable {
    /// How many are kept that were asked for; `nil` keeps all.
    public var countMax: Int?
    /// How long the new one is kept: what is recalled after it was made must not stand in it for ever.
    /// `nil` for no limit. Whoever opens the account, and the host, removes it afterwards.
    public var timeMax: Duration?

    /// Keeps all for ever, unless it is said otherwise.
    public init(countMax: Int? = nil, timeMax: Duration? = nil) {
        self.countMax = countMax
        self.timeMax = timeMax
    }
}

extension Workspace {
    /// Makes a backup of one of an account's databases while others write: a copy up to one commit,
    /// in one file. It is inspected before it has its name, and durable once it has.
    ///
    /// The copy is one read: as long as it lasts, the log grows and is not begun anew.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - kind: which of its databases.
    ///   - path: the file, which must not be there; `nil` keeps it in the account's own folder.
    ///   - retention: how long backups in the account's own folder are kept.
    ///   - progress: called on a thread of Lockkeeper's after each megabyte.
    /// - Throws: ``LockkeeperError``: `unknownAccount`; `accountInactive` where nothing was ever
    ///   stored; `invalidInput` where something has the name; `damaged` where the copy is not sound; `diskFull`, `ioFailed`; `busy`
    ///   where another process needs the account to itself. `CancellationError`. Nothing is left then.
    public func backUp(
        _ id: AccountID,
        _ kind: StoreKind = .messages,
        to path: String? = nil,
        retention: BackupRetention = BackupRetention(),
        progress: (@Sendable (BackupProgress) -> Void)? = nil
    ) async throws -> BackupReport {
        try await cancellableWork { workspace, cancellation in
            let files = try AccountFiles(id, of: workspace)
            let began = workspace.clock.now()
            let attachment = files.attachment
            let making = workspace.backupMaking(kind) { done, count in
                progress?(BackupProgress(pagesDone: done, pageCount: count))
                // Who needs the account to himself does not wait for a copy.
                return attachment.isOpen && !cancellation.isCancelled
            }
            let made: (path: String, contents: BackupFile.Contents)
            do {
                made = try files.backUp(kind, to: path, retention.timeMax, making)
            } catch StorageError.cancelled where !cancellation.isCancelled {
                throw LockkeeperError.leftMeanwhile(id, what: "the backup")
            } catch StorageError.fileExists(let path) {
                throw LockkeeperError(
                    .invalidInput,
                    subject: path,
                    explanation: "something has this name already",
                    answer: .fixEnvironment,
                    remedy: "Choose a name that is free; a backup replaces nothing."
                )
            }
            if path == nil {
                try AccountBackups(workspace: workspace, paths: attachment.paths)
                    .prune(keeping: retention.countMax)
            }
            return BackupReport(
                path: made.path,
                account: id,
                kind: kind,
                position: Position(
                    store: made.contents.fence.store,
                    commit: made.contents.commit
                ),
                byteCount: try FileSystem.status(made.path)?.size ?? 0,
                duration: workspace.clock.now().duration(since: began)
            )
        }
    }
}

extension AccountFiles {
    fileprivate func backUp(
        _ kind: StoreKind,
        to target: String?,
        _ timeMax: Duration?,
        _ making: BackupFile.Making
    ) throws -> (path: String, contents: BackupFile.Contents) {
        let read = attachment.reads.begin(.backup)
        defer { attachment.reads.end(read) }
        let source = try path(of: kind)
        let connection = try StoreFile.open(
            source,
            for: .reading,
            environment: workspace.environment,
            busyDeadline: workspace.deadlineOfOpening()
        )
        defer { try? connection.close() }
        if let target { try requireFolder(of: target) }
        guard let target else {
            return try AccountBackups(workspace: workspace, paths: attachment.paths)
                .make(of: connection, at: source, .manual, retaining: timeMax, making)
        }
        return try BackupFile.make(of: connection, at: source, as: { _ in target }, making)
    }

    /// Makes sure that a backup has a folder to lie in: what is told otherwise is the name under which it
    /// is made.
    private func requireFolder(of target: String) throws {
        let folder = FileSystem.directory(of: target)
        if try FileSystem.status(folder)?.kind == .directory { return }
        throw LockkeeperError(
            .fileMissing,
            subject: folder,
            explanation: "there is no such folder for the backup",
            answer: .fixEnvironment,
            remedy: "Make it, or name a path in another one."
        )
    }

    /// Makes a backup before the schema changes, unless nothing was ever stored. The caller holds
    /// MAINTENANCE and WRITER.
    func backUpBeforeMigration(of kind: StoreKind, _ connection: Connection, at path: String) throws
    {
        let isEmpty = try connection.value("SELECT 1 FROM lk_commit LIMIT 1") == nil
        if isEmpty { return }
        let backups = AccountBackups(workspace: workspace, paths: attachment.paths)
        // Whoever tries again what failed has its backup already.
        let newest = try connection.value("SELECT max(number) FROM lk_commit")?.integer
        let isThere = try backups.names().contains { name in
            name.kind == kind && name.reason == .migration && name.commit.rawValue == newest
        }
        if isThere { return }
        _ = try backups.make(
            of: connection,
            at: path,
            .migration,
            retaining: workspace.limits.migrationBackupTimeMax,
            workspace.backupMaking(kind)
        )
        try backups.prune()
    }
}
