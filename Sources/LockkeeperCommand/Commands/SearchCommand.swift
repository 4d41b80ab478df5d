import LockkeeperDomain
import LockkeeperMessages

/// `search`: messages by their text.
struct SearchCommand: Command {
    static let name = "search"
    static let usage =
        "TEXT [--phrase] [--conversation C] [--sender S] [--after T] [--before T] …"
    static let summary = "find messages by their text, the newest first"
    static let details = """
        Finds the messages that hold every word of TEXT, in any order and inside of longer words too,
        or with --phrase all of it in one piece. No character of TEXT means anything but itself. Upper
        and lower case, wide and narrow, composed and decomposed forms are the same. Shows conversation,
        seq, time, sender and the part of the text in which it was found. The answer is complete, also
        while the index is behind: what the server has said is searched, not what waits in the outbox,
        so that an edited text is found under its old words until the server has it. It reads a retired
        account too.

          lockkeeper search "see you" --conversation room-7 --after 2026-11-01T00:00:00Z
        """
    static let options: [OptionSpecification] = [
        .flag("phrase", "TEXT stands in the message in one piece"),
        .value("conversation", "C", "only in this conversation"),
        .value("sender", "S", "only from this sender"),
        .value("after", "T", "only what the server took at this time or later (RFC 3339)"),
        .value("before", "T", "only what the server took before this time (RFC 3339)"),
        .value("limit", "N", "at most so many messages [50]"),
    ]

    private let query: SearchQuery
    private let limit: Int

    init(_ arguments: inout Arguments) throws(UsageError) {
        query = SearchQuery(
            try Self.text(&arguments),
            match: arguments.flag("phrase") ? .phrase : .words,
            conversation: try arguments.identifier("conversation"),
            sender: try arguments.identifier("sender"),
            after: try arguments.instant("after"),
            before: try arguments.instant("before")
        )
        limit = try arguments.integer("limit", in: 1...10_000) ?? 50
    }

    /// What is looked for. Nothing is in every message, so that nobody means it.
    private static func text(_ arguments: inout Arguments) throws(UsageError) -> String {
        let text = try arguments.positional("TEXT")
        guard text.contains(where: { !$0.isWhitespace }) else {
            throw UsageError("TEXT is empty. Say what to look for.")
        }
        return text
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.reading { messages in
            if let conversation = query.conversation,
                try await messages.conversation(conversation) == nil
            {
                throw CommandError.unknownConversation(conversation)
            }
            for hit in try await messages.search(query, limit: limit) {
                guard context.options.isJSON else {
                    try context.console.print(MessageOutput.line(hit))
                    continue
                }
                try context.console.print { writer in
                    writer.beginVersionedObject()
                    MessageOutput.write(hit.message, into: &writer)
                    MessageOutput.write(hit.snippet, into: &writer)
                    writer.endObject()
                }
            }
        }
        return .success
    }
}

extension Arguments {
    /// An option's value as an id.
    ///
    /// - Throws: ``UsageError`` when it is empty or too long.
    fileprivate func identifier<Identifier: ByteIdentifier>(
        _ name: String
    ) throws(UsageError) -> Identifier? {
        guard let text = value(name) else { return nil }
        return try Identifier(shown: text, called: "The id behind --\(name)")
    }

    /// An option's value as an instant.
    ///
    /// - Throws: ``UsageError`` when it is none.
    fileprivate func instant(_ name: String) throws(UsageError) -> Timestamp? {
        guard let text = value(name) else { return nil }
        do throws(TimestampError) {
            return try Timestamp(text)
        } catch {
            throw UsageError("--\(name) takes a time like 2026-11-30T12:00:00Z.")
        }
    }
}

extension MessageOutput {
    /// A hit as one line for people.
    fileprivate static func line(_ hit: SearchHit) -> String {
        let message = hit.message
        let before = hit.snippet.isCutBefore ? "…" : ""
        let after = hit.snippet.isCutAfter ? "…" : ""
        let sender = message.sender.map { terminalID($0.description) } ?? "?"
        let seq = message.sequence.map(String.init) ?? "-"
        return "\(terminalID(message.conversation.description))\t\(seq)"
            + "\t\(message.serverAt?.description ?? "-")"
            + "\t\(sender): \(before)\(terminalText(hit.snippet.text))\(after)"
    }

    /// Writes the part of the text to show: `matches` are ranges of its bytes.
    fileprivate static func write(_ snippet: SearchSnippet, into writer: inout JSONWriter) {
        writer.key("snippet")
        writer.beginObject()
        writer.member("text", snippet.text)
        writer.key("matches")
        writer.beginArray()
        for match in snippet.matches {
            writer.beginArray()
            writer.integer(match.lowerBound)
            writer.integer(match.upperBound)
            writer.endArray()
        }
        writer.endArray()
        writer.member("cut_before", snippet.isCutBefore)
        writer.member("cut_after", snippet.isCutAfter)
        writer.endObject()
    }
}
