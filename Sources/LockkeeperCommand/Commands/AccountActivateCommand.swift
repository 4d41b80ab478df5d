import Lockkeeper
import LockkeeperDomain

/// `account activate`: signs in.
struct AccountActivateCommand: Command {
    static let name = "account activate"
    static let usage = "ID [options]"
    static let summary = "sign in: the account takes writes under a new generation"
    static let details = """
        Activates an account under a new generation. Where it is active already this is signing in
        again: whoever holds the older generation is refused from then on.

          lockkeeper account activate alice
        """

    private let id: AccountID

    init(_ arguments: inout Arguments) throws(UsageError) {
        id = try AccountID(argument: try arguments.positional("ID"))
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing { workspace in
            try await workspace.activate(id)
            try AccountOutput.print(try await workspace.account(id), context)
        }
        return .success
    }
}
