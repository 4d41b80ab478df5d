import LockkeeperDomain
import LockkeeperIngest
import LockkeeperLocking
import LockkeeperNotifier
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Testing

@testable import Lockkeeper

@Suite("Every room's error becomes one public error with an answer and a remedy")
struct ErrorMappingTests {
    private static let subject = "account alice"

    @Test("errors of locking", arguments: lockingErrors)
    func locking(error: LockingError, code: LockkeeperError.Code) { expect(error, code) }

    @Test("errors of storage", arguments: storageErrors)
    func storage(error: StorageError, code: LockkeeperError.Code) { expect(error, code) }

    @Test("errors of SQLite", arguments: sqliteErrors)
    func sqlite(code: ResultCode, expected: LockkeeperError.Code) {
        let error = SQLiteError(code: code, message: "said so", operation: .step)
        expect(error, expected)
        expect(StorageError.sqlite(error), expected)
    }

    @Test(
        "a file that cannot be opened is only called mounted read-only where the kernel says so",
        arguments: [
            (Errno.readOnlyFileSystem, true), (.permissionDenied, false), (.isDirectory, false),
        ]
    )
    func cannotOpen(errno: Errno, isReadOnly: Bool) throws {
        let error = SQLiteError(
            code: .cannotOpen,
            message: "unable to open",
            operation: .open,
            systemError: errno.rawValue
        )
        let mapped = ErrorMapping.map(error, subject: Self.subject) as? LockkeeperError
        #expect(mapped?.code == .permissionDenied)
        #expect(mapped?.remedy.contains("mounted read-only") == isReadOnly)
    }

    @Test("errors of system calls", arguments: systemErrors)
    func system(errno: Errno, expected: LockkeeperError.Code) {
        let error = SystemCallError(call: .open, errno: errno, path: "/x")
        expect(error, expected)
        expect(LockingError.system(error), expected)
        expect(StorageError.system(error), expected)
        expect(NotifierError.system(error), expected)
        #expect(
            (ErrorMapping.map(error, subject: Self.subject) as? LockkeeperError)?.subject == "/x"
        )
    }

    @Test("errors of the queue, and of what was closed")
    func others() {
        expect(IngestError.elementTooLarge(eventCount: 1, byteCount: 9), .invalidInput)
        expect(IngestError.finished, .invalidInput)
        expect(IngestError.closed(StorageError.fileReplaced(path: "/x")), .fileReplaced)
        expect(NotifierError.invalidLine(reason: "x"), .ioFailed)
        expect(ReaderPool.Closed(), .closed)
        expect(LogSyncer.Closed(), .closed)
    }

    @Test("a cancelled wait is the language's own cancellation, wherever it was noticed")
    func cancellation() {
        let errors: [any Error] = [
            LockingError.cancelled, StorageError.cancelled, IngestError.cancelled,
            SQLiteError(code: .interrupt, message: "", operation: .step),
        ]
        for error in errors {
            #expect(ErrorMapping.map(error, subject: Self.subject) is CancellationError)
        }
    }

    @Test(
        "an error of the app's own passes unchanged, and a refused statement is the app's to mend"
    )
    func apps() {
        struct Mine: Error {}
        #expect(ErrorMapping.map(Mine(), subject: Self.subject) is Mine)
        for code in [ResultCode.constraintUnique, .error, .tooBig, .authorization] {
            let error = #expect(throws: LockkeeperError.self) {
                try ErrorMapping.statement {
                    throw SQLiteError(code: code, message: "no", operation: .step)
                }
            }
            #expect(error?.code == .statement && error?.answer == .fixProgram)
        }
        // A busy store is not the statement's fault.
        #expect(throws: SQLiteError.self) {
            try ErrorMapping.statement {
                throw SQLiteError(code: .busy, message: "", operation: .step)
            }
        }
    }

    /// Expects the code, and that people are told what happened and what to do in sentences.
    private func expect(_ error: any Error, _ code: LockkeeperError.Code) {
        let mapped = ErrorMapping.map(error, subject: Self.subject) as? LockkeeperError
        #expect(mapped?.code == code, "\(error)")
        #expect(mapped?.subject.isEmpty == false && mapped?.explanation.isEmpty == false)
        #expect(mapped?.remedy.hasSuffix(".") == true, "\(error): \(mapped?.remedy ?? "")")
        // People are told in sentences; the code stands in the cause.
        let text = mapped?.description ?? ""
        #expect(!text.contains("SQLITE_") && !text.contains("Error("), "\(text)")
    }

    // MARK: - One of each

    private static let lockingErrors: [(LockingError, LockkeeperError.Code)] = [
        (.busy(.writer, holders: [], waited: .seconds(5)), .busy),
        (.closed, .closed),
        (.lineFull(waiterCountMax: 9), .busy),
        (.tooManyProcesses(path: "/x", processCountMax: 9), .tooManyProcesses),
        (.lockFileReplaced(path: "/x"), .fileReplaced),
        (.lockFileVersion(path: "/x", version: 9), .newerSchema),
    ]

    private static let token = FencingToken(account: "alice", generation: Generation(3))

    private static let storageErrors: [(StorageError, LockkeeperError.Code)] = [
        (.fileExists(path: "/x"), .damaged),
        (.fileMissing(path: "/x"), .fileMissing),
        (.notAStore(path: "/x", reason: "empty"), .damaged),
        (.fenceMissing(path: "/x"), .damaged),
        (.wrongAccount(path: "/x", expected: "alice", found: "bob"), .damaged),
        (.newerSchema(owner: "messages", name: "9"), .newerSchema),
        (.migrationChanged(owner: "messages", name: "9"), .newerSchema),
        (.superseded(held: token, current: Generation(4), state: .active), .superseded),
        (.superseded(held: token, current: Generation(4), state: .retired), .superseded),
        (.fenceWouldFall(from: Generation(4), to: Generation(3)), .busy),
        (.fileReplaced(path: "/x"), .fileReplaced),
        (.malformedCommit(CommitNumber(7)), .damaged),
        (.unknownAccount("alice"), .unknownAccount),
        (.accountExists("alice"), .accountExists),
        (.accountNotActive("alice"), .accountInactive),
        (.intentPending(SwitchIntent(retiring: token, activating: nil, step: .retiring)), .busy),
        (.intentChanged, .busy),
        (.malformedRegistry(reason: "x"), .damaged),
    ]

    private static let sqliteErrors: [(ResultCode, LockkeeperError.Code)] = [
        (.busy, .busy), (.busySnapshot, .busy), (.busyRecovery, .busy), (.busyTimeout, .busy),
        (.locked, .statement), (.lockedSharedCache, .busy), (.protocolError, .busy),
        (.full, .diskFull),
        (.ioError, .ioFailed), (.ioErrorSync, .ioFailed), (.corrupt, .damaged),
        (.notADatabase, .damaged), (.cannotOpen, .permissionDenied),
        (.readOnly, .permissionDenied), (.constraint, .statement), (.misuse, .statement),
    ]

    private static let systemErrors: [(Errno, LockkeeperError.Code)] = [
        (.permissionDenied, .permissionDenied), (.notPermitted, .permissionDenied),
        (.readOnlyFileSystem, .permissionDenied), (.noSpace, .diskFull),
        (.quotaExceeded, .diskFull), (.notDirectory, .invalidInput),
        (.noSuchFile, .invalidInput), (.nameTooLong, .invalidInput),
        (.symbolicLink, .invalidInput), (.tooManyOpenFiles, .ioFailed),
        (.inputOutput, .ioFailed),
    ]
}
