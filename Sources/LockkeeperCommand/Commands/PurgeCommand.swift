import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// `purge`: removes the rows of what was cleared.
struct PurgeCommand: Command {
    static let name = "purge"
    static let usage = "CONVERSATION"
    static let summary = "remove what is left of cleared messages: their ids and places"
    static let details = """
        A clear takes the content of messages at once; their ids and places stay, so that late history
        stays known. This removes them, up to the conversation's clear, a few at a time, and prints
        how many there were. Of each id 16 bytes of a digest stay, so that a message that was recalled,
        deleted or cleared does not come back, also where it comes without a place. History that comes
        later makes such rows again, without content. It works on a full disk.

          lockkeeper purge room-7
        """

    private let conversation: ConversationID

    init(_ arguments: inout Arguments) throws(UsageError) {
        conversation = try ConversationID(argument: &arguments)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing { workspace in
            let session = try await workspace.session(context.account(in: workspace))
            let messages = try MessageStore(session)
            guard try await messages.conversation(conversation) != nil else {
                throw CommandError.unknownConversation(conversation)
            }
            let count = try await messages.purge(conversation)
            guard context.options.isJSON else {
                return try context.console.print("\(count) removed")
            }
            try context.console.print { writer in
                writer.beginVersionedObject()
                writer.member("removed", count)
                writer.endObject()
            }
        }
        return .success
    }
}

extension CommandError {
    static func unknownConversation(_ id: ConversationID) -> CommandError {
        CommandError(
            "unknown-conversation",
            .usage,
            "No event has named the conversation '\(terminalID(id.description))'."
                + " 'lockkeeper conversations' lists those that are known."
        )
    }
}
