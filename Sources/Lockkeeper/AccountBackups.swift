import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// The backups that an account keeps in its own folder.
struct AccountBackups {
    let workspace: Workspace
    let paths: WorkspacePaths.Account

    /// What is there.
    func names() throws -> [BackupName] {
        guard try FileSystem.status(paths.backups) != nil else { return [] }
        return try FileSystem.list(paths.backups).compactMap { BackupName($0) }
    }

    /// Makes one.
    ///
    /// - Parameter retention: how long it is kept; `nil` for no limit.
    func make(
        of source: Connection,
        at path: String,
        _ reason: BackupName.Reason,
        retaining retention: Duration?,
        _ making: BackupFile.Making
    ) throws -> (path: String, contents: BackupFile.Contents) {
        try FileSystem.makeDirectory(paths.backups, mode: 0o700)
        let now = workspace.wallClock.milliseconds()
        return try BackupFile.make(
            of: source,
            at: path,
            as: { contents in
                let name = BackupName(
                    kind: contents.fence.kind,
                    commit: contents.commit,
                    madeAt: now,
                    reason: reason,
                    expiresAt: retention.map { now + Int64($0.milliseconds) }
                )
                return "\(paths.backups)/\(name.text)"
            },
            making
        )
    }

    /// Removes those whose time has come, those that are too many, and what processes left behind that
    /// died as they made one.
    ///
    /// - Parameter countMax: how many are kept that somebody asked for; `nil` keeps all.
    func prune(keeping countMax: Int? = nil) throws {
        let names = try names()
        let superfluous = BackupName.superfluous(
            among: names,
            at: workspace.wallClock.milliseconds(),
            countMax: { $0 == .migration ? workspace.limits.migrationBackupCount : countMax }
        )
        for name in superfluous { try FileSystem.remove("\(paths.backups)/\(name.text)") }
        try removeUnfinished()
    }

    private func removeUnfinished() throws {
        guard try FileSystem.status(paths.backups) != nil else { return }
        try BackupFile.removeUnfinished(in: paths.backups)
    }
}

extension Workspace {
    /// How backups of an account's databases are made.
    func backupMaking(
        _ kind: StoreKind,
        goesOn: @escaping (_ done: Int, _ count: Int) -> Bool = { _, _ in true }
    ) -> BackupFile.Making {
        BackupFile.Making(
            inspection: StoreInspection(migrations: migrations(for: kind)),
            environment: environment,
            pid: process.identity.pid,
            goesOn: goesOn
        )
    }

    /// Removes backups whose time has come. What cannot be removed now is left for whoever comes next.
    func pruneBackups(of record: AccountRecord) {
        let paths = paths.account(directory: record.directory)
        try? AccountBackups(workspace: self, paths: paths).prune()
    }
}
