import Lockkeeper

/// `account list`: the workspace's accounts.
struct AccountListCommand: Command {
    static let name = "account list"
    static let usage = "[options]"
    static let summary = "list the accounts with state and generation"
    static let details = """
        Lists the accounts of the workspace in the order of their ids.

          lockkeeper account list --json
        """

    init(_ arguments: inout Arguments) throws(UsageError) {}

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing { workspace in
            for account in try await workspace.accounts() {
                try AccountOutput.print(account, context)
            }
        }
        return .success
    }
}
