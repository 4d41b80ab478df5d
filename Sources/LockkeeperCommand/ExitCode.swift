import Lockkeeper

/// How the program ends, for scripts. The numbers are those of `sysexits.h` where it has one.
enum ExitCode: Int32, Sendable, CaseIterable {
    /// Done.
    case success = 0
    /// The check found something, or the demo lost something.
    case found = 1
    /// The command line cannot be understood, or names what cannot be.
    case usage = 64
    /// Some lines of the input could not be read; all others were stored.
    case unreadableLines = 65
    /// There is no such account, or no more.
    case unknownAccount = 67
    /// It cannot be done as things stand: maintenance, an inactive account, a newer schema, a file that
    /// this program cannot decrypt.
    case unavailable = 69
    /// The program is wrong.
    case internalFault = 70
    /// What should be made cannot be.
    case cannotCreate = 73
    /// Reading or writing failed, or the disk is full.
    case inputOutput = 74
    /// Busy, or a cursor still waits for an earlier page: try again.
    case tryAgain = 75
    /// The session's generation is no longer the account's.
    case superseded = 76
    /// The operating system refuses access, or the key is missing.
    case permission = 77
    /// Somebody pressed ^C; what was done until then is whole.
    case interrupted = 130

    /// What it means, in a few words for the help.
    var summary: String {
        switch self {
        case .success: "done"
        case .found: "the check found something"
        case .usage: "usage"
        case .unreadableLines: "lines that cannot be read"
        case .unknownAccount: "unknown account"
        case .unavailable: "unavailable"
        case .internalFault: "a fault of the program"
        case .cannotCreate: "cannot create"
        case .inputOutput: "input or output"
        case .tryAgain: "try again"
        case .superseded: "superseded"
        case .permission: "permission"
        case .interrupted: "interrupted"
        }
    }

    /// The exit code of an error: the one place where codes become numbers.
    init(_ code: LockkeeperError.Code) {
        self =
            switch code {
            case .notFound: .found
            case .invalidInput, .contract, .wrongType: .usage
            case .unknownAccount, .accountRemoved: .unknownAccount
            case .accountInactive, .hostRunning, .newerSchema, .migrationFailed, .unavailable,
                .encrypted, .notEncrypted, .keyNeeded:
                .unavailable
            case .accountExists, .exists, .unsupportedFileSystem: .cannotCreate
            case .diskFull, .ioFailed, .damaged, .fileMissing: .inputOutput
            case .busy, .tooManyProcesses, .gap, .resync, .fileReplaced, .suspended, .inboxFull,
                .outboxFull, .quarantineFull, .locked, .keyLocked:
                .tryAgain
            case .superseded: .superseded
            case .permissionDenied, .keyMissing, .wrongKey: .permission
            case .statement, .closed: .internalFault
            }
    }
}
