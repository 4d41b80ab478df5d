import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// `read`: moves the account's read position.
struct ReadCommand: Command {
    static let name = "read"
    static let usage = "CONVERSATION SEQ"
    static let summary = "mark a conversation as read up to a place"
    static let details = """
        Moves the account's own read position up to and with a seq; 0 says that nothing is read and
        that this is known. A position only grows. Prints the receipt.

          lockkeeper read room-7 181
        """

    private let conversation: ConversationID
    private let sequence: Int64

    init(_ arguments: inout Arguments) throws(UsageError) {
        conversation = try ConversationID(argument: &arguments)
        sequence = try arguments.positionalInteger("SEQ", in: 0...JSONScanner.integerMax)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing { workspace in
            let session = try await workspace.session(context.account(in: workspace))
            let position = ReadEvent(conversation: conversation, sequence: sequence)
            let receipt = try await MessageStore(session).ingest([.read(position)])
            try context.console.print { ReceiptOutput.write(receipt, lines: nil, into: &$0) }
        }
        return .success
    }
}
