package import LockkeeperDomain
package import LockkeeperPlatform
package import LockkeeperSQLite

/// What can go wrong with an account's database files.
package enum StorageError: Error, Sendable, CustomStringConvertible {
    // MARK: Opening

    /// Thrown when SQLite fails in a way that has no case of its own.
    case sqlite(SQLiteError)
    /// Thrown when the kernel refuses something about a file.
    case system(SystemCallError)
    /// Thrown when a new store would take the place of a file.
    case fileExists(path: String)
    /// Thrown when the file that is to be opened is not there.
    case fileMissing(path: String)
    /// Thrown when a database file has no bytes. SQLite would take it for an empty one, and remove the
    /// log, in which much of what it held may stand.
    case emptied(path: String)
    /// Thrown when a file is no database, or is none of ours; `reason` is the rest of a sentence.
    case notAStore(path: String, reason: String)
    /// Thrown when a store has no fence row, or one that makes no sense.
    case fenceMissing(path: String)
    /// Thrown when a store is another account's than the one it is opened for (I-13).
    case wrongAccount(path: String, expected: AccountID, found: AccountID)
    /// Thrown when a store is the other database of its account.
    case wrongDatabase(path: String, expected: StoreKind, found: StoreKind)
    /// Thrown when a database has tables, and none of ours.
    case foreignDatabase(path: String)

    /// Thrown when another program has changed a store's journal mode. Nothing is damaged: who opens it
    /// for writing turns the log on again.
    case logModeChanged(path: String, mode: String)
    /// Thrown when a log's checksums do not lead to what its index calls the last commit: pages of
    /// it are lost.
    case logDamaged(path: String)

    // MARK: Keys

    /// Thrown when a file is encrypted and this program was built without encryption.
    case encrypted(path: String)
    /// Thrown when a file is plain where files have to be encrypted.
    case notEncrypted(path: String)
    /// Thrown when there is no key for the account of an encrypted file. Nothing is damaged.
    case keyMissing(path: String, key: String)
    /// Thrown when there are keys for the account and none of them is the file's. Nothing is damaged.
    case wrongKey(path: String, key: String)
    /// Thrown when a file of an account that has to be encrypted cannot be, because the account was never
    /// opened with its keys. Nothing was written.
    case sealingKeyMissing(path: String)
    /// Thrown when it cannot be known now whether there is a key: its store is locked, or refuses.
    case keyUnavailable(path: String, cause: any Error)

    // MARK: Migrating

    /// Thrown when a store holds a migration that this program does not know: the store is newer.
    case newerSchema(owner: String, name: String)
    /// Thrown when a migration that was applied had another text then.
    case migrationChanged(owner: String, name: String)
    /// Thrown when a line of a store's list of migrations is none that any program can have written.
    case malformedMigration
    /// Thrown when a step cannot be applied. The schema is as it was before it.
    case migrationFailed(owner: String, name: String, cause: any Error)

    // MARK: Writing and reading

    /// Thrown when the token that a transaction carries is not the account's current one (I-2).
    case superseded(held: FencingToken, current: Generation, state: AccountState)
    /// Thrown when a fence would have to go down.
    case fenceWouldFall(from: Generation, to: Generation)
    /// Thrown when the caller cancelled before the commit began.
    case cancelled
    /// Thrown after a commit when the file that was written no longer stands at its path. What was
    /// committed is in a file that nobody else will open.
    case fileReplaced(path: String)
    /// Thrown when a row of the commit log cannot be read.
    case malformedCommit(CommitNumber)

    // MARK: The inbox

    /// Thrown when as much is kept for an account as may be. Nothing was kept.
    case inboxFull(path: String, packetCount: Int, byteCount: Int64)
    /// Thrown when a packet's file is not what was written; `reason` is the rest of a sentence.
    case packetTorn(path: String, reason: String)
    /// Thrown when a newer program kept a packet. It is left for a newer program.
    case packetNewer(path: String, version: Int)

    // MARK: The registry

    /// Thrown when the registry has no account of an id.
    case unknownAccount(AccountID)
    /// Thrown when an account is added that is there already.
    case accountExists(AccountID)
    /// Thrown when an account is not in the state that a switch needs.
    case accountNotActive(AccountID)
    /// Thrown when something would be begun before an earlier intent was completed.
    case intentPending(SwitchIntent)
    /// Thrown when the intent that would be completed or changed is not the one that is there.
    case intentChanged
    /// Thrown when a row of the registry cannot be read.
    case malformedRegistry(reason: String)

    /// Whether the file is damaged or no store.
    package var isDamage: Bool {
        switch self {
        case .emptied, .notAStore, .fenceMissing, .wrongAccount, .wrongDatabase, .foreignDatabase,
            .logDamaged, .malformedMigration:
            true
        case .sqlite(let error):
            [.notADatabase, .corrupt].contains { $0 ~= error.code } || error.code.isUnreadable
        case .migrationFailed(_, _, let cause):
            switch cause {
            case let error as StorageError: error.isDamage
            case let error as SQLiteError: StorageError.sqlite(error).isDamage
            default: false
            }
        default: false
        }
    }

    /// Whether a sound file lies where it does not belong: nothing is read of it, and nothing done to it.
    package var isMisplaced: Bool {
        switch self {
        case .wrongAccount, .wrongDatabase, .foreignDatabase: true
        default: false
        }
    }

    /// Whether a file cannot be read, or must not be used, because of its key. Nothing is damaged then.
    package var isOfTheKey: Bool {
        switch self {
        case .encrypted, .notEncrypted, .keyMissing, .wrongKey, .sealingKeyMissing, .keyUnavailable:
            true
        default: false
        }
    }

    /// Whether the registry is not there or cannot be used, so that it is to be made anew of what the
    /// accounts' own files say.
    package var isLossOfRegistry: Bool {
        if case .malformedRegistry = self { true } else { isLoss }
    }

    /// Whether the file is missing, damaged or no store.
    package var isLoss: Bool { if case .fileMissing = self { true } else { isDamage } }

    /// Whether another program held the database's lock until the deadline.
    package var isBusy: Bool {
        if case .sqlite(let error) = self { ResultCode.busy ~= error.code } else { false }
    }

    /// The problem as a sentence.
    package var description: String {
        switch self {
        case .sqlite(let error): error.description
        case .system(let error): error.description
        case .fileExists(let path): "\(path) exists already"
        case .fileMissing(let path): "\(path) is not there"
        case .emptied(let path):
            "\(path) has no bytes any more; what stands in its log can be saved"
        case .notAStore(let path, let reason): "\(path) is no store: \(reason)"
        case .fenceMissing(let path): "\(path) does not say who may write it"
        case .wrongAccount(let path, let expected, let found):
            "\(path) belongs to account \(found), not \(expected)"
        case .wrongDatabase(let path, let expected, let found):
            "\(path) is the account's database of \(found.rawValue), not of \(expected.rawValue)"
        case .foreignDatabase(let path): "\(path) is the database of another program"
        case .logModeChanged(let path, let mode): "the journal mode of \(path) is \(mode), not wal"
        case .logDamaged(let path): "pages of the log of \(path) are lost"
        case .encrypted(let path):
            "\(path) is encrypted, and this program was built without encryption"
        case .notEncrypted(let path): "\(path) is not encrypted, and has to be"
        case .keyMissing(let path, let key):
            "\(path) is encrypted with the key \(key), and there is no key for its account"
        case .wrongKey(let path, let key):
            "\(path) is encrypted with the key \(key), and the keys of its account are others"
        case .sealingKeyMissing(let path): "\(path), with which files are encrypted, is not there"
        case .keyUnavailable(let path, let cause): "the key of \(path) cannot be had: \(cause)"
        case .newerSchema(let owner, let name):
            "the store is newer than this program: it has migration \(name) of \(owner)"
        case .migrationChanged(let owner, let name):
            "migration \(name) of \(owner) had another text when it was applied"
        case .malformedMigration: "the list of the store's migrations cannot be read"
        case .migrationFailed(let owner, let name, let cause):
            "migration \(name) of \(owner) cannot be applied:"
                + " \((cause as? SQLiteError)?.sentence ?? String(describing: cause))"
        case .superseded(let held, let current, let state):
            "\(held) was superseded: the account is \(state.rawValue) at generation \(current)"
        case .fenceWouldFall(let from, let to): "the fence stands at \(from) and cannot go to \(to)"
        case .cancelled: "cancelled before the commit began"
        case .fileReplaced(let path): "\(path) was replaced while it was open"
        case .malformedCommit(let number): "row \(number) of the commit log cannot be read"
        case .inboxFull(let path, let packetCount, let byteCount):
            "\(path) holds \(packetCount) packets with \(byteCount) bytes and takes no more"
        case .packetTorn(let path, let reason): "\(path) is no whole packet: \(reason)"
        case .packetNewer(let path, let version):
            "\(path) has layout \(version), which this program does not know"
        case .unknownAccount(let account): "there is no account \(account)"
        case .accountExists(let account): "there is an account \(account) already"
        case .accountNotActive(let account): "account \(account) is not active"
        case .intentPending(let intent): "an earlier change is not complete: \(intent)"
        case .intentChanged: "the change was completed or taken back by somebody else"
        case .malformedRegistry(let reason): "the registry cannot be read: \(reason)"
        }
    }
}

/// Runs what throws SQLite's errors where Storage's are thrown.
func sqlite<Result>(
    _ body: () throws(SQLiteError) -> Result
) throws(StorageError) -> Result {
    do {
        return try body()
    } catch {
        throw .sqlite(error)
    }
}

/// Runs what throws the kernel's errors where Storage's are thrown.
func system<Result>(
    _ body: () throws(SystemCallError) -> Result
) throws(StorageError) -> Result {
    do {
        return try body()
    } catch {
        throw .system(error)
    }
}
