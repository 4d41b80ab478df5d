import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// `react`: puts a reaction on a message, or takes it away.
struct ReactCommand: Command {
    static let name = "react"
    static let usage = "CONVERSATION ID EMOJI [options]"
    static let summary = "put a reaction on a message, or take it away"
    static let details = """
        Puts a reaction of the account's own on a message that is shown: the outbox tells the server, and
        it stands once that has confirmed it. Where a person has one reaction to a message, name the
        same slot each time. Prints the receipt, with the outbox's item; null where it stands already.

          lockkeeper react room-7 m17 👍
        """
    static let options: [OptionSpecification] = [
        .flag("remove", "take the reaction away"),
        .value("slot", "NAME", "what the reaction replaces [the emoji itself]"),
    ]

    private let conversation: ConversationID
    private let message: MessageID
    private let emoji: String
    private let slot: ReactionSlot?
    private let removes: Bool

    init(_ arguments: inout Arguments) throws(UsageError) {
        conversation = try ConversationID(argument: &arguments)
        message = try MessageID(positional: "ID", of: &arguments)
        emoji = try arguments.positional("EMOJI")
        slot = try ReactionSlot(option: "slot", of: arguments)
        removes = arguments.flag("remove")
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.acting {
            try await $0.react(
                emoji,
                to: message,
                in: conversation,
                slot: slot,
                removed: removes
            )
        }
    }
}
