import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// `recall`: takes a message back for everybody.
struct RecallCommand: Command {
    static let name = "recall"
    static let usage = "CONVERSATION ID"
    static let summary = "take a message back for everybody"
    static let details = """
        Recalls a message: the outbox tells the server, and once that has confirmed it the content is
        gone here too, for good; its place stays. Until then 'timeline' shows that it is on its way.
        Where the server refuses, or after 'outbox cancel', nothing has changed: an edit of it that
        waits in the outbox is held back meanwhile, and has its turn again. Prints the receipt, with the
        outbox's item; null where it was recalled already.

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
