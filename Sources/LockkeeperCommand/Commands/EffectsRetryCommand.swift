import Lockkeeper
import LockkeeperMessages

/// `effects retry`: hand an effect out again at once.
struct EffectsRetryCommand: Command {
    static let name = "effects retry"
    static let usage = "NUMBER"
    static let summary = "let an effect be handed out again at once"
    static let details = """
        Lets an effect be handed out again by the next one who runs them, whatever held it up: one that
        is parked, because it was refused or failed too often. 'effects list' numbers them.

          lockkeeper effects retry 17 --account alice
        """

    private let number: Int64

    init(_ arguments: inout Arguments) throws(UsageError) {
        number = try arguments.positionalInteger("NUMBER", in: 1...Int64.max)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await EffectOutput.settle(number, in: context) { try await $0.retryEffect(number) }
    }
}

/// `effects drop`: give an effect up.
struct EffectsDropCommand: Command {
    static let name = "effects drop"
    static let usage = "NUMBER"
    static let summary = "give an effect up"
    static let details = """
        Gives an effect up: nobody is told of it any more. A notification that may have been shown is
        withdrawn all the same when its message is read or recalled. 'effects list' numbers them.

          lockkeeper effects drop 17 --account alice
        """

    private let number: Int64

    init(_ arguments: inout Arguments) throws(UsageError) {
        number = try arguments.positionalInteger("NUMBER", in: 1...Int64.max)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await EffectOutput.settle(number, in: context) { try await $0.dropEffect(number) }
    }
}

extension EffectOutput {
    /// Does with an effect what a person asks for.
    ///
    /// - Throws: ``CommandError`` where it was not done.
    fileprivate static func settle(
        _ number: Int64,
        in context: CommandContext,
        _ request: (MessageStore) async throws -> Bool
    ) async throws -> ExitCode {
        try await context.changing { workspace in
            let session = try await workspace.session(context.account(in: workspace))
            let messages = try MessageStore(session)
            if try await request(messages) { return }
            let claimers = try messages.claimers(ofEffect: number)
            guard claimers.isEmpty else {
                throw CommandError(
                    "claimed",
                    .tryAgain,
                    "Effect \(number) is being handed out by \(claimers.joined(separator: "; "))."
                        + " Try again when that has ended; a program that hangs is ended with"
                        + " 'kill PID'."
                )
            }
            throw CommandError(
                "unknown-effect",
                .usage,
                "There is no effect \(number). 'lockkeeper effects list' lists them."
            )
        }
        return .success
    }
}
