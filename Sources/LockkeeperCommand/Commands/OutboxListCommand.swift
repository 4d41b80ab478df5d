import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// `outbox list`: what the server was not told yet.
struct OutboxListCommand: Command {
    static let name = "outbox list"
    static let usage = "[CONVERSATION]"
    static let summary = "list what the server was not told yet"
    static let details = """
        Lists the items of the outbox in their order: number, act, conversation, state, attempts, why it
        is where it is, when it is tried again, and who has claimed it. The states: waiting; sending, an
        attempt has begun; unknown, an attempt had no answer, or one that cannot be true; parked,
        refused for good or failed too often. With --json each has its "event", which holds the text of
        a message that is not sent.

          lockkeeper outbox list room-7 --json
        """

    private let conversation: ConversationID?

    init(_ arguments: inout Arguments) throws(UsageError) {
        conversation = try ConversationID(optionalArgument: &arguments)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.reading { messages in
            let retries = try await messages.outboxRetries()
            for item in try await messages.outbox(in: conversation) {
                let claimers =
                    item.state == .sending
                    ? try messages.claimers(ofOutboxItem: item.id) : []
                guard context.options.isJSON else {
                    try context.console.print(
                        OutboxOutput.line(item, claimers: claimers, retryIn: retries[item.id])
                    )
                    continue
                }
                try context.console.print { writer in
                    writer.beginVersionedObject()
                    OutboxOutput.write(item, into: &writer)
                    writer.member("state", item.state.rawValue)
                    writer.member("reason", item.reason)
                    if let wait = retries[item.id] {
                        writer.member("retry_in_ms", Int64(wait.milliseconds.rounded(.up)))
                    }
                    writer.member("claimed_by", claimers)
                    writer.endObject()
                }
            }
        }
        return .success
    }
}

/// `effects list`: what nobody has been told yet.
struct EffectsListCommand: Command {
    static let name = "effects list"
    static let usage = "[options]"
    static let summary = "list notifications that nobody has confirmed"
    static let details = """
        Lists the effects that were not confirmed, oldest message first: number, notify or withdraw,
        conversation, message, state, attempts, why it is where it is, when it is tried again, and
        who has claimed it.

          lockkeeper effects list --json
        """

    init(_ arguments: inout Arguments) throws(UsageError) {}

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.reading { messages in
            let retries = try await messages.effectRetries()
            for effect in try await messages.effects() {
                let claimers =
                    effect.state == .attempting ? try messages.claimers(ofEffect: effect.id) : []
                guard context.options.isJSON else {
                    let texts = [effect.conversation.description, effect.message.description]
                        .map(terminalID)
                    try context.console.print(
                        ([
                            "\(effect.id)", effect.kind.rawValue, texts[0], texts[1],
                            effect.state.rawValue, "\(effect.attempt)",
                        ]
                            + EffectOutput.remarks(
                                effect,
                                claimers: claimers,
                                retryIn: retries[effect.id]
                            ))
                            .joined(separator: "\t")
                    )
                    continue
                }
                try context.console.print { writer in
                    writer.beginVersionedObject()
                    EffectOutput.write(effect, into: &writer)
                    writer.member("state", effect.state.rawValue)
                    writer.member("reason", effect.reason)
                    if let wait = retries[effect.id] {
                        writer.member("retry_in_ms", Int64(wait.milliseconds.rounded(.up)))
                    }
                    writer.member("claimed_by", claimers)
                    writer.endObject()
                }
            }
        }
        return .success
    }
}

extension ConversationID {
    /// The conversation that a command line names next; `nil` where it names none.
    ///
    /// - Throws: ``UsageError`` when it is too long.
    init?(optionalArgument arguments: inout Arguments) throws(UsageError) {
        guard let text = arguments.optionalPositional() else { return nil }
        try self.init(shown: text, called: "A conversation's id")
    }
}
