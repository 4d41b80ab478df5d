import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// `delete`: takes a message away for the account.
struct DeleteCommand: Command {
    static let name = "delete"
    static let usage = "CONVERSATION ID"
    static let summary = "take a message away for the account"
    static let details = """
        Deletes a message for the account, here at once and on its other devices; others keep it. The
        server is told by the outbox. Prints the receipt, with the outbox's item.

          lockkeeper delete room-7 m17
        """

    private let conversation: ConversationID
    private let message: MessageID

    init(_ arguments: inout Arguments) throws(UsageError) {
        conversation = try ConversationID(argument: &arguments)
        message = try MessageID(positional: "ID", of: &arguments)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.acting { try await $0.delete(message, in: conversation) }
    }
}
