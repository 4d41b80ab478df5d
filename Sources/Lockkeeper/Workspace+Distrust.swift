import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

/// The way out of distrust (5.2): what can be read is copied into new files, which are synced through
/// descriptors of their own and inspected before they are published.
extension Workspace {
    /// Copies the files of an account of which a sync has failed; returns at once where none has.
    /// Sessions of the account are superseded by it, of every process.
    ///
    /// - Throws: ``LockkeeperError``: `busy` when somebody did not leave in time, `ioFailed` and
    ///   `diskFull` when the disk does not take the copy, `damaged` when what can be read is no sound
    ///   store. The account stays as it was.
    func replaceDistrustedFiles(of account: AccountID) throws {
        guard try isDistrusted(account) else { return }
        let deadline = deadlineOfOpening()
        try membership.underSwitch(until: deadline) {
            try replaceDistrustedFiles(of: account, until: deadline)
        }
    }

    /// The same for who holds SWITCH.
    func replaceDistrustedFiles(of account: AccountID, until deadline: Deadline) throws {
        // Another process may have been faster.
        guard try isDistrusted(account) else { return }
        let attachment = try attach(account)
        let work = ExclusiveWork(workspace: self, attachment: attachment, deadline: deadline)
        let generation = try work.run(proving: StoreKind.allCases) { connections in
            // Both files are copied, whichever is distrusted, so that both have the new generation.
            try publishCopies(of: connections, attachment, deadline: deadline)
        }
        announce(
            FencingToken(account: account, generation: generation),
            try registry.record(of: account).state
        )
    }

    private func isDistrusted(_ account: AccountID) throws -> Bool {
        let record = try registry.record(of: account)
        let notices = try attach(account).membership.notices()
        return StoreKind.allCases.contains { kind in
            guard let word = notices.distrust(of: kind.distrusted) else { return false }
            let number = record.fileNumber(of: kind)
            return word.covers(fileNumber: UInt64(number), bootID: environment.bootID)
        }
    }
}
