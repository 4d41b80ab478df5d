import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// `read`: moves the account's read position.
struct ReadCommand: Command {
    static let name = "read"
    static let usage = "CONVERSATION SEQ [--delivered]"
    static let summary = "mark a conversation as read up to a place"
    static let details = """
        Moves the account's own read position up to and with a seq; 0 says that nothing is read and
        that this is known. A position only grows; a place above the last one that is known is refused,
        because messages that nobody has seen would count as read when they come. The server is told by
        the outbox, where a newer report supersedes an older one of the conversation. Prints the
        receipt, with the outbox's item.

          lockkeeper read room-7 181
        """
    static let options: [OptionSpecification] = [
        .flag("delivered", "the messages have reached this device, nobody has read them")
    ]

    private let conversation: ConversationID
    private let sequence: Int64
    private let kind: ReadEvent.Kind

    init(_ arguments: inout Arguments) throws(UsageError) {
        conversation = try ConversationID(argument: &arguments)
        sequence = try arguments.positionalInteger("SEQ", in: 0...JSONScanner.integerMax)
        kind = arguments.flag("delivered") ? .delivered : .read
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.acting { try await $0.markRead(conversation, upTo: sequence, kind) }
    }
}
