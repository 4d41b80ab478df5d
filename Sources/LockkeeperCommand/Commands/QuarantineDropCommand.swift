import Lockkeeper
import LockkeeperMessages

/// `quarantine drop`: forgets what was put aside.
struct QuarantineDropCommand: Command {
    static let name = "quarantine drop"
    static let usage = "NUMBER [--yes] [options]"
    static let summary = "forget what was put aside"
    static let details = """
        Forgets an item: its bytes may be the only copy of what a server sent, so it asks first.
        'quarantine show' writes them. If they come again they are put aside again.

          lockkeeper quarantine drop 3 --account alice --yes
        """
    static let destroys: String? = "What is forgotten may be the only copy."

    private let number: Int64

    init(_ arguments: inout Arguments) throws(UsageError) {
        number = try arguments.positionalInteger("NUMBER", in: 1...Int64.max)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing { workspace in
            let session = try await workspace.session(context.account(in: workspace))
            guard try await MessageStore(session).dropQuarantined(number) else {
                throw CommandError.unknownQuarantineItem(number)
            }
        }
        return .success
    }
}
