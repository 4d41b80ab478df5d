import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// `recall`: takes a message back for everybody.
struct RecallCommand: Command {
    static let name = "recall"
    static let usage = "CONVERSATION ID"
    static let summary = "take a message back for everybody"
    static let details = """
        Recalls a message: its content is gone here at once and for good, its place stays. The server is
        told by the outbox. Prints the receipt, with the outbox's item.

          lockkeeper recall room-7 m17
        """

    private let conversation: ConversationID
    private let message: MessageID

    init(_ arguments: inout Arguments) throws(UsageError) {
        conversation = try ConversationID(argument: &arguments)
        message = try MessageID(positional: "ID", of: &arguments)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.acting { try await $0.recall(message, in: conversation) }
    }
}
