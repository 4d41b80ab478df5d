public import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperStorage
import Synchronization

/// Removing an account is exclusive work (5.5), always under SWITCH:
///
/// ```
/// alone      everybody has left, SQLite's lock proves it; nothing is changed yet
/// marked     the account's charter says that it is being removed                   (durable)
/// begun      one registry transaction takes the account out                        (durable)
/// erased     every file is gone but the lock file; the charter goes last           (durable)
/// completed  one registry transaction forgets the removal                          (durable)
/// ```
///
/// After `begun` the account is removed, whatever happens, and whoever opens the workspace finishes
/// the rest. A registry that is lost then is made anew with the removal, since the charter tells of it.
///
/// The lock file stays, and with it the folder: a process that is away and comes back later asks for a
/// byte of it, and two files of one name would let two processes hold the same lock (B34). It holds
/// names of programs and no text. A packet that somebody was about to keep may come into the folder
/// later, see `Workspace+Leftovers`.
extension Workspace {
    /// Removes an account with everything that the workspace holds of it: databases, logs, what was
    /// moved aside, its whole folder but the lock file. Other accounts are not touched. The id can be
    /// added again and is another account then, with a store of its own.
    ///
    /// Sessions of the account, in every process, fail with `accountRemoved` from then on. An
    /// interrupted removal is completed by the next process that opens the workspace.
    ///
    /// The files are removed and not overwritten. What the disk keeps in blocks that are free, in
    /// snapshots, and in backups elsewhere is not reached from here.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - waitMax: how long to wait for other processes to leave the account; five seconds
    ///     where it is not given.
    /// - Throws: ``LockkeeperError``: `unknownAccount`; `busy`, which names who did not leave, and
    ///   nothing was removed; `ioFailed` or `permissionDenied` where a file could not be removed: the
    ///   account is gone then, and who opens the workspace next tries again.
    public func removeAccount(_ id: AccountID, waitMax: Duration? = nil) async throws {
        try await work { workspace in
            let wait = waitMax ?? ExclusiveWork.leaveWaitMax
            let deadline = Deadline(after: wait, from: workspace.clock.now())
            try workspace.membership.underSwitch(until: deadline) {
                try workspace.remove(id, until: deadline)
            }
        }
    }

    /// Longer than the locks of a process take to be free that was killed just now.
    static let deathWaitMax = Duration.milliseconds(500)

    private func remove(_ id: AccountID, until deadline: Deadline) throws {
        // One that cannot be finished because of this account goes with it.
        try? finishIntent(deadline: deadline)
        _ = try registry.record(of: id)
        let attachment = try attach(id)
        let work = ExclusiveWork(workspace: self, attachment: attachment, deadline: deadline)
        // The settings first, as everywhere.
        try work.run(proving: [.settings, .messages], toleratingDamage: true) { _ in
            try attachment.writeCharter(try registry.record(of: id), isRemoving: true)
            try erase(try registry.use { try $0.beginRemoval(of: id) })
        }
        for session in sessions(of: id) { session.end(LockkeeperError.accountRemoved(id)) }
    }

    /// Completes what another process began and did not end. Where SWITCH does not become free that
    /// process is still at it, and nobody waits for the end.
    func finishPendingRemovals() throws {
        guard try !registry.use({ try $0.removals() }).isEmpty else { return }
        let soon = Deadline(after: Self.deathWaitMax, from: clock.now())
        try membership.underSwitch(until: soon) {
            try finishRemovals(
                until: Deadline(after: ExclusiveWork.leaveWaitMax, from: clock.now())
            )
        }
    }

    /// The same for who holds SWITCH.
    ///
    /// - Parameter account: leaves the removals of other accounts to others.
    func finishRemovals(until deadline: Deadline, of account: AccountID? = nil) throws {
        for removal in try registry.use({ try $0.removals() }) {
            if let account, removal.id != account { continue }
            let paths = paths.account(directory: removal.directory)
            guard try FileSystem.status(paths.directory) != nil else {
                try registry.use { try $0.completeRemoval(of: removal.id) }
                continue
            }
            let locks = try LockFileMembership(path: paths.locks, process: process, clock: clock)
            try locks.setActivity(.excluding)
            // Whoever came back meanwhile has found the account removed, and opens nothing.
            try ExclusiveWork.behindTheDoor(locks, until: deadline) { try erase(removal) }
        }
    }

    /// Removes the account's files and forgets the removal. The caller has the account to itself.
    private func erase(_ removal: PendingRemoval) throws {
        let paths = paths.account(directory: removal.directory)
        // The charter last: a registry that is made anew meanwhile learns of the removal from it.
        let kept = [paths.locks, paths.charter]
        for name in try FileSystem.list(paths.directory).sorted() {
            let path = "\(paths.directory)/\(name)"
            if kept.contains(path) { continue }
            if try FileSystem.status(path, followingLinks: false)?.kind == .directory {
                try FileSystem.removeTree(path)
            } else {
                try FileSystem.remove(path)
            }
        }
        try FileSystem.syncDirectory(paths.directory)
        try FileSystem.remove(paths.charter)
        try FileSystem.syncDirectory(paths.directory)
        try registry.use { try $0.completeRemoval(of: removal.id) }
    }
}
