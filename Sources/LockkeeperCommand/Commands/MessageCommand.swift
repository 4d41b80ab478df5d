import LockkeeperDomain
import LockkeeperMessages

/// `message`: one message.
struct MessageCommand: Command {
    static let name = "message"
    static let usage = "CONVERSATION ID"
    static let summary = "show one message, whatever became of it"
    static let details = """
        Shows what is known of a message, whether it is shown, waits for its seq and sender, or was
        recalled, and below it what people have put on it. One that was deleted or cleared, or whose time
        is over, is "(gone)": its id and place are left. It reads a retired account too.

          lockkeeper message room-7 m181 --json
        """

    private let conversation: ConversationID
    private let id: MessageID

    init(_ arguments: inout Arguments) throws(UsageError) {
        conversation = try ConversationID(argument: &arguments)
        id = try MessageID(argument: try arguments.positional("ID"))
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.reading { messages in
            guard let message = try await messages.message(id, in: conversation) else {
                throw CommandError(
                    "unknown-message",
                    .usage,
                    "No event has named the message '\(terminalID(id.description))' of this"
                        + " conversation."
                )
            }
            let reactions = try await messages.reactions(to: id, in: conversation)
            guard context.options.isJSON else {
                try context.console.print(MessageOutput.line(message))
                for reaction in reactions {
                    let person = terminalID(reaction.reactor.description)
                    try context.console.print("  \(terminalText(reaction.emoji)) \(person)")
                }
                return
            }
            try context.console.print { writer in
                writer.beginVersionedObject()
                MessageOutput.write(message, into: &writer)
                MessageOutput.write(reactions, into: &writer)
                writer.endObject()
            }
        }
        return .success
    }
}
