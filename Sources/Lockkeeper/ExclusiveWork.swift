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

    /// Runs a closure while nobody else has the account open.
    ///
    /// - Parameter kinds: the files whose solitude SQLite has to prove; the closure gets the
    ///   connections that prove it. Files that cannot be read for damage are left out by the caller.
    /// - Throws: ``LockkeeperError`` with the code `busy` and the holders when somebody did not leave;
    ///   what the closure throws.
    func run<Value>(
        proving kinds: [StoreKind],
        _ body: ([StoreKind: Connection]) throws -> Value
    ) throws -> Value {
        try attachment.leave(.excluded, until: deadline)
        let membership = attachment.membership
        let result = Result {
            try membership.setActivity(.excluding)
            return try behindTheDoor(proving: kinds, body)
        }
        try? membership.setActivity(.idle)
        try attachment.comeBack(until: .never)
        return try result.get()
    }

    private func behindTheDoor<Value>(
        proving kinds: [StoreKind],
        _ body: ([StoreKind: Connection]) throws -> Value
    ) throws -> Value {
        let membership = attachment.membership
        let entry = try membership.acquire(.entry, .exclusive, until: deadline)
        try membership.askToLeave(holding: entry)
        // Void without ENTRY anyway.
        defer { try? membership.clearLeaveWord(holding: entry) }
        let presence = try membership.acquire(.presence, .exclusive, until: deadline)
        let maintenance = try membership.acquire(.maintenance, .exclusive, until: deadline)
        return try presence.whileHeld {
            try maintenance.whileHeld {
                let value = try whileAlone(with: kinds, body)
                try moveLeftoversAside()
                return value
            }
        }
    }

    private func whileAlone<Value>(
        with kinds: [StoreKind],
        _ body: ([StoreKind: Connection]) throws -> Value
    ) throws -> Value {
        var connections: [StoreKind: Connection] = [:]
        defer { for connection in connections.values { try? connection.close() } }
        let record = try workspace.registry.record(of: attachment.account)
        for kind in kinds where record.fileNumber(of: kind) > 0 {
            connections[kind] = try StoreFile.openExclusively(
                attachment.paths.file(of: kind, number: record.fileNumber(of: kind)),
                environment: workspace.environment,
                busyDeadline: deadline
            )
        }
        return try body(connections)
    }

    /// Moves every database file that is not a current one away: what was replaced just now, and what
    /// a process left behind that died before it published it.
    private func moveLeftoversAside() throws {
        let record = try workspace.registry.record(of: attachment.account)
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
