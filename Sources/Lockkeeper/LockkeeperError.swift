/// The one error that Lockkeeper's products throw.
///
/// It says what happened, to what, why, and what to do. It never contains message text. The error
/// of the room in which it began is its ``cause``.
public struct LockkeeperError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, for programs. The raw value is stable and stands in `--json` output.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The write was not admitted before its deadline; ``holders`` says who was inside.
        case busy
        /// The session's generation is no longer the account's current one (I-2, I-13).
        case superseded
        /// No account of this id was added to the workspace.
        case unknownAccount
        /// The account was signed out of, or never activated.
        case accountInactive
        /// The account was removed from the workspace while this process had it open.
        case accountRemoved
        /// An account of this id exists already.
        case accountExists
        /// Another host serves this workspace.
        case hostRunning
        /// More processes have the account open than there are record slots.
        case tooManyProcesses
        /// The page does not start at the stream's cursor and was refused whole (M-12).
        case gap
        /// The position is not one of this store any more: read a snapshot and start from its head.
        case resync
        /// An argument cannot be used: an id, a path, an event.
        case invalidInput
        /// There is no such thing in the account's other state: a secret, a document, a file.
        case notFound
        /// There is such a thing already.
        case exists
        /// It cannot be read now, because its store is locked, and may be later.
        case locked
        /// A service outside of this program is not there.
        case unavailable
        /// What is stored is of another type than what was asked for.
        case wrongType
        /// A setting contradicts the server contract that is stored with the account (R-1).
        case contract
        /// As many packets are kept for the account as may be; this one was not.
        case inboxFull
        /// As many items wait in the account's outbox as may; this one was not put in.
        case outboxFull
        /// As much was put aside as may be; what could not be merged was refused with its batch.
        case quarantineFull
        /// The disk is full; nothing was written.
        case diskFull
        /// Reading, writing or syncing failed; what was not acknowledged may be lost.
        case ioFailed
        /// The operating system refuses access.
        case permissionDenied
        /// A path lies on a file system that cannot carry the store.
        case unsupportedFileSystem
        /// The store was written by a newer program; nothing was changed (I-14).
        case newerSchema
        /// A migration cannot be applied; the schema is as it was before it (I-14).
        case migrationFailed
        /// A file is damaged or is not a store.
        case damaged
        /// A database file of the account is not there.
        case fileMissing
        /// A file is encrypted, or is to be, and this program was built without encryption.
        case encrypted
        /// A file is plain where the program wants files encrypted.
        case notEncrypted
        /// A file is encrypted and there is no key for its account. Nothing is damaged.
        case keyMissing
        /// A file is encrypted and the keys of its account are others. Nothing is damaged.
        case wrongKey
        /// A file's key cannot be read now, because its store is locked, and may be later.
        case keyLocked
        /// A key was not removed, because files need it, or may: the sentence names them.
        case keyNeeded
        /// A file was replaced or removed behind the program's back.
        case fileReplaced
        /// The app's closure asked SQLite for something that it refuses.
        case statement
        /// The session, feed or workspace was closed.
        case closed
        /// The process has suspended its use of the account and not resumed it (B10).
        case suspended
    }

    /// What to do about it, for programs.
    public enum Answer: String, Sendable, Hashable, CaseIterable {
        /// Try the same again, later.
        case retry
        /// Ask the server again from the cursor that the store states.
        case askAgain
        /// Take a new session of the account.
        case newSession
        /// Close and open again; perhaps with a newer program.
        case reopen
        /// Inspect, then recover.
        case recover
        /// A person must change something outside: space, permissions, paths.
        case fixEnvironment
        /// The program is wrong.
        case fixProgram
    }

    /// What went wrong.
    public let code: Code
    /// What it happened to: an account, a path, a stream.
    public let subject: String
    /// What happened, as a sentence without message text.
    public let explanation: String
    /// Who holds what was waited for, one sentence each.
    public let holders: [String]
    /// What to do, for programs.
    public let answer: Answer
    /// What to do, as a sentence.
    public let remedy: String
    /// The error of the room in which this began.
    public let cause: (any Error)?

    package init(
        _ code: Code,
        subject: String,
        explanation: String,
        holders: [String] = [],
        answer: Answer,
        remedy: String,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.subject = subject
        self.explanation = explanation
        self.holders = holders
        self.answer = answer
        self.remedy = remedy
        self.cause = cause
    }

    /// One sentence each: what happened to what, who holds it, what to do.
    public var description: String {
        var text = "\(subject): \(explanation)"
        if !holders.isEmpty { text += " (held by \(holders.joined(separator: "; ")))" }
        return text + ". " + remedy
    }
}
