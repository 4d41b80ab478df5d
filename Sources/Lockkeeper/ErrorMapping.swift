import LockkeeperDomain
import LockkeeperIngest
import LockkeeperLocking
import LockkeeperNotifier
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// Makes one public error of the rooms' errors. What is no error of a room passes unchanged.
enum ErrorMapping {
    /// Runs a closure and maps what it throws.
    static func mapped<Value>(_ subject: String, _ body: () throws -> Value) throws -> Value {
        do { return try body() } catch { throw map(error, subject: subject) }
    }

    /// Runs a statement of the app's. What SQLite refuses is the app's error; a busy or broken
    /// store is not.
    static func statement<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as SQLiteError where isOfTheStatement(error.code) {
            throw LockkeeperError(
                .statement,
                subject: "statement",
                explanation: error.description,
                answer: .fixProgram,
                remedy: "Correct the statement.",
                cause: error
            )
        }
    }

    static func map(_ error: any Error, subject: String) -> any Error {
        switch error {
        case let error as LockingError: map(error, subject: subject)
        case let error as StorageError: map(error, subject: subject)
        case let error as BusyDatabase:
            map(error.cause, subject: subject, holders: error.holders)
        case let error as SQLiteError: map(error, subject: subject, holders: [])
        case let error as SystemCallError: map(error, subject: subject)
        case let error as NotifierError: map(error, subject: subject)
        case let error as IngestError: map(error, subject: subject)
        case is ReaderPool.Closed, is LogSyncer.Closed: LockkeeperError.closed(subject)
        default: error
        }
    }

    private static func map(_ error: LockingError, subject: String) -> any Error {
        switch error {
        case .busy(let lock, let holders, let waited):
            LockkeeperError(
                .busy,
                subject: subject,
                explanation: "\(lock.name) was not free for \(Int(waited.milliseconds)) ms",
                holders: holders.map(\.description),
                answer: .retry,
                // A process that was stopped finds its deadlines over when it goes on.
                remedy: holders.contains(where: \.isSelf)
                    ? "This process was stopped meanwhile, or an earlier write of its own takes long:"
                        + " try again."
                    : "Try again; if the holder is stopped, continue or end it.",
                cause: error
            )
        case .cancelled: CancellationError()
        case .closed: LockkeeperError.closed(subject)
        case .suspended:
            LockkeeperError(
                .suspended,
                subject: subject,
                explanation: error.description,
                answer: .retry,
                remedy: "Resume, then try again.",
                cause: error
            )
        case .forkedChild, .descriptorsOpen:
            LockkeeperError(
                .closed,
                subject: subject,
                explanation: error.description,
                answer: .fixProgram,
                remedy: "Open the workspace where it is used, and release it before it is left.",
                cause: error
            )
        case .lineFull:
            LockkeeperError(
                .busy,
                subject: subject,
                explanation: error.description,
                answer: .retry,
                remedy: "Let fewer writes wait at the same time.",
                cause: error
            )
        case .tooManyProcesses:
            LockkeeperError(
                .tooManyProcesses,
                subject: subject,
                explanation: error.description,
                answer: .fixEnvironment,
                remedy: "End processes that are not needed.",
                cause: error
            )
        case .lockFileReplaced(let path):
            LockkeeperError(
                .fileReplaced,
                subject: path,
                explanation: "the lock file was removed or replaced while it was in use",
                answer: .reopen,
                remedy: "End every process of the workspace, then open it again; never delete"
                    + " lock files.",
                cause: error
            )
        case .lockFileVersion(let path, _):
            LockkeeperError(
                .newerSchema,
                subject: path,
                explanation: error.description,
                answer: .reopen,
                remedy: "Update this program.",
                cause: error
            )
        case .system(let error): map(error, subject: subject)
        }
    }

    private static func map(_ error: StorageError, subject: String) -> any Error {
        switch error {
        case .sqlite(let error): return map(error, subject: subject, holders: [])
        case .system(let error): return map(error, subject: subject)
        case .cancelled: return CancellationError()
        case .superseded(let held, let current, let state):
            return LockkeeperError.superseded(
                held: held,
                current: current,
                state: state,
                cause: error
            )
        case .newerSchema:
            return LockkeeperError(
                .newerSchema,
                subject: subject,
                explanation: error.description,
                answer: .reopen,
                remedy: "Update this program; nothing was changed.",
                cause: error
            )
        case .migrationChanged:
            return LockkeeperError(
                .newerSchema,
                subject: subject,
                explanation: error.description,
                answer: .fixProgram,
                remedy: "A migration that was shipped is never changed; add another one.",
                cause: error
            )
        case .migrationFailed(_, _, let cause):
            return failedMigration(error, because: cause, subject: subject)
        case .fileReplaced(let path):
            return LockkeeperError(
                .fileReplaced,
                subject: path,
                explanation: "the file was replaced or removed while it was in use",
                answer: .reopen,
                remedy: "Open the account again; never move or replace database files.",
                cause: error
            )
        case .inboxFull(let path, _, _):
            return LockkeeperError(
                .inboxFull,
                subject: path,
                explanation: error.description,
                answer: .retry,
                remedy: "Activate the account, which applies what is kept, or look through"
                    + " 'lockkeeper inbox list'.",
                cause: error
            )
        case .packetTorn(let path, _):
            return LockkeeperError(
                .damaged,
                subject: path,
                explanation: error.description,
                answer: .askAgain,
                remedy: "Look at the disk, and ask the server again.",
                cause: error
            )
        case .packetNewer(let path, _):
            return LockkeeperError(
                .newerSchema,
                subject: path,
                explanation: error.description,
                answer: .reopen,
                remedy: "Update this program; the packet is left for it.",
                cause: error
            )
        case .encrypted, .notEncrypted, .keyMissing, .wrongKey, .sealingKeyMissing,
            .keyUnavailable:
            return keyError(error, subject: subject)
        case .unknownAccount(let account): return LockkeeperError.unknownAccount(account)
        case .accountExists(let account): return LockkeeperError.accountExists(account)
        case .accountNotActive(let account): return LockkeeperError.accountInactive(account)
        case .fileMissing(let path):
            return LockkeeperError(
                .fileMissing,
                subject: path,
                explanation: "the file is not there",
                answer: .recover,
                remedy:
                    "Nothing was changed. Put it back with its '-wal' file, or restore a backup. Where"
                    + " there is none, 'lockkeeper repair ACCOUNT --begin-anew --yes' makes an empty one"
                    + " in its place.",
                cause: error
            )
        case .wrongAccount(let path, _, _), .wrongDatabase(let path, _, _),
            .foreignDatabase(let path):
            return LockkeeperError(
                .damaged,
                subject: path,
                explanation: error.description,
                answer: .recover,
                remedy: "Nothing was changed. " + LockkeeperError.remedyForMisplacedFile("ACCOUNT"),
                cause: error
            )
        case .fileExists, .emptied, .notAStore, .fenceMissing, .malformedCommit,
            .malformedMigration, .malformedRegistry, .logDamaged, .logModeChanged:
            return LockkeeperError(
                .damaged,
                subject: subject,
                explanation: error.description,
                answer: .recover,
                remedy: remedyForDamage,
                cause: error
            )
        case .fenceWouldFall, .intentPending, .intentChanged:
            return LockkeeperError(
                .busy,
                subject: subject,
                explanation: error.description,
                answer: .retry,
                remedy: "Another process switched accounts at the same time; look, and try again.",
                cause: error
            )
        }
    }

    private static let remedyForReadOnlyDisk =
        "The file system is mounted read-only, and even reading takes locks in files of the workspace."
        + " Look at the system's log, mount it for writing, or copy the workspace to where it can be"
        + " written."
    private static let remedyForDamage =
        "Nothing was changed. Inspect it with 'lockkeeper check', and mend it with 'lockkeeper repair'."

    /// What is wrong with the key of a file. None of these is damage, and nothing was changed.
    private static func keyError(_ error: StorageError, subject: String) -> any Error {
        let (code, answer, remedy): (LockkeeperError.Code, LockkeeperError.Answer, String) =
            switch error {
            case .encrypted:
                (.encrypted, .fixEnvironment, "Use a program built with the trait Encryption.")
            case .notEncrypted:
                (.notEncrypted, .fixEnvironment, "Encrypt it with 'lockkeeper key change'.")
            case .keyMissing:
                (
                    .keyMissing, .fixEnvironment,
                    "Name the place where its key is kept, or put the key back; without it nothing of the"
                        + " file can be read."
                )
            case .wrongKey:
                (
                    .wrongKey, .fixEnvironment,
                    "Put the key back that the file names; it was left as it is."
                )
            case .sealingKeyMissing:
                (.keyLocked, .retry, "Open the account once with its keys, then try again.")
            case .keyUnavailable(_, let cause as LockkeeperError) where cause.code == .locked:
                (.keyLocked, .retry, "Try again once the person has unlocked the store of keys.")
            case .keyUnavailable(_, let cause as LockkeeperError) where cause.code == .damaged:
                (
                    .keyMissing, .fixEnvironment,
                    "Put the key back: the item that should hold it cannot be read. The file was left as it is."
                )
            default: (.permissionDenied, .fixEnvironment, "Look at the place where keys are kept.")
            }
        return LockkeeperError(
            code,
            subject: subject,
            explanation: error.description,
            answer: answer,
            remedy: remedy,
            cause: error
        )
    }

    /// A full disk and the like are no fault of the migration, and keep their codes.
    private static func failedMigration(
        _ error: StorageError,
        because cause: any Error,
        subject: String
    ) -> LockkeeperError {
        let inner = map(cause, subject: subject) as? LockkeeperError
        let outside: [LockkeeperError.Code] = [
            .busy, .diskFull, .ioFailed, .damaged, .permissionDenied,
        ]
        let isOutside = inner.map { outside.contains($0.code) } ?? false
        return LockkeeperError(
            isOutside ? inner?.code ?? .migrationFailed : .migrationFailed,
            subject: subject,
            explanation: error.description,
            answer: isOutside ? inner?.answer ?? .fixProgram : .fixProgram,
            remedy: isOutside
                ? inner?.remedy ?? ""
                : "The store is as it was before this step. Correct the step; it is tried again.",
            cause: error
        )
    }

    private static func map(
        _ error: SQLiteError,
        subject: String,
        holders: [String]
    ) -> any Error {
        if .interrupt ~= error.code { return CancellationError() }
        let (code, answer, remedy): (LockkeeperError.Code, LockkeeperError.Answer, String) =
            switch error.code {
            case let code where code.isOfOthers: (.busy, .retry, remedy(forBusy: code, holders))
            case .locked:
                (
                    .statement, .fixProgram,
                    "A statement of the same connection still reads what this one would change: let"
                        + " its rows end first."
                )
            case .full, .ioErrorIndexSize:
                (.diskFull, .fixEnvironment, "Free space, then try again.")
            case .cannotOpen where Errno(rawValue: error.systemError) == .tooManyOpenFiles:
                (.ioFailed, .fixEnvironment, "Raise the limit of open files, or close some.")
            case .ioError:
                (
                    .ioFailed, .recover,
                    "Look at the disk; what was not acknowledged may be lost."
                )
            case .corrupt, .notADatabase:
                (.damaged, .recover, remedyForDamage)
            case .cannotOpen where Errno(rawValue: error.systemError) == .readOnlyFileSystem,
                .readOnly where Errno(rawValue: error.systemError) == .readOnlyFileSystem:
                (.permissionDenied, .fixEnvironment, remedyForReadOnlyDisk)
            case .cannotOpen, .readOnly:
                (
                    .permissionDenied, .fixEnvironment,
                    "Look at the owner and mode of the file and of its folder."
                )
            case .error where error.message.hasPrefix("no such table: lk_"):
                (.damaged, .recover, remedyForDamage)
            default: (.statement, .fixProgram, "Correct the statement.")
            }
        return LockkeeperError(
            code,
            subject: subject,
            explanation: error.sentence,
            holders: holders,
            answer: answer,
            remedy: remedy,
            cause: error
        )
    }

    /// What to do about a lock of SQLite's that was not free before the deadline.
    private static func remedy(forBusy code: ResultCode, _ holders: [String]) -> String {
        switch code {
        case .busySnapshot:
            "Other programs committed again and again while the transaction ran, and it was begun"
                + " anew as often as may be: try again, or end programs that do not use Lockkeeper."
        case .busyRecovery:
            "Another process is building the log's index anew, or was stopped as it did: try again;"
                + " if it is stopped, continue or end it."
        case _ where !holders.isEmpty:
            "Try again; if the holder is stopped, continue or end it."
        default:
            "A program that does not use Lockkeeper, or a process that is stopped, holds the"
                + " database; 'lockkeeper status' names who is stopped. End it or try again."
        }
    }

    private static func map(_ error: SystemCallError, subject: String) -> any Error {
        let (code, answer, remedy): (LockkeeperError.Code, LockkeeperError.Answer, String) =
            switch error.errno {
            case .readOnlyFileSystem: (.permissionDenied, .fixEnvironment, remedyForReadOnlyDisk)
            case .permissionDenied, .notPermitted:
                (.permissionDenied, .fixEnvironment, "Look at the owner and mode of the path.")
            case .noSpace, .quotaExceeded:
                (.diskFull, .fixEnvironment, "Free space, then try again.")
            case .notDirectory, .noSuchFile, .nameTooLong, .symbolicLink:
                (.invalidInput, .fixEnvironment, "Look at the path.")
            case .tooManyOpenFiles:
                (.ioFailed, .fixEnvironment, "Raise the limit of open files, or close some.")
            default: (.ioFailed, .fixEnvironment, "Look at the disk and the system's log.")
            }
        return LockkeeperError(
            code,
            subject: error.path ?? subject,
            explanation: error.description,
            answer: answer,
            remedy: remedy,
            cause: error
        )
    }

    private static func map(_ error: NotifierError, subject: String) -> any Error {
        if case .system(let error) = error { return map(error, subject: subject) }
        return LockkeeperError(
            .ioFailed,
            subject: subject,
            explanation: error.description,
            answer: .fixEnvironment,
            remedy: "Look at what stands at the socket's path.",
            cause: error
        )
    }

    private static func map(_ error: IngestError, subject: String) -> any Error {
        switch error {
        case .closed(let reason): map(reason, subject: subject)
        case .cancelled: CancellationError()
        default:
            LockkeeperError(
                .invalidInput,
                subject: subject,
                explanation: error.description,
                answer: .fixProgram,
                remedy: "Offer smaller events, or fewer at a time.",
                cause: error
            )
        }
    }

    /// Whether an error says something about the statement rather than about the store.
    private static func isOfTheStatement(_ code: ResultCode) -> Bool {
        switch code {
        case .error, .constraint, .mismatch, .misuse, .range, .tooBig, .authorization: true
        // A statement of the closure's own is in the way.
        case .locked: !code.isOfOthers
        default: false
        }
    }
}
