import Lockkeeper
import LockkeeperMessages

/// `outbox retry`: let an item be tried again at once.
struct OutboxRetryCommand: Command {
    static let name = "outbox retry"
    static let usage = "ITEM"
    static let summary = "let an item be tried again at once"
    static let details = """
        Lets an item of the outbox be tried again by the next one who runs it, whatever held it up. Of a
        message whose outcome is unknown that may make a second message.

          lockkeeper outbox retry 7 --account alice
        """

    private let item: Int64

    init(_ arguments: inout Arguments) throws(UsageError) {
        item = try arguments.positionalInteger("ITEM", in: 1...Int64.max)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await OutboxOutput.settle(item, in: context) { try await $0.retryOutboxItem(item) }
    }
}
