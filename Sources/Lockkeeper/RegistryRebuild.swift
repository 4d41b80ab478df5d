import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// Makes `workspace.db` of what the accounts' own folders say, for a new workspace too, which has
/// none.
///
/// ```
/// surveyed    every account's charter and fences are read; nothing is changed
/// filled      workspace.db.new says all of it                       (durable)
/// set aside   what stood at the path is in damaged/                 (durable)
/// published   workspace.db.new has the name                         (durable)
/// ```
///
/// Who dies in it leaves no registry, or one that cannot be used, and the next one begins anew. SWITCH
/// is held throughout, so that no switch, no exclusive work and nobody else's rebuilding goes on.
///
/// What it cannot know: the intent of a switch. Of two accounts, one of which was left already, none
/// is active then; both never are. An account whose settings alone were fenced is settled by an
/// intent that goes into the new registry.
struct RegistryRebuild {
    let paths: WorkspacePaths
    let environment: StoreEnvironment
    let deadline: Deadline

    /// More generations than a workspace has ever given: those of which no fence tells, because the
    /// account was removed since, are not given again.
    private static let generationJump: Int64 = 1 << 20
    /// A charter has a few hundred bytes, and ids of up to 512 of them.
    private static let charterByteCountMax = 1 << 16

    func run() throws {
        let contents = try survey()
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
    }

    // MARK: - What there is

    private func survey() throws -> RegistryContents {
        var contents = RegistryContents()
        var largest = Generation(0)
        var unsettled: AccountRecord?
        guard try FileSystem.status(paths.accounts) != nil else { return contents }
        for directory in try FileSystem.list(paths.accounts).sorted() {
            guard let charter = try charter(in: directory) else { continue }
            let fences = try fences(of: charter.record)
            for fence in fences.values { largest = max(largest, fence.generation) }
            if charter.isRemoving {
                let removal = PendingRemoval(id: charter.record.id, directory: directory)
                contents.removals.append(removal)
                continue
            }
            // An account whose messages cannot be read gives nobody a session as it is.
            let decisive = fences[.messages]
            let record = charter.record.standing(
                decisive?.state ?? .retired,
                decisive?.generation ?? fences[.settings]?.generation ?? Generation(0)
            )
            contents.accounts.append(record)
            if let settings = fences[.settings], let decisive,
                settings.generation != decisive.generation || settings.state != decisive.state
            {
                unsettled = record
            }
        }
        if contents.accounts.isEmpty && contents.removals.isEmpty { return contents }
        contents.generation = Generation(largest.rawValue + Self.generationJump)
        if let unsettled {
            contents.generation = contents.generation.next
            contents.intent = unsettled.settling(at: contents.generation)
        }
        return contents
    }

    /// What an account's folder says. A folder that was copied under another name is no account.
    private func charter(in directory: String) throws -> AccountCharter? {
        let path = paths.account(directory: directory).charter
        guard try FileSystem.status(path)?.kind == .regular else { return nil }
        let bytes = try FileSystem.contents(of: path, limit: Self.charterByteCountMax)
        return AccountCharter(bytes, in: directory)
    }

    /// The fences of an account's current files, as far as they can be read.
    private func fences(of record: AccountRecord) throws -> [StoreKind: Fence] {
        var fences: [StoreKind: Fence] = [:]
        for kind in StoreKind.allCases where record.fileNumber(of: kind) > 0 {
            let path = paths.account(directory: record.directory)
                .file(of: kind, number: record.fileNumber(of: kind))
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
        return try Fence.read(from: connection, path: path)
    }

    // MARK: - What there was

    /// Moves the damaged registry away, with its journal, which must not be played into the new one.
    private func setAside() throws {
        let suffixes = ["", "-journal"]
        let there = try suffixes.filter { try FileSystem.status(paths.registry + $0) != nil }
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

extension AccountRecord {
    /// The record with what a fence says.
    fileprivate func standing(_ state: AccountState, _ generation: Generation) -> AccountRecord {
        AccountRecord(
            id: id,
            directory: directory,
            birth: birth,
            ownID: ownID,
            contract: contract,
            state: state,
            generation: generation,
            messagesFile: messagesFile,
            settingsFile: settingsFile,
            createdAt: createdAt
        )
    }

    /// What makes both fences say what the messages' one says.
    fileprivate func settling(at generation: Generation) -> SwitchIntent {
        let token = FencingToken(account: id, generation: generation)
        return state == .active
            ? SwitchIntent(retiring: nil, activating: token, step: .activating)
            : SwitchIntent(retiring: token, activating: nil, step: .retiring)
    }
}
