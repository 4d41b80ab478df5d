public import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

/// A backup that was restored.
public struct RestoreReport: Sendable, Hashable {
    /// The account.
    public let account: AccountID
    /// Which of its databases.
    public let kind: StoreKind
    /// Up to where the store of which the backup was made is back.
    public let position: Position
    /// The account's new generation: sessions of the one before are superseded.
    public let generation: Generation
    /// How long it took.
    public let duration: Duration
    /// What a person should know and do, as sentences: what of the backup was held back, because it may
    /// have been done since the backup was made.
    public let notes: [String]
    /// Which files were moved aside, and what has their place, as sentences.
    public let moved: [String]
}

/// Restoring is exclusive work (5.5), always under SWITCH:
///
/// ```
/// looked at  the backup is this account's, of a schema that is known, and sound; nothing is changed
/// alone      everybody has left
/// copied     into a file with a name that was never used, with a name for life and a generation of its
///            own, brought to this program's schema, inspected                          (synced)
/// published  one registry transaction names the new file and the generation           (durable)
/// aside      what was replaced lies in `damaged/`
/// ```
///
/// Whoever dies before `published` has changed nothing; a new name never meets a log that is there
/// (B23), and positions of the store that was replaced are answered with a resync.
extension Workspace {
    /// Makes an account's database what it was when a backup of it was made. The other database of the
    /// account stays, and what was replaced is moved to the account's folder `damaged`.
    ///
    /// Sessions of the account, in every process, are superseded. Every subscriber is told to read
    /// anew. What the server still has is fetched again from the cursors that are in the backup.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - path: the backup; also a store's file that was copied while nobody had it open.
    ///   - waitMax: how long to wait for other processes to leave the account; five seconds where it
    ///     is not given.
    /// - Throws: ``LockkeeperError``: `unknownAccount`; `invalidInput` for another account's backup;
    ///   `fileMissing`, `newerSchema`, `damaged` for one that cannot be used; `busy`, which names who
    ///   did not leave; `diskFull`, `ioFailed`. The account stays as it was then.
    public func restore(
        _ id: AccountID,
        from path: String,
        waitMax: Duration? = nil
    ) async throws -> RestoreReport {
        try await work { workspace in
            let wait = waitMax ?? ExclusiveWork.leaveWaitMax
            let deadline = Deadline(after: wait, from: workspace.clock.now())
            return try workspace.membership.underSwitch(until: deadline) {
                try workspace.restore(id, path, until: deadline)
            }
        }
    }

    private func restore(
        _ id: AccountID,
        _ path: String,
        until deadline: Deadline
    ) throws -> RestoreReport {
        let began = clock.now()
        try finishIntent(deadline: deadline)
        _ = try registry.record(of: id)
        try requireBackup(path, of: id)
        let (backup, contents) = try usableBackup(path, of: id)
        defer { try? backup.close() }
        let kind = contents.fence.kind
        let attachment = try attach(id)
        let work = ExclusiveWork(workspace: self, attachment: attachment, deadline: deadline)
        var notes = try interruptedRepair(of: id, kind)
        let before = try registry.record(of: id)
        let account = AccountInfo(before)
        Failpoint.restoreChecked.reach()
        let generation = try work.run(
            proving: StoreKind.allCases,
            toleratingDamage: true,
            acceptingPlain: true
        ) { now in
            // The other one is copied as it is, so that both have the new generation; where it is
            // damaged it stays what it is.
            var sources = now
            sources[kind] = backup
            // A backup may be plain, or have a key that was changed since.
            let key = try keyOfNewFiles(of: id, beside: Array(now.values) + [backup])
            return try publishCopies(
                of: sources,
                attachment,
                key: .other(key),
                above: contents.fence.generation,
                deadline: deadline
            ) { copied, connection in
                guard copied == kind else { return }
                for schema in schemas where schema.kind == kind {
                    notes += try schema.restored(connection, now[kind], account)
                }
            }
        }
        announce(
            FencingToken(account: id, generation: generation),
            try registry.record(of: id).state
        )
        return RestoreReport(
            account: id,
            kind: kind,
            position: Position(store: contents.fence.store, commit: contents.commit),
            generation: generation,
            duration: clock.now().duration(since: began),
            notes: notes,
            moved: try replaced(account: before, by: kind, in: attachment.paths)
        )
    }

    /// What is to be said of the files that are not current any more: the other database is as it was, in a
    /// new file, so that both have the new generation.
    private func replaced(
        account before: AccountRecord,
        by kind: StoreKind,
        in paths: WorkspacePaths.Account
    ) throws -> [String] {
        let now = try registry.record(of: before.id)
        return try StoreKind.allCases.compactMap { other in
            let (old, new) = (before.fileNumber(of: other), now.fileNumber(of: other))
            let aside = "\(paths.damaged)/\(other.rawValue)-\(old).db"
            // One that was missing or damaged before is not there.
            guard old > 0, old != new, try FileSystem.status(aside) != nil else { return nil }
            return other == kind
                ? "What was replaced is kept: \(aside)."
                : "The \(other.rawValue) are what they were, in a new file; the one before is kept:"
                    + " \(aside)."
        }
    }

    /// What is to be said of a repair that had begun and is not at its end.
    private func interruptedRepair(of id: AccountID, _ kind: StoreKind) throws -> [String] {
        guard let repair = try registry.use({ try $0.recovery(of: id) }) else { return [] }
        let paths = paths.account(directory: try registry.record(of: id).directory)
        let aside = "The damaged files are in \(paths.damaged)/\(repair.folder)."
        let rest = repair.damaged.keys.filter { $0 != kind }.map(\.rawValue)
        guard repair.damaged[kind] != nil else {
            return [
                "A repair of \(rest.joined(separator: ", ")) has begun and is not at its end:"
                    + " 'lockkeeper repair \(id)' goes on with it. \(aside)"
            ]
        }
        return [
            "A repair of these had begun and was not at its end; the backup took its place. \(aside)"
                + (rest.isEmpty
                    ? ""
                    : " 'lockkeeper repair \(id)' goes on with \(rest.joined(separator: ", ")).")
        ]
    }

    /// Makes sure that a path names a file that may be a backup, before anything is opened: opening a
    /// pipe waits for its other end, and closing a file that this process has open as a database takes
    /// SQLite's locks away.
    private func requireBackup(_ path: String, of id: AccountID) throws {
        let refuse = { (explanation: String, remedy: String) in
            LockkeeperError(
                .invalidInput,
                subject: path,
                explanation: explanation,
                answer: .fixEnvironment,
                remedy: "The account is as it was. \(remedy)"
            )
        }
        guard let status = try FileSystem.status(path) else {
            throw LockkeeperError(
                .fileMissing,
                subject: path,
                explanation: "there is no such backup",
                answer: .fixEnvironment,
                remedy: "The account is as it was. Look at the path; backups that are made before"
                    + " migrations lie in the account's folder 'backups'."
            )
        }
        guard status.kind == .regular else {
            let what = status.kind == .directory ? "a folder" : "no regular file"
            throw refuse(
                "it is \(what), and no backup",
                "Name a file that 'lockkeeper backup' made."
            )
        }
        if status.size == 0 { throw refuse("it has no bytes", "Use another backup.") }
        let folder = paths.account(directory: try registry.record(of: id).directory).directory
        // An account whose folder is gone gets it back with what is restored.
        guard try FileSystem.status(folder) != nil else { return }
        let stores = try FileSystem.list(folder).filter { name in
            StoreKind.allCases.contains { WorkspacePaths.Account.number(in: name, of: $0) != nil }
        }
        for name in stores
        where try FileSystem.status("\(folder)/\(name)")?.identity == status.identity {
            throw refuse(
                "it is the account's own database, and no backup",
                "Name a file that 'lockkeeper backup' made; a database that is damaged is mended with"
                    + " 'lockkeeper repair \(id)'."
            )
        }
    }

    /// Opens a backup that can be restored. What it holds is one snapshot until it is closed.
    ///
    /// - Throws: `LockkeeperError` with the code `damaged` where the backup itself is: what to do then
    ///   is another matter than with an account's own file.
    private func usableBackup(
        _ path: String,
        of id: AccountID
    ) throws -> (connection: Connection, contents: BackupFile.Contents) {
        do {
            return try openBackup(path, of: id)
        } catch let error as LockkeeperError {
            throw error
        } catch {
            guard case let error as LockkeeperError = ErrorMapping.map(error, subject: path),
                error.code == .damaged
            else { throw error }
            throw LockkeeperError(
                .damaged,
                subject: path,
                explanation: "the backup cannot be used: \(error.explanation)",
                answer: .fixEnvironment,
                remedy:
                    "The account is as it was. Use another backup, or copy this one again from where"
                    + " it came from; it may have been torn on the way.",
                cause: error
            )
        }
    }

    private func openBackup(
        _ path: String,
        of id: AccountID
    ) throws -> (connection: Connection, contents: BackupFile.Contents) {
        let keys = try keySource?.storeKeys(of: id) ?? []
        environment.keys.add(keys)
        let connection: Connection
        let contents: BackupFile.Contents
        do throws(StorageError) {
            (connection, contents) = try BackupFile.open(path, environment)
        } catch {
            // Where the file lies does not say whose keys it may have.
            guard case .keyMissing(let path, let key) = error, !keys.isEmpty else { throw error }
            throw StorageError.wrongKey(path: path, key: key)
        }
        do {
            guard contents.fence.account == id else {
                throw LockkeeperError(
                    .invalidInput,
                    subject: path,
                    explanation: "it is a backup of account \(contents.fence.account), not \(id)",
                    answer: .fixEnvironment,
                    remedy: "Name a backup of this account, or restore it into that one."
                )
            }
            let kind = contents.fence.kind
            _ = try migrator(for: kind).pending(in: connection)
            let findings = try StoreInspection(migrations: migrations(for: kind))
                .run(on: connection, path: path, level: .quick)
                .filter { !$0.isPendingMigration }
            if let finding = findings.first {
                throw StorageError.notAStore(path: path, reason: finding.explanation)
            }
            try connection.begin(.deferred)
            // Only reading begins the snapshot.
            _ = try connection.value("SELECT generation FROM lk_fence")
            return (connection, contents)
        } catch {
            try? connection.close()
            throw error
        }
    }
}
