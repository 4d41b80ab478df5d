import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// A registry that is older than an account's files: somebody has put an old `workspace.db` back.
///
/// The account's charter never names a file before the registry does, so that one that names a newer
/// file, or another account of the id that was added later, proves it. Where the charter cannot be read,
/// a database that is not there beside a newer one says so. A fence that stands above the registry's
/// generation proves it as well, unless somebody is at a switch or a recovery.
extension WorkspacePaths.Account {
    /// The numbers of the files that are newer than those that the registry knows; none where it is as
    /// new as they are.
    ///
    /// - Throws: what the kernel throws.
    func newerFiles(than record: AccountRecord) throws -> [StoreKind: Int64] {
        guard try FileSystem.status(directory) != nil else { return [:] }
        if let charter = try AccountCharter(of: self, in: record.directory)?.record,
            charter.id == record.id
        {
            let isOther = charter.birth > record.birth
            return numbers { kind in
                let number = charter.fileNumber(of: kind)
                return number > record.fileNumber(of: kind) || isOther ? number : 0
            }
        }
        let names = try FileSystem.list(directory).filter { $0.hasSuffix(".db") }
        return try numbers { kind in
            let current = record.fileNumber(of: kind)
            if try current > 0 && FileSystem.status(file(of: kind, number: current)) != nil {
                return 0
            }
            let newest = names.compactMap { Self.number(in: $0, of: kind) }.max() ?? 0
            return newest > current ? newest : 0
        }
    }

    private func numbers(_ number: (StoreKind) throws -> Int64) rethrows -> [StoreKind: Int64] {
        var numbers: [StoreKind: Int64] = [:]
        for kind in StoreKind.allCases {
            let number = try number(kind)
            if number > 0 { numbers[kind] = number }
        }
        return numbers
    }

    /// Makes sure that the registry is as new as the account's files. Whoever went on with an old one
    /// would take the newer files for leftovers, or make empty ones beside them.
    ///
    /// - Throws: ``LockkeeperError`` with the code `fileMissing` that names a newer file.
    func requireCurrent(_ record: AccountRecord) throws {
        let newer = try newerFiles(than: record)
        guard let (kind, number) = newer.min(by: { $0.key.rawValue < $1.key.rawValue })
        else { return }
        throw LockkeeperError.oldRegistry(record.id, beside: file(of: kind, number: number))
    }
}

extension Workspace {
    /// Makes the registry anew where it is older than an account's files: of the accounts' own files,
    /// which have everything that it knows.
    ///
    /// - Returns: the account's record as it is then, and whether the registry was made anew.
    /// - Throws: ``LockkeeperError``: `unknownAccount`; `damaged` where a newer file cannot be taken;
    ///   `busy`.
    func takeNewerFiles(
        of id: AccountID,
        until deadline: Deadline
    ) throws -> (record: AccountRecord, hasRenewed: Bool) {
        let record = try registry.record(of: id)
        guard try isOlder(record) else { return (record, false) }
        return try membership.underSwitch(until: deadline) {
            // Another process may have published files between the two looks.
            guard try isOlder(try registry.record(of: id)) else { return (record, false) }
            try renewRegistry(until: deadline)
            return (try registry.record(of: id), true)
        }
    }

    private func isOlder(_ record: AccountRecord) throws -> Bool {
        let account = paths.account(directory: record.directory)
        return try !account.newerFiles(than: record).isEmpty || hasNewerFence(record.id)
    }

    private func hasNewerFence(_ id: AccountID) -> Bool {
        // Whoever has the account to himself is waited for by the repair.
        guard let files = try? AccountFiles(id, of: self) else { return false }
        return StoreKind.allCases.contains { kind in
            guard let path = try? files.path(of: kind),
                let connection = try? StoreFile.open(
                    path,
                    for: .reading,
                    environment: environment,
                    busyDeadline: deadlineOfOpening()
                )
            else { return false }
            defer { try? connection.close() }
            return (try? files.registryIsOlder(than: connection, at: path)) ?? false
        }
    }

    /// Makes sure that a database is none that belongs elsewhere; one that cannot be read is not told of.
    ///
    /// - Throws: ``LockkeeperError`` with the code `damaged`.
    func requireOwn(_ path: String, _ kind: StoreKind, of id: AccountID) throws {
        let connection = try? StoreFile.open(
            path,
            for: .reading,
            environment: environment,
            busyDeadline: deadlineOfOpening()
        )
        defer { try? connection?.close() }
        guard let connection else { return }
        try Fence.refuseStranger(connection, kind, of: id, at: path)
    }
}

extension AccountFiles {
    /// Whether a database's fence stands above what the registry knows, and nobody is about to tell it. The
    /// registry is read after the fence: whoever raises one has written down before that he will.
    func registryIsOlder(than connection: Connection, at path: String) throws -> Bool {
        let account = attachment.account
        guard let fence = try? Fence.read(from: connection, path: path), fence.account == account
        else { return false }
        return try workspace.registry.use { registry in
            guard try registry.intent() == nil, try registry.recovery(of: account) == nil,
                let record = try registry.account(account)
            else { return false }
            return record.generation < fence.generation
        }
    }

    /// A charter that cannot be read, or is another account's. One that is behind the registry is not told:
    /// it is written after it.
    func charterFindings() throws -> [InspectionFinding] {
        let record = try workspace.registry.record(of: attachment.account)
        let paths = attachment.paths
        if try AccountCharter(of: paths, in: record.directory)?.record.id == record.id { return [] }
        return [
            InspectionFinding(
                "charter",
                paths.charter,
                "It is not there, cannot be read, or is another account's. Where 'workspace.db' is lost, the"
                    + " account is found again by it.",
                "Open the account for writing, which writes it anew: 'lockkeeper migrate --account"
                    + " \(attachment.account)'."
            )
        ]
    }
}
