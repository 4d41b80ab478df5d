import Lockkeeper
import LockkeeperMessages

/// `quarantine retry`: merges again what was put aside.
struct QuarantineRetryCommand: Command {
    static let name = "quarantine retry"
    static let usage = "NUMBER [options]"
    static let summary = "merge again what was put aside, under the same rules"
    static let details = """
        Merges an item again, under the same rules as before: for what had no room, or was in the way
        of something that is not there any more. Prints what became of it. Exit 1 where the rules
        refuse it again: it is listed under a new number then. 'quarantine list' gives the numbers.

          lockkeeper quarantine retry 3 --account alice
        """

    private let number: Int64

    init(_ arguments: inout Arguments) throws(UsageError) {
        number = try arguments.positionalInteger("NUMBER", in: 1...Int64.max)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let outcome = try await context.settling(number) { try await $0.retryQuarantined(number) }
        return outcome == .quarantined ? .found : .success
    }
}

extension CommandContext {
    /// Settles an item of the quarantine, and prints what became of it.
    ///
    /// - Parameter act: what is done with it; `nil` where there is no such item.
    func settling(
        _ number: Int64,
        _ act: (MessageStore) async throws -> EventOutcome?
    ) async throws -> EventOutcome {
        try await changing { workspace in
            let session = try await workspace.session(account(in: workspace))
            guard let outcome = try await act(MessageStore(session)) else {
                throw CommandError.unknownQuarantineItem(number)
            }
            guard options.isJSON else {
                try console.print("\(number)\t\(outcome.rawValue)")
                return outcome
            }
            try console.print { writer in
                writer.beginVersionedObject()
                writer.member("number", number)
                writer.member("outcome", outcome.rawValue)
                writer.endObject()
            }
            return outcome
        }
    }
}

extension CommandError {
    static func unknownQuarantineItem(_ number: Int64) -> CommandError {
        CommandError(
            "unknown-item",
            .usage,
            "Nothing with the number \(number) was put aside. 'lockkeeper quarantine list'"
                + " lists what was."
        )
    }
}
