import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// Having an account to oneself: recovery, restoring, re-keying, removing, and copying a file that is
/// not trusted any more (5.5).
///
/// ```
/// SWITCH held by the caller
///   │ this process leaves the account
///   │ ENTRY exclusive          nobody comes in
///   │ leave word               everybody is asked to leave
///   │ PRESENCE exclusive       everybody with a record has left
///   │ MAINTENANCE
///   │ SQLite's exclusive lock  no program at all has the files open
///   ▼ the work, whose last step publishes
/// everything is let go, in the reverse order; everybody comes back
/// ```
///
/// Who does not leave by the deadline is named, and nothing was done. Whoever dies in it leaves
/// nothing behind that counts: locks go with their owner, the leave word is void without ENTRY, and
/// a file that was not published is never opened.
struct ExclusiveWork {
    let workspace: Workspace
    let attachment: AccountAttachment
    let deadline: Deadline

    /// What leaving takes at most: a transaction and its sync, and a look at the leave word.
    static let leaveWaitMax = Duration.seconds(5)

    /// Runs a closure while nobody else has the account open.
    ///
    /// - Parameters:
    ///   - kinds: the files whose solitude SQLite has to prove; the closure gets the connections that
    ///     prove it.
    ///   - isDamageTolerated: whether files that are missing or damaged are left out. SQLite proves
    ///     nothing of those; that no process has one of them open is seen from outside then.
    ///   - acceptsPlain: whether plain files are opened though files have to be encrypted: what becomes
    ///     of them is.
    /// - Throws: ``LockkeeperError`` with the code `busy` and the holders when somebody did not leave;
    ///   what the closure throws.
    func run<Value>(
        proving kinds: [StoreKind],
        toleratingDamage isDamageTolerated: Bool = false,
        acceptingPlain acceptsPlain: Bool = false,
        _ body: ([StoreKind: Connection]) throws -> Value
    ) throws -> Value {
        try attachment.leave(.excluded, until: deadline)
        let membership = attachment.membership
        let result = Result {
            try membership.setActivity(.excluding)
            return try Self.behindTheDoor(membership, until: deadline) {
                let connections = try proofs(
                    of: kinds,
                    isDamageTolerated: isDamageTolerated,
                    acceptsPlain: acceptsPlain
                )
                defer { for connection in connections.values { try? connection.close() } }
                let value = try body(connections)
                try moveLeftoversAside()
                return value
            }
        }
        try? membership.setActivity(.idle)
        try attachment.comeBack(until: .never)
        return try result.get()
    }

    /// Runs a closure while nobody who uses Lockkeeper is at an account: behind ENTRY, with PRESENCE
    /// and MAINTENANCE. The caller's own PRESENCE must have been let go, or be let go by who looks at
    /// the leave word.
    static func behindTheDoor<Value>(
        _ membership: LockFileMembership,
        until deadline: Deadline,
        _ body: () throws -> Value
    ) throws -> Value {
        let entry = try membership.acquire(.entry, .exclusive, until: deadline)
        Failpoint.exclusiveEntered.reach()
        try membership.askToLeave(holding: entry)
        // Void without ENTRY anyway.
        defer { try? membership.clearLeaveWord(holding: entry) }
        let presence = try membership.acquire(.presence, .exclusive, until: deadline)
        let maintenance = try membership.acquire(.maintenance, .exclusive, until: deadline)
        return try presence.whileHeld {
            try maintenance.whileHeld {
                Failpoint.exclusiveAlone.reach()
                return try body()
            }
        }
    }

    /// Opens the current files so that nobody else, foreign programs included, has them open. One that
    /// lies where it does not belong is none of them, as a damaged one.
    private func proofs(
        of kinds: [StoreKind],
        isDamageTolerated: Bool,
        acceptsPlain: Bool
    ) throws -> [StoreKind: Connection] {
        let record = try workspace.registry.record(of: attachment.account)
        // Newer files would be taken for leftovers.
        try attachment.paths.requireCurrent(record)
        let users = StoreOpener(workspace: workspace, account: attachment.account).users(attachment)
        var connections: [StoreKind: Connection] = [:]
        do {
            for kind in kinds where record.fileNumber(of: kind) > 0 {
                let path = attachment.paths.file(of: kind, number: record.fileNumber(of: kind))
                do {
                    let connection = try users.namingAnybody {
                        try StoreFile.openExclusively(
                            path,
                            acceptsPlain: acceptsPlain,
                            environment: workspace.environment,
                            busyDeadline: deadline
                        )
                    }
                    do {
                        try Fence.read(from: connection, path: path)
                            .require(kind, of: attachment.account, at: path)
                    } catch {
                        try? connection.close()
                        throw error
                    }
                    connections[kind] = connection
                } catch let error as StorageError
                    where isDamageTolerated && error.isLoss
                {
                    try users.requireNobody()
                }
            }
        } catch {
            for connection in connections.values { try? connection.close() }
            throw error
        }
        return connections
    }

    /// Writes down in the account's folder which files are current, then moves every other one away:
    /// what was replaced just now, and what a process left behind that died before it published it.
    /// Until it is written down, a registry that is lost is made anew with the file that was replaced,
    /// so that one must still be there.
    private func moveLeftoversAside() throws {
        // Of an account that was removed just now nothing is left.
        guard let record = try workspace.registry.use({ try $0.account(attachment.account) })
        else { return }
        try attachment.writeCharter(record)
        Failpoint.copyChartered.reach()
        let paths = attachment.paths
        let leftovers = try FileSystem.list(paths.directory).filter { name in
            StoreKind.allCases.contains { kind in
                let number = WorkspacePaths.Account.number(in: name, of: kind)
                return number != nil && number != record.fileNumber(of: kind)
            }
        }
        guard !leftovers.isEmpty else { return }
        try FileSystem.makeDirectory(paths.damaged, mode: 0o700)
        for name in leftovers {
            try FileSystem.rename("\(paths.directory)/\(name)", to: "\(paths.damaged)/\(name)")
        }
        try FileSystem.syncDirectory(paths.damaged)
        try FileSystem.syncDirectory(paths.directory)
    }
}
