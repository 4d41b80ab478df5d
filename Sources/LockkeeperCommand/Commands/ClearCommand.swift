import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// `clear`: takes away a conversation's messages up to a place.
struct ClearCommand: Command {
    static let name = "clear"
    static let usage = "CONVERSATION SEQ"
    static let summary = "take a conversation's messages away for the account, up to a place"
    static let details = """
        Takes away everything of a conversation up to and with a seq, for the account, here at once and
        on its other devices; others keep it. It cannot be undone. A place above the last one that is known
        is refused, because messages that nobody has seen would be gone when they come. The server is
        told by the outbox. Prints the receipt, with the outbox's item.

          lockkeeper clear room-7 181
        """

    private let conversation: ConversationID
    private let sequence: Int64

    init(_ arguments: inout Arguments) throws(UsageError) {
        conversation = try ConversationID(argument: &arguments)
        sequence = try arguments.positionalInteger("SEQ", in: 1...JSONScanner.integerMax)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.acting { try await $0.clear(conversation, upTo: sequence) }
    }
}
