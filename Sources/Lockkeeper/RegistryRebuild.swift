import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// Makes `workspace.db` of what the accounts' own folders say, for a new workspace too, which has
/// none.
///
/// ```
/// surveyed    every account's charter and fences are read and synced; nothing is changed
/// filled      workspace.db.new says all of it                       (durable)
/// set aside   what stood at the path is in damaged/                 (durable)
/// published   workspace.db.new has the name                         (durable)
/// ```
///
/// Who dies in it leaves no registry, or one that cannot be used, and the next one begins anew. SWITCH
/// is held throughout, so that no switch, no exclusive work and nobody else's rebuilding goes on.
///
/// The intent of a switch is found in the fences, as far as they were written, and goes into the new
/// registry (``RegistryContents/init(of:)``). What it cannot know is what a fence says that cannot be
/// read: such an account is not active, and a switch to or from it is not finished.
struct RegistryRebuild {
    let paths: WorkspacePaths
    let environment: StoreEnvironment
    let deadline: Deadline

    /// - Returns: whether one was lost; where not, the workspace is new.
    func run() throws -> Bool {
        let surveyed = try survey()
        var contents = RegistryContents(of: surveyed)
        contents.recoveries = try contents.accounts.compactMap { try recovery(of: $0) }
        let isLost = try !contents.accounts.isEmpty || !remains().isEmpty
        if isLost { contents.rebuiltAt = environment.wallClock.milliseconds() }
        let fresh = paths.registry + ".new"
        let journal = fresh + "-journal"
        // Somebody may have died as he made one; nobody has ever read it.
        for path in [fresh, journal] { try FileSystem.remove(path) }
        let registry = try Registry(path: fresh, environment: environment, busyDeadline: deadline)
        try registry.fill(with: contents)
        try registry.close()
        try FileSystem.remove(journal)
        try setAside()
        try FileSystem.rename(fresh, to: paths.registry)
        try FileSystem.syncDirectory(paths.root)
        return isLost
    }

    // MARK: - What there is

    /// What every account's folder says. A folder that was copied under another name is no account.
    private func survey() throws -> [SurveyedAccount] {
        guard try FileSystem.status(paths.accounts) != nil else { return [] }
        return try FileSystem.list(paths.accounts).sorted().compactMap { directory in
            let account = paths.account(directory: directory)
            return try AccountCharter(of: account, in: directory).map { charter in
                SurveyedAccount(charter: charter, fences: try fences(of: charter.record))
            }
        }
    }

    /// The fences of an account's current files, as far as they can be read.
    private func fences(of record: AccountRecord) throws -> [StoreKind: Fence] {
        var fences: [StoreKind: Fence] = [:]
        let aside = try recovery(of: record)
        for kind in StoreKind.allCases where record.fileNumber(of: kind) > 0 {
            let account = paths.account(directory: record.directory)
            let number = record.fileNumber(of: kind)
            let path =
                if let aside, aside.damaged[kind] != nil {
                    account.file(of: kind, number: number, in: aside.folder)
                } else {
                    account.file(of: kind, number: number)
                }
            do {
                let fence = try fence(in: path)
                if fence.account == record.id && fence.kind == kind { fences[kind] = fence }
            } catch let error as StorageError where error.isLoss {
                // Damaged or missing: what is left is for recovery. Anything else, a lack of
                // descriptors for example, ends the rebuilding, since it would give a wrong registry.
                continue
            }
        }
        return fences
    }

    private func fence(in path: String) throws -> Fence {
        let connection = try StoreFile.open(
            path,
            for: .reading,
            environment: environment,
            busyDeadline: deadline
        )
        defer { try? connection.close() }
        let fence = try Fence.read(from: connection, path: path)
        // Who wrote it may have died before its sync, and the registry is about to say the same.
        try connection.syncLog()
        return fence
    }

    /// The recovery of an account that somebody had begun: its current file lies among the damaged ones.
    /// Where it had come further, what it made is made once more.
    private func recovery(of record: AccountRecord) throws -> RecoveryIntent? {
        let account = paths.account(directory: record.directory)
        guard try FileSystem.status(account.damaged) != nil else { return nil }
        let folders = try FileSystem.list(account.damaged).filter { $0.hasPrefix("recovery-") }
        for folder in folders.sorted() {
            var damaged: [StoreKind: Int64] = [:]
            var missingLogs: Set<StoreKind> = []
            for kind in StoreKind.allCases where record.fileNumber(of: kind) > 0 {
                let number = record.fileNumber(of: kind)
                let path = account.file(of: kind, number: number, in: folder)
                guard try FileSystem.status(account.file(of: kind, number: number)) == nil,
                    try FileSystem.status(path) != nil
                else { continue }
                damaged[kind] = number
                if try StoreFiles(path).hasLostLog() { missingLogs.insert(kind) }
            }
            guard !damaged.isEmpty else { continue }
            return RecoveryIntent(
                account: record.id,
                folder: folder,
                damaged: damaged,
                missingLogs: missingLogs,
                phase: .aside,
                beganAt: environment.wallClock.milliseconds()
            )
        }
        return nil
    }

    // MARK: - What there was

    /// What is left of the one that was lost, as what follows its path.
    private func remains() throws -> [String] {
        try ["", "-journal"].filter { try FileSystem.status(paths.registry + $0) != nil }
    }

    /// Moves the damaged registry away, with its journal, which must not be played into the new one.
    private func setAside() throws {
        let there = try remains()
        if there.isEmpty { return }
        try FileSystem.makeDirectory(paths.damaged, mode: 0o700)
        let used = try FileSystem.list(paths.damaged)
        var number = 1
        while used.contains(where: { $0.hasPrefix("workspace-\(number).db") }) { number += 1 }
        for suffix in there {
            try FileSystem.rename(
                paths.registry + suffix,
                to: "\(paths.damaged)/workspace-\(number).db\(suffix)"
            )
        }
        try FileSystem.syncDirectory(paths.damaged)
        try FileSystem.syncDirectory(paths.root)
    }
}
