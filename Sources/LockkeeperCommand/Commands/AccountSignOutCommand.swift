import Lockkeeper
import LockkeeperDomain

/// `account sign-out`: signs out.
struct AccountSignOutCommand: Command {
    static let name = "account sign-out"
    static let usage = "ID [options]"
    static let summary = "sign out: the account takes no writes any more"
    static let details = """
        Retires an account. Its data stays and can be read and exported; writes are refused, also
        those of processes that still hold a session of it.

          lockkeeper account sign-out alice
        """

    private let id: AccountID

    init(_ arguments: inout Arguments) throws(UsageError) {
        id = try AccountID(argument: try arguments.positional("ID"))
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing { workspace in
            try await workspace.signOut(id)
            try AccountOutput.print(try await workspace.account(id), context)
        }
        return .success
    }
}
