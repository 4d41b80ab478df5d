import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

/// Whether what is committed to one database file can be said to be on the disk (5.2).
///
/// A sync that failed may have lost whatever was written before it, and the next one says nothing of
/// that: Linux tells a failure once, and counts the pages as written. So the first who is told sets
/// the account's distrust word before anything else, and everybody looks at it before each write and
/// checkpoint and after each sync. While it is set nothing of this file is acknowledged by anyone,
/// until its contents were copied into another one.
final class FileTrust: Sendable {
    let path: String
    let number: Int64
    let kind: StoreKind
    private let account: AccountID
    private let membership: LockFileMembership
    private let bootID: BootID
    /// The first failure that this process met. It counts where the word could not be written.
    private let failure = Mutex<(any Error)?>(nil)

    init(
        path: String,
        number: Int64,
        kind: StoreKind,
        attachment: AccountAttachment,
        bootID: BootID
    ) {
        self.path = path
        self.number = number
        self.kind = kind
        account = attachment.account
        membership = attachment.membership
        self.bootID = bootID
    }

    /// Makes sure that no sync of the file has failed. One system call.
    ///
    /// - Returns: what else others have left in the lock file.
    /// - Throws: ``LockkeeperError`` with the code `ioFailed`.
    @discardableResult
    func check() throws -> Notices {
        if let failure = failure.withLock({ $0 }) {
            throw LockkeeperError.distrusted(account, path: path, cause: failure)
        }
        let notices = try membership.notices()
        let word = notices.distrust(of: kind.distrusted)
        if let word, word.covers(fileNumber: UInt64(number), bootID: bootID) {
            throw LockkeeperError.distrusted(account, path: path, cause: nil)
        }
        return notices
    }

    /// Runs something that syncs the file or its log, and looks at what came of it before anybody
    /// may take it for done.
    ///
    /// - Throws: what the closure throws; ``LockkeeperError`` with the code `ioFailed` where
    ///   somebody's sync had failed before.
    func syncing<Value>(_ body: () throws -> Value) throws -> Value {
        let value = try membership.whileSyncing {
            do {
                return try body()
            } catch {
                if Self.isFailedSync(error) { distrust(because: error) }
                throw error
            }
        }
        try check()
        return value
    }

    /// Says for everybody that the file is not to be trusted.
    func distrust(because error: any Error) {
        // Whatever becomes of the word, this process acknowledges nothing any more.
        failure.withLock { if $0 == nil { $0 = error } }
        try? membership.setDistrust(
            Distrust(bootID: bootID, fileNumber: UInt64(number)),
            of: kind.distrusted
        )
    }

    private static func isFailedSync(_ error: any Error) -> Bool {
        switch error {
        case let error as SQLiteError: error.isFailedSync
        case StorageError.sqlite(let error): error.isFailedSync
        default: false
        }
    }
}

extension StoreKind {
    /// The word that speaks of files of this kind.
    var distrusted: DistrustedFile {
        switch self {
        case .messages: .messages
        case .settings: .settings
        }
    }
}
