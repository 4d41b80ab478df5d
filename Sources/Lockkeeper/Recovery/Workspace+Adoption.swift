import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// Adding an account whose databases are there already: its charter is lost as well as its row in the
/// registry, so that a registry that was made anew does not know it. Whose the files are is said by
/// themselves; what nobody knows any more, own id and contract, the caller says once more.
extension Workspace {
    /// Makes an account known again by the databases in its folder: writes its charter, then makes the
    /// registry anew of all charters, so that state, generation and a switch that is not at its end are
    /// found as always. The caller holds SWITCH.
    ///
    /// - Parameter asked: what the caller says of the account.
    /// - Throws: ``StorageError`` for files of somebody else; ``LockkeeperError`` with the code `damaged`
    ///   where nobody can say whose they are; `accountExists` where the charter is there, which says
    ///   more than the caller does. The account is known then.
    func adopt(_ asked: AccountRecord, until deadline: Deadline) throws -> AccountRecord {
        let account = paths.account(directory: asked.directory)
        if let charter = try AccountCharter(of: account, in: asked.directory), !charter.isRemoving {
            try renewRegistry(until: deadline)
            throw LockkeeperError.accountExists(asked.id)
        }
        let found = try databases(of: asked.id, in: account, until: deadline)
        guard found.hasOwn else { throw LockkeeperError.unknownFiles(account.directory) }
        let record = AccountRecord(
            id: asked.id,
            directory: asked.directory,
            birth: birth(in: account, below: found.generation),
            ownID: asked.ownID,
            contract: asked.contract,
            messagesFile: found.numbers[.messages] ?? 0,
            settingsFile: found.numbers[.settings] ?? 0,
            createdAt: asked.createdAt
        )
        try FileSystem.replaceFile(at: account.charter, with: AccountCharter(record).bytes)
        try renewRegistry(until: deadline)
        return try registry.record(of: asked.id)
    }

    private struct FoundDatabases {
        var numbers: [StoreKind: Int64] = [:]
        var generation = Generation(0)
        var hasOwn = false
    }

    /// The newest databases that say that they are the account's; of a kind of which none can be read,
    /// the newest one, which is for a repair.
    private func databases(
        of id: AccountID,
        in account: WorkspacePaths.Account,
        until deadline: Deadline
    ) throws -> FoundDatabases {
        var found = FoundDatabases()
        let names = try FileSystem.list(account.directory).filter { $0.hasSuffix(".db") }
        for kind in StoreKind.allCases {
            let numbers = names.compactMap { WorkspacePaths.Account.number(in: $0, of: kind) }
            for number in numbers.sorted(by: >) {
                let path = account.file(of: kind, number: number)
                do {
                    let fence = try fence(in: path, until: deadline)
                    try fence.require(kind, of: id, at: path)
                    found.numbers[kind] = number
                    found.generation = max(found.generation, fence.generation)
                    found.hasOwn = true
                    break
                } catch let error as StorageError where error.isDamage && !error.isMisplaced {
                    found.numbers[kind] = found.numbers[kind] ?? number
                }
            }
        }
        return found
    }

    private func fence(in path: String, until deadline: Deadline) throws -> Fence {
        let connection = try StoreFile.open(
            path,
            for: .reading,
            environment: environment,
            busyDeadline: deadline
        )
        defer { try? connection.close() }
        return try Fence.read(from: connection, path: path)
    }

    /// The birth that packets tell that wait in the account's folder: under another one they would be
    /// those of an account that was removed. 0 where none does, which is below every generation.
    private func birth(
        in account: WorkspacePaths.Account,
        below generation: Generation
    ) -> Generation {
        let folder = InboxFolder(account: account.directory, keys: environment.keys)
        let births = ((try? folder.entries()) ?? []).compactMap { entry in
            (try? folder.read(entry, byteCountMax: limits.packetByteCountMax))?.birth
        }
        return births.filter { $0 < generation }.max() ?? Generation(0)
    }

    /// Makes the registry anew although it can be used. The caller holds SWITCH.
    func renewRegistry(until deadline: Deadline) throws {
        // An account without a charter would not be found again.
        for record in try registry.use({ try $0.accounts() }) {
            let account = paths.account(directory: record.directory)
            guard try FileSystem.status(account.directory) != nil,
                try AccountCharter(of: account, in: record.directory) == nil
            else { continue }
            let newer = try account.newerFiles(than: record)
            for (kind, number) in newer {
                try requireOwn(account.file(of: kind, number: number), kind, of: record.id)
            }
            let found = record.with(
                messagesFile: newer[.messages],
                settingsFile: newer[.settings]
            )
            try FileSystem.replaceFile(at: account.charter, with: AccountCharter(found).bytes)
        }
        try registry.renew(until: deadline)
    }
}
