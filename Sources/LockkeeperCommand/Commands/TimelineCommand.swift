import LockkeeperDomain
import LockkeeperMessages

/// `timeline`: one page of a conversation.
struct TimelineCommand: Command {
    static let name = "timeline"
    static let usage = "CONVERSATION [--before PLACE|--after PLACE|--around ID] [--limit N]"
    static let summary = "show a page of a conversation, the newest first"
    static let details = """
        Shows messages of a conversation, the newest first: seq, time, sender, text. Without an option
        they are the last ones, behind those of one's own that the server has not confirmed, which
        have no seq but their state. Where there are more, the error stream says with which option
        the next page is read; with --json each message has its "place". A PLACE is SEQ, SEQ:ID of a
        message that shares its seq with others, or end:ID of one without a seq. Where messages are
        known to be missing, between two of the page or at its border, a line says so. It reads a
        retired account too. What a terminal would obey is shown as an escape, and every command
        takes an id as it is shown: '\\u{0}' is NUL, '\\\\' a backslash. --json gives texts as they
        are, and {"gap":[FROM,TO]}.

          lockkeeper timeline room-7 --before 181 --limit 50
        """
    static let options: [OptionSpecification] = [
        .value("before", "PLACE", "the messages before this place"),
        .value("after", "PLACE", "the messages after this place"),
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
        let before = try arguments.value("before").map { text throws(UsageError) in
            Page.before(try MessagePlace(shown: text, of: "before", in: 1...Int64.max))
        }
        let after = try arguments.value("after").map { text throws(UsageError) in
            let place = try MessagePlace(shown: text, of: "after", in: 0...Int64.max - 1)
            // A place without an id stands before all messages of its seq.
            guard let sequence = place.sequence, place.id == nil else { return Page.after(place) }
            return Page.after(MessagePlace(sequence: sequence + 1))
        }
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
            guard try await messages.conversation(conversation) != nil else {
                throw CommandError.unknownConversation(conversation)
            }
            let page: [StoredMessage]
            if case .before(nil) = self.page {
                let end = try await messages.timelineEnd(conversation, limit: limit)
                for item in end.pending.reversed() { try print(item, context) }
                page = end.messages
            } else {
                page = try await read(messages)
            }
            try await print(page, messages, context)
        }
        return .success
    }

    /// Prints a page with what is known to be missing in it and at its borders, and how to go on.
    private func print(
        _ page: [StoredMessage],
        _ messages: MessageStore,
        _ context: CommandContext
    ) async throws {
        let gaps = try await messages.gaps(of: conversation)
        guard let newest = page.first, let oldest = page.last else { return }
        var newer = try await messages.timeline(conversation, after: newest.place, limit: 1).first
        if newer != nil { note("newer", "after", newest, context) }
        let older = try await messages.timeline(conversation, before: oldest.place, limit: 1).first
        for message in page.map(Optional.some) + [older] {
            let missing = MessageStore.gaps(gaps, between: message, and: newer)
            for gap in missing.reversed() { try print(gap, context) }
            if let message, message.id != older?.id { try print(message, context) }
            newer = message
        }
        if older != nil { note("older", "before", oldest, context) }
    }

    /// Says with which option the next page is read.
    private func note(
        _ which: String,
        _ option: String,
        _ message: StoredMessage,
        _ context: CommandContext
    ) {
        guard !context.options.isJSON else { return }
        let place = shellWord(message.place.shown)
        context.console.note("\(which): --\(option) \(place) --limit \(limit)")
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
            writer.member("place", message.place.shown)
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
            let places =
                gap.count == 1 ? "\(gap.lowerBound)" : "\(gap.lowerBound) to \(gap.upperBound)"
            return try context.console.print("\(places)\tmissing")
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

extension StoredMessage {
    /// Where it stands in its conversation.
    fileprivate var place: MessagePlace { MessagePlace(sequence: sequence, id: id) }
}

extension MessagePlace {
    /// The place as a command line names it.
    fileprivate var shown: String {
        let seq = sequence.map(String.init) ?? "end"
        return id.map { "\(seq):\(terminalID($0.description))" } ?? seq
    }

    /// The place that a command line names: SEQ, SEQ:ID or end:ID.
    ///
    /// - Throws: ``UsageError`` when it is none of these.
    fileprivate init(
        shown text: String,
        of option: String,
        in range: ClosedRange<Int64>
    ) throws(UsageError) {
        let colon = text.firstIndex(of: ":")
        let seq = text[..<(colon ?? text.endIndex)]
        let id = try colon.map { colon throws(UsageError) in
            try MessageID(shown: text[text.index(after: colon)...], called: "A message's id")
        }
        if seq == "end", id != nil {
            self.init(sequence: nil, id: id)
            return
        }
        guard let sequence = Int64(seq), range.contains(sequence) else {
            throw UsageError(
                "--\(option) takes SEQ, SEQ:ID or end:ID, with a SEQ from \(range.lowerBound)"
                    + " on, not '\(terminalText(text))'."
            )
        }
        self.init(sequence: sequence, id: id)
    }
}

extension MessageID {
    /// The message that a command line names.
    ///
    /// - Throws: ``UsageError`` when the id is empty or too long.
    init(argument text: String) throws(UsageError) {
        try self.init(shown: text, called: "A message's id")
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
        try self.init(
            shown: try arguments.positional("CONVERSATION"),
            called: "A conversation's id"
        )
    }
}
