import LockkeeperDomain
import LockkeeperMessages

/// `unread`: how much is unread.
struct UnreadCommand: Command {
    static let name = "unread"
    static let usage = "[CONVERSATION]"
    static let summary = "count what is unread, in one conversation or in each"
    static let details = """
        Prints how many messages are unread: of one conversation, or of each and in all. The count
        of a conversation is unknown ("?", null) until the account's read position in it is known,
        and then left out of the sum, as muted conversations are. With --json the sum has also how
        many of them mention the account, and how many conversations were marked as unread by hand or
        have an unknown count.

          lockkeeper unread room-7
        """

    private let conversation: ConversationID?

    init(_ arguments: inout Arguments) throws(UsageError) {
        var ahead = arguments
        conversation =
            ahead.optionalPositional() == nil ? nil : try ConversationID(argument: &arguments)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.reading { messages in
            guard let conversation else { return try await printAll(messages, context) }
            guard let info = try await messages.conversation(conversation) else {
                throw CommandError.unknownConversation(conversation)
            }
            try print(info, context)
        }
        return .success
    }

    private func printAll(_ messages: MessageStore, _ context: CommandContext) async throws {
        let conversations = try await messages.conversations()
        for conversation in conversations.sorted(by: { $0.id < $1.id }) {
            try print(conversation, context)
        }
        let total = try await messages.unreadTotal()
        guard context.options.isJSON else {
            return try context.console.print("\(total.unread)\tin all")
        }
        try context.console.print { writer in
            writer.beginVersionedObject()
            writer.member("total", total.unread)
            writer.member("mentions", total.mentions)
            writer.member("marked", total.markedCount)
            writer.member("unknown", total.unknownCount)
            writer.endObject()
        }
    }

    private func print(_ conversation: ConversationInfo, _ context: CommandContext) throws {
        guard context.options.isJSON else {
            let unread = conversation.unread.map(String.init) ?? "?"
            let name = terminalID(conversation.id.description)
            return try context.console.print("\(unread)\t\(name)")
        }
        try context.console.print { writer in
            writer.beginVersionedObject()
            writer.member("conversation", conversation.id)
            writer.member("unread", conversation.unread)
            writer.member("unread_mentions", conversation.unreadMentions)
            writer.member("read_seq", conversation.readSequence)
            writer.endObject()
        }
    }
}
