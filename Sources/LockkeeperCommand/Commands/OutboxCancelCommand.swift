import Lockkeeper
import LockkeeperMessages

/// `outbox cancel`: take an item out of the outbox.
struct OutboxCancelCommand: Command {
    static let name = "outbox cancel"
    static let usage = "ITEM"
    static let summary = "take an item out of the outbox"
    static let details = """
        Takes an item out of the outbox: the server is not told. A message is not sent, and an edit, a
        recall or a reaction is not done, unless an attempt has done it already. What was read, deleted
        or cleared stays so here.

          lockkeeper outbox cancel 7 --account alice
        """

    private let item: Int64

    init(_ arguments: inout Arguments) throws(UsageError) {
        item = try arguments.positionalInteger("ITEM", in: 1...Int64.max)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await OutboxOutput.settle(item, in: context) { try await $0.cancelOutboxItem(item) }
    }
}

extension OutboxOutput {
    /// Does with an item what a person asks for.
    ///
    /// - Throws: ``CommandError`` where it was not done.
    static func settle(
        _ item: Int64,
        in context: CommandContext,
        _ request: (MessageStore) async throws -> MessageStore.OutboxRequest
    ) async throws -> ExitCode {
        try await context.changing { workspace in
            let session = try await workspace.session(context.account(in: workspace))
            let messages = try MessageStore(session)
            try expectDone(
                try await request(messages),
                item,
                claimers: try messages.claimers(ofOutboxItem: item)
            )
        }
        return .success
    }

    /// Makes an error of a request that was not done.
    ///
    /// - Throws: ``CommandError``.
    private static func expectDone(
        _ outcome: MessageStore.OutboxRequest,
        _ item: Int64,
        claimers: [String]
    ) throws(CommandError) {
        switch outcome {
        case .done: return
        case .unknownItem:
            throw CommandError(
                "unknown-item",
                .usage,
                "The outbox has no item \(item). 'lockkeeper outbox list' lists them."
            )
        case .isClaimed:
            let by = claimers.isEmpty ? "" : " by \(claimers.joined(separator: "; "))"
            throw CommandError(
                "claimed",
                .tryAgain,
                "Item \(item) is being told\(by). Try again when that has ended; a program that hangs"
                    + " is ended with 'kill PID'."
            )
        }
    }
}
