import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// `edit`: gives a message a new text.
struct EditCommand: Command {
    static let name = "edit"
    static let usage = "CONVERSATION ID TEXT"
    static let summary = "give a message a new text"
    static let details = """
        Gives a message that is shown a new text: the outbox tells the server, and the text is this one
        once the server has confirmed it, unless a newer one has come. Until then 'timeline' shows it as
        on its way, and 'search' finds the old one. Where the server refuses, or after 'outbox cancel',
        nothing has changed. Prints the receipt, with the outbox's item; null where the text is this
        one already.

          lockkeeper edit room-7 m17 'see you at seven'
        """

    private let conversation: ConversationID
    private let message: MessageID
    private let text: String

    init(_ arguments: inout Arguments) throws(UsageError) {
        conversation = try ConversationID(argument: &arguments)
        message = try MessageID(positional: "ID", of: &arguments)
        text = try arguments.positional("TEXT")
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.acting { try await $0.edit(message, in: conversation, body: text) }
    }
}

extension CommandContext {
    /// Does something as the account and prints the receipt.
    func acting(
        _ act: (MessageStore) async throws -> MessageStore.ActReceipt
    ) async throws -> ExitCode {
        try await changing { workspace in
            let session = try await workspace.session(account(in: workspace))
            let receipt = try await act(MessageStore(session))
            try console.print { ReceiptOutput.write(receipt, into: &$0) }
        }
        return .success
    }
}
