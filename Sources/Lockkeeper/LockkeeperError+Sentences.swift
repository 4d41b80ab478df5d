import LockkeeperDomain

extension LockkeeperError {
    static func unknownAccount(_ account: AccountID) -> LockkeeperError {
        LockkeeperError(
            .unknownAccount,
            subject: "account \(account)",
            explanation: "there is no such account in this workspace",
            answer: .fixEnvironment,
            remedy: "Add it with 'lockkeeper account add', or look at 'lockkeeper account list'."
        )
    }

    static func accountInactive(_ account: AccountID) -> LockkeeperError {
        LockkeeperError(
            .accountInactive,
            subject: "account \(account)",
            explanation: "the account is not active",
            answer: .fixEnvironment,
            remedy: "Activate it with 'lockkeeper account activate'."
        )
    }

    static func severalActive(_ accounts: [AccountID]) -> LockkeeperError {
        LockkeeperError(
            .invalidInput,
            subject: "accounts \(accounts.map(\.description).joined(separator: ", "))",
            explanation: "several accounts are active, and nobody says which one is to be left",
            answer: .fixProgram,
            remedy: "Name it with 'lockkeeper switch ID --account OLD'."
        )
    }

    /// Long work that only reads was ended so that another process can have the account to itself.
    static func leftMeanwhile(_ account: AccountID, what: String) -> LockkeeperError {
        LockkeeperError(
            .busy,
            subject: "account \(account)",
            explanation:
                "another process needs the account to itself, and \(what) was ended for it",
            answer: .retry,
            remedy: "Try again once that is done; 'lockkeeper status' shows it."
        )
    }

    static func accountRemoved(_ account: AccountID) -> LockkeeperError {
        LockkeeperError(
            .accountRemoved,
            subject: "account \(account)",
            explanation: "the account was removed from this workspace while it was open here",
            answer: .fixEnvironment,
            remedy:
                "Close the session. An account that is added again under this id is another one."
        )
    }

    static func accountExists(_ account: AccountID) -> LockkeeperError {
        LockkeeperError(
            .accountExists,
            subject: "account \(account)",
            explanation: "an account of this id was added already",
            answer: .fixProgram,
            remedy: "Use it as it is, or choose another id."
        )
    }

    static func superseded(
        held: FencingToken,
        current: Generation,
        state: AccountState,
        cause: (any Error)?
    ) -> LockkeeperError {
        LockkeeperError(
            .superseded,
            subject: "account \(held.account)",
            explanation:
                "this session has generation \(held.generation), the account is \(state.rawValue)"
                + " at generation \(current)",
            answer: .newSession,
            remedy: state == .active
                ? "Take a new session; what was not acknowledged can be sent again through it."
                : "The account was signed out of; keep or drop what was not acknowledged.",
            cause: cause
        )
    }

    static func hostRunning(_ root: String, _ holders: [String]) -> LockkeeperError {
        LockkeeperError(
            .hostRunning,
            subject: "workspace \(root)",
            explanation: "another host serves it",
            holders: holders,
            answer: .fixEnvironment,
            remedy: "Use that one, or end it first."
        )
    }

    static func closed(_ subject: String) -> LockkeeperError {
        LockkeeperError(
            .closed,
            subject: subject,
            explanation: "it was closed",
            answer: .fixProgram,
            remedy: "Open it again before it is used."
        )
    }

    static func logTakesLastRoom(_ account: AccountID) -> LockkeeperError {
        LockkeeperError(
            .diskFull,
            subject: "account \(account)",
            explanation:
                "the disk is full, and the log cannot be copied just now; what room is left is"
                + " kept for that",
            answer: .retry,
            remedy: "Try again; free space where that does not help."
        )
    }

    static func remedyForMisplacedFile(_ account: String) -> String {
        "Move it with its '-wal' file to where it belongs, then put the account's own files back or"
            + " restore a backup. Where there is none, move it away all the same, and then"
            + " 'lockkeeper repair \(account) --begin-anew --yes' makes an empty one in its place."
    }

    static func oldRegistry(_ account: AccountID, beside newer: String) -> LockkeeperError {
        LockkeeperError(
            .fileMissing,
            subject: newer,
            explanation:
                "'workspace.db' is older than this file: somebody has put an old one back",
            answer: .recover,
            remedy:
                "Nothing was changed. 'lockkeeper repair \(account)' makes 'workspace.db' anew of the"
                + " accounts' own files, and nothing is lost."
        )
    }

    static func remedyForMissingFile(_ account: AccountID) -> String {
        "Put it back with its '-wal' file, or restore a backup. Where there is none,"
            + " 'lockkeeper repair \(account) --begin-anew --yes' makes an empty one in its place."
    }

    static func distrusted(
        _ account: AccountID,
        path: String,
        cause: (any Error)?
    ) -> LockkeeperError {
        LockkeeperError(
            .ioFailed,
            subject: path,
            explanation: "a sync of this file has failed, so that nothing in it is certain to last",
            answer: .reopen,
            remedy:
                "Look at the disk, then open account \(account) again: what can be read is copied"
                + " into a new file first.",
            cause: cause
        )
    }

    static func damaged(
        _ account: AccountID,
        path: String,
        _ error: LockkeeperError
    ) -> LockkeeperError {
        LockkeeperError(
            .damaged,
            subject: path,
            explanation: error.explanation,
            answer: .recover,
            remedy:
                "Nothing was changed. Repair account \(account), now or later: Workspace.repair(_:) or"
                + " 'lockkeeper repair \(account)' saves what can be read and deletes nothing.",
            cause: error.cause
        )
    }

    static func resync(_ account: AccountID, _ head: Position) -> LockkeeperError {
        LockkeeperError(
            .resync,
            subject: "account \(account)",
            explanation: "the commit log does not reach back to the position that was asked for",
            answer: .askAgain,
            remedy: "Read what you show anew, then follow from \(head)."
        )
    }
}
