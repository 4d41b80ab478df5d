import LockkeeperDomain
import LockkeeperMessages

/// `timeline`: one page of a conversation.
struct TimelineCommand: Command {
    static let name = "timeline"
    static let usage = "CONVERSATION [--before SEQ] [--limit N]"
    static let summary = "show a page of a conversation, the newest first"
    static let details = """
        Shows the messages of a conversation that stand before a place, the newest first: seq, time,
        sender, text. The next page begins before the smallest seq of this one. It reads a retired
        account too. What a terminal would obey is shown as an escape; --json gives texts as they
        are.

          lockkeeper timeline room-7 --before 181 --limit 50
        """
    static let options: [OptionSpecification] = [
        .value("before", "SEQ", "the page ends before this seq [the end]"),
        .value("limit", "N", "at most so many messages [50]"),
    ]

    private let conversation: ConversationID
    private let place: MessagePlace?
    private let limit: Int

    init(_ arguments: inout Arguments) throws(UsageError) {
        conversation = try ConversationID(argument: &arguments)
        place = try arguments.integer("before", in: 1...Int64.max).map {
            MessagePlace(sequence: $0)
        }
        limit = try arguments.integer("limit", in: 1...Int.max) ?? 50
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.reading { messages in
            let page = try await messages.timeline(conversation, before: place, limit: limit)
            for message in page {
                guard context.options.isJSON else {
                    try context.console.print(MessageOutput.line(message))
                    continue
                }
                try context.console.print { writer in
                    writer.beginVersionedObject()
                    MessageOutput.write(message, into: &writer)
                    writer.endObject()
                }
            }
        }
        return .success
    }
}

extension ConversationID {
    /// The conversation that a command line names next.
    ///
    /// - Throws: ``UsageError`` when it is missing, empty or too long.
    init(argument arguments: inout Arguments) throws(UsageError) {
        let text = try arguments.positional("CONVERSATION")
        do throws(IdentifierError) {
            try self.init(text)
        } catch {
            throw UsageError("A conversation's id has 1 to \(IdentifierError.byteCountMax) bytes.")
        }
    }
}
