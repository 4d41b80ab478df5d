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
        case let error as SQLiteError: map(error, subject: subject)
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
                remedy: "Try again; if the holder is stopped, continue or end it.",
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
        case .sqlite(let error): return map(error, subject: subject)
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
        case .fileReplaced(let path):
            return LockkeeperError(
                .fileReplaced,
                subject: path,
                explanation: "the file was replaced or removed while it was in use",
                answer: .reopen,
                remedy: "Open the account again; never move or replace database files.",
                cause: error
            )
        case .unknownAccount(let account): return LockkeeperError.unknownAccount(account)
        case .accountExists(let account): return LockkeeperError.accountExists(account)
        case .accountNotActive(let account): return LockkeeperError.accountInactive(account)
        case .fileExists, .notAStore, .fenceMissing, .wrongAccount, .malformedCommit,
            .malformedRegistry, .logDamaged:
            return LockkeeperError(
                .damaged,
                subject: subject,
                explanation: error.description,
                answer: .recover,
                remedy: "Nothing was changed. Inspect it with 'lockkeeper check'.",
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

    private static func map(_ error: SQLiteError, subject: String) -> any Error {
        if .interrupt ~= error.code { return CancellationError() }
        let (code, answer, remedy): (LockkeeperError.Code, LockkeeperError.Answer, String) =
            switch error.code {
            case .busy, .locked, .protocolError:
                (
                    .busy, .retry,
                    "A program that does not use Lockkeeper, or a process that is stopped, holds the database;"
                        + " 'lockkeeper status' names who is stopped. End it or try again."
                )
            case .full: (.diskFull, .fixEnvironment, "Free space, then try again.")
            case .ioError:
                (
                    .ioFailed, .recover,
                    "Look at the disk; what was not acknowledged may be lost."
                )
            case .corrupt, .notADatabase:
                (.damaged, .recover, "Nothing was changed. Inspect it with 'lockkeeper check'.")
            case .cannotOpen, .readOnly:
                (
                    .permissionDenied, .fixEnvironment,
                    "Look whether the file is there, and at its owner and mode."
                )
            default: (.statement, .fixProgram, "Correct the statement.")
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

    private static func map(_ error: SystemCallError, subject: String) -> any Error {
        let (code, answer, remedy): (LockkeeperError.Code, LockkeeperError.Answer, String) =
            switch error.errno {
            case .permissionDenied, .notPermitted, .readOnlyFileSystem:
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
        default: false
        }
    }
}
