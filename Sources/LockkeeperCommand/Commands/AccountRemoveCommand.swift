import Lockkeeper
import LockkeeperDomain

/// `account remove`: removes an account with its data.
struct AccountRemoveCommand: Command {
    static let name = "account remove"
    static let usage = "ID [--yes] [options]"
    static let summary = "remove an account and everything that is stored of it"
    static let details = """
        Removes an account from the workspace: its databases, logs, and whatever was moved aside of
        it. Other accounts are not touched. It cannot be undone. Processes that have the account
        open are asked to leave it; where one does not, it is named and nothing is removed. Removing
        that was interrupted is completed by whoever opens the workspace next.

        The files are removed, not overwritten: what the disk keeps in free blocks, in snapshots and
        in backups is not reached. The empty folder with the lock file stays.

          lockkeeper account remove alice --yes
        """
    static let destroys: String? =
        "This removes everything that is stored of the account and cannot be undone."

    private let id: AccountID

    init(_ arguments: inout Arguments) throws(UsageError) {
        id = try AccountID(argument: try arguments.positional("ID"))
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing { workspace in
            try await workspace.removeAccount(id)
            guard context.options.isJSON else {
                return try context.console.print("\(terminalID(id.description))  removed")
            }
            try context.console.print { writer in
                writer.beginVersionedObject()
                writer.member("account", id)
                writer.key("removed")
                writer.bool(true)
                writer.endObject()
            }
        }
        return .success
    }
}
