public import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// What an account's files are encrypted with from now on.
public enum StoreKeyChange: Sendable, Hashable {
    /// A new key, which is drawn for it.
    case newKey
    /// Nothing: they are plain. Processes that open the workspace with keys refuse them then.
    case plain
}

/// A key that was changed.
public struct StoreKeyReport: Sendable, Hashable {
    /// The account.
    public let account: AccountID
    /// The new key's name; `nil` for plain files.
    public let key: String?
    /// The account's new generation: sessions of the one before are superseded.
    public let generation: Generation
    /// How long it took.
    public let duration: Duration
}

/// Changing the key is exclusive work (5.5), always under SWITCH:
///
/// ```
/// kept       the new key is in the source of keys, durably; nothing has it yet
/// alone      everybody has left
/// copied     both files, under names that were never used, with the new key, inspected      (synced)
/// published  one registry transaction names the new files and the generation                (durable)
/// sealed     documents and packets are sealed anew
/// aside      the old ones lie in `damaged/`, with the old key; plain ones are removed
/// ```
///
/// Plain files of which an encrypted copy was inspected and published are removed, because what they hold is
/// what must not lie about. Where somebody dies before that they stay in `damaged/`, and `doctor` says so.
///
/// Whoever dies before `published` has changed nothing; whoever dies after it leaves a store of the new key.
/// Both keys are in the source all the time.
extension Workspace {
    /// Gives an account's files another key, encrypts plain ones, or makes encrypted ones plain.
    ///
    /// The files that were replaced, and backups that were made before, keep their key, and what they
    /// hold: remove them where that is why the key is changed. Sessions of the account, in every process,
    /// are superseded.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - change: what its files get.
    ///   - waitMax: how long to wait for other processes to leave the account; five seconds where it is
    ///     not given.
    /// - Throws: ``LockkeeperError``: `unknownAccount`; `accountInactive` where it has no files yet;
    ///   `invalidInput` where the workspace was opened without keys; `keyMissing`, `wrongKey`, `keyLocked`
    ///   for what the files have now; `busy`, which names who did not leave; `diskFull`, `ioFailed`. The
    ///   account stays as it was then.
    public func changeKey(
        of id: AccountID,
        to change: StoreKeyChange = .newKey,
        waitMax: Duration? = nil
    ) async throws -> StoreKeyReport {
        try await work { workspace in
            let wait = waitMax ?? ExclusiveWork.leaveWaitMax
            let deadline = Deadline(after: wait, from: workspace.clock.now())
            return try workspace.membership.underSwitch(until: deadline) {
                try workspace.changeKey(of: id, to: change, until: deadline)
            }
        }
    }

    private func changeKey(
        of id: AccountID,
        to change: StoreKeyChange,
        until deadline: Deadline
    ) throws -> StoreKeyReport {
        let began = clock.now()
        try finishIntent(deadline: deadline)
        guard try registry.record(of: id).messagesFile > 0 else {
            throw LockkeeperError.accountInactive(id)
        }
        let key = change == .newKey ? try makeKey(for: id) : nil
        Failpoint.keyKept.reach()
        let attachment = try attach(id)
        let before = try registry.record(of: id)
        let work = ExclusiveWork(workspace: self, attachment: attachment, deadline: deadline)
        var plainKinds: [StoreKind] = []
        let generation = try work.run(
            proving: StoreKind.allCases,
            acceptingPlain: true
        ) { connections in
            plainKinds = connections.filter { $0.value.keyName == nil }.map(\.key)
            let generation = try publishCopies(
                of: connections,
                attachment,
                key: .other(key),
                deadline: deadline
            )
            try sealAnew(attachment.paths, key)
            Failpoint.keySealed.reach()
            return generation
        }
        if key != nil { try erase(plainKinds, before, in: attachment.paths) }
        announce(
            FencingToken(account: id, generation: generation),
            try registry.record(of: id).state
        )
        return StoreKeyReport(
            account: id,
            key: key?.name.description,
            generation: generation,
            duration: clock.now().duration(since: began)
        )
    }

    /// Seals documents and packets anew. The key is changed already: what cannot be sealed anew, on a full
    /// disk for example, keeps the old key, which stays in the source.
    private func sealAnew(_ paths: WorkspacePaths.Account, _ key: StoreKey?) throws {
        let sealing = FileSealing(account: paths.directory, keys: environment.keys)
        try sealing.use(key)
        let inbox = InboxFolder(account: paths.directory, keys: environment.keys)
        for folder in ["\(paths.directory)/documents"] + inbox.packetFolders {
            guard try FileSystem.status(folder) != nil else { continue }
            for name in try FileSystem.list(folder) where !FileSystem.isTemporary(name) {
                try? sealing.reseal("\(folder)/\(name)")
            }
        }
    }

    /// Removes the plain files that were replaced by encrypted ones just now.
    private func erase(
        _ kinds: [StoreKind],
        _ record: AccountRecord,
        in paths: WorkspacePaths.Account
    ) throws {
        for kind in kinds {
            let path = paths.file(of: kind, number: record.fileNumber(of: kind))
            let name = path.split(separator: "/").last.map(String.init) ?? ""
            for suffix in ["", "-wal", "-shm"] {
                try FileSystem.remove("\(paths.damaged)/\(name)\(suffix)")
            }
        }
        if !kinds.isEmpty { try FileSystem.syncDirectory(paths.damaged) }
    }
}
