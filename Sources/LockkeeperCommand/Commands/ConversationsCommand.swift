import LockkeeperDomain
import LockkeeperMessages

/// `conversations`: the conversations of an account.
struct ConversationsCommand: Command {
    static let name = "conversations"
    static let usage = "[--limit N] [--after CONVERSATION]"
    static let summary = "list the conversations, the newest first"
    static let details = """
        Lists the conversations by the time of their last message: unread count ("?" while no read
        position is known), id, last message, of which a long text is cut ("…"), and how many of one's
        own were not confirmed behind it. It reads a retired account too. --after gives the next page:
        those behind the conversation that the page before ended with. One that gets a message
        meanwhile moves to the front.

          lockkeeper conversations --account alice --limit 20 --after room-7
        """
    static let options: [OptionSpecification] = [
        .value("limit", "N", "at most so many"),
        .value("after", "CONVERSATION", "those that stand behind this one"),
    ]

    private let limit: Int?
    private let previous: ConversationID?

    init(_ arguments: inout Arguments) throws(UsageError) {
        limit = try arguments.integer("limit", in: 1...Int.max)
        previous = try ConversationID(option: "after", of: arguments)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.reading { messages in
            for conversation in try await page(messages) { try print(conversation, context) }
        }
        return .success
    }

    private func page(_ messages: MessageStore) async throws -> [ConversationInfo] {
        guard let previous else { return try await messages.conversations(limit: limit) }
        guard let last = try await messages.conversation(previous) else {
            throw CommandError.unknownConversation(previous)
        }
        return try await messages.conversations(after: last.place, limit: limit ?? .max)
    }

    private func print(_ conversation: ConversationInfo, _ context: CommandContext) throws {
        guard context.options.isJSON else {
            let unread = conversation.unread.map(String.init) ?? "?"
            let last = conversation.last.map(MessageOutput.line) ?? ""
            let name = terminalID(conversation.id.description)
            let pending =
                conversation.pendingCount > 0
                ? "\t(\(conversation.pendingCount) not confirmed)" : ""
            return try context.console.print("\(unread)\t\(name)\t\(last)\(pending)")
        }
        try context.console.print { writer in
            writer.beginVersionedObject()
            writer.member("conversation", conversation.id)
            writer.member("pending", conversation.pendingCount)
            writer.member("unread", conversation.unread)
            writer.member("unread_mentions", conversation.unreadMentions)
            writer.member("read_seq", conversation.readSequence)
            writer.key("last")
            if let last = conversation.last {
                writer.beginObject()
                MessageOutput.write(last, into: &writer)
                writer.endObject()
            } else {
                writer.null()
            }
            writer.endObject()
        }
    }
}
