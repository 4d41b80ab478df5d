import LockkeeperDomain
import LockkeeperMessages

/// `timeline`: one page of a conversation.
struct TimelineCommand: Command {
    static let name = "timeline"
    static let usage = "CONVERSATION [--before SEQ|--after SEQ|--around ID] [--limit N]"
    static let summary = "show a page of a conversation, the newest first"
    static let details = """
        Shows messages of a conversation, the newest first: seq, time, sender, text. Without an option
        they are the last ones, behind those of one's own that the server has not confirmed, which
        have no seq but their state. The next page back begins before the smallest seq of this one,
        the next page onwards after the largest. Where messages are known to be missing between two
        of the page a line says so, not at its border. Of a place that several messages share the part
        that a page breaks off is on no page. It reads a retired account too. What a terminal would
        obey is shown as an escape; --json gives texts as they are, and {"gap":[FROM,TO]}.

          lockkeeper timeline room-7 --before 181 --limit 50
        """
    static let options: [OptionSpecification] = [
        .value("before", "SEQ", "the messages before this seq"),
        .value("after", "SEQ", "the messages after this seq"),
        .value("around", "ID", "the messages around this one"),
        .value("limit", "N", "at most so many messages [50]"),
    ]

    private enum Page: Sendable {
        case before(MessagePlace?)
        case after(MessagePlace)
        case around(MessageID)
    }

    private let conversation: ConversationID
    private let page: Page
    private let limit: Int

    init(_ arguments: inout Arguments) throws(UsageError) {
        conversation = try ConversationID(argument: &arguments)
        // A place without an id stands before all messages of its seq.
        let before = try arguments.integer("before", in: 1...Int64.max)
            .map { Page.before(MessagePlace(sequence: $0)) }
        let after = try arguments.integer("after", in: 0...Int64.max - 1)
            .map { Page.after(MessagePlace(sequence: $0 + 1)) }
        let around = try arguments.value("around").map { text throws(UsageError) in
            Page.around(try MessageID(argument: text))
        }
        let pages = [before, after, around].compactMap(\.self)
        if pages.count > 1 {
            throw UsageError("Give one of --before, --after and --around.")
        }
        page = pages.first ?? .before(nil)
        limit = try arguments.integer("limit", in: 1...Int.max) ?? 50
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.reading { messages in
            let page: [StoredMessage]
            if case .before(nil) = self.page {
                let end = try await messages.timelineEnd(conversation, limit: limit)
                for item in end.pending.reversed() { try print(item, context) }
                page = end.messages
            } else {
                page = try await read(messages)
            }
            var gaps = try await messages.gaps(of: conversation)[...]
            for (index, message) in page.enumerated() {
                try print(message, context)
                guard let upper = message.sequence, index + 1 < page.count,
                    let lower = page[index + 1].sequence
                else { continue }
                // Gaps ascend, the page descends.
                while let gap = gaps.last, gap.upperBound >= lower {
                    gaps.removeLast()
                    if gap.lowerBound < upper { try print(gap, context) }
                }
            }
        }
        return .success
    }

    private func read(_ messages: MessageStore) async throws -> [StoredMessage] {
        switch page {
        case .before(let place):
            return try await messages.timeline(conversation, before: place, limit: limit)
        case .after(let place):
            return try await messages.timeline(conversation, after: place, limit: limit)
        case .around(let id):
            let page = try await messages.timeline(conversation, around: id, limit: limit)
            guard let page else { throw CommandError.unknownMessage(id) }
            return page
        }
    }

    private func print(_ message: StoredMessage, _ context: CommandContext) throws {
        guard context.options.isJSON else {
            return try context.console.print(MessageOutput.line(message))
        }
        try context.console.print { writer in
            writer.beginVersionedObject()
            MessageOutput.write(message, into: &writer)
            writer.endObject()
        }
    }

    /// A message that the server has not confirmed stands at the end, without a seq.
    private func print(_ item: OutboxItem, _ context: CommandContext) throws {
        guard context.options.isJSON else {
            guard case .message(let message) = item.event else { return }
            let sender = terminalID(message.sender.description)
            return try context.console.print(
                "-\t\(item.createdAt)\t\(sender): \(terminalText(message.body))"
                    + " (\(item.state.rawValue))"
            )
        }
        try context.console.print { writer in
            writer.beginVersionedObject()
            OutboxOutput.write(item, into: &writer)
            writer.member("pending", item.state.rawValue)
            writer.endObject()
        }
    }

    private func print(_ gap: ClosedRange<Int64>, _ context: CommandContext) throws {
        guard context.options.isJSON else {
            return try context.console.print("\(gap.upperBound)…\(gap.lowerBound)\tmissing")
        }
        try context.console.print { writer in
            writer.beginVersionedObject()
            writer.key("gap")
            writer.beginArray()
            writer.integer(gap.lowerBound)
            writer.integer(gap.upperBound)
            writer.endArray()
            writer.endObject()
        }
    }
}

extension MessageID {
    /// The message that a command line names.
    ///
    /// - Throws: ``UsageError`` when the id is empty or too long.
    init(argument text: String) throws(UsageError) {
        do throws(IdentifierError) {
            try self.init(text)
        } catch {
            throw UsageError("A message's id has 1 to \(IdentifierError.byteCountMax) bytes.")
        }
    }
}

extension CommandError {
    static func unknownMessage(_ id: MessageID) -> CommandError {
        CommandError(
            "unknown-message",
            .usage,
            "No place of the message '\(terminalID(id.description))' is known in this"
                + " conversation. 'lockkeeper timeline CONVERSATION' shows those that are."
        )
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
