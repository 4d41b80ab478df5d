import Lockkeeper
import LockkeeperDomain

/// `switch`: signs out of one account and into another as one act.
struct SwitchCommand: Command {
    static let name = "switch"
    static let usage = "ID [--account OLD] [--create]"
    static let summary = "sign out of the active account and into another as one act"
    static let details = """
        Switches from the active account (--account names it where several are) to another. Once it
        returns, nothing more is written to the old one, also not by a process that was asleep
        meanwhile. It needs no host. Where the account is active already, nothing is done.

          lockkeeper switch bob
        """
    static let options: [OptionSpecification] = [
        .flag("create", "add the account where it is missing")
    ]

    private let id: AccountID
    private let creates: Bool

    init(_ arguments: inout Arguments) throws(UsageError) {
        id = try AccountID(argument: try arguments.positional("ID"))
        creates = arguments.flag("create")
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing { workspace in
            let accounts = try await workspace.accounts()
            if !accounts.contains(where: { $0.id == id }), creates {
                try await workspace.addAccount(id)
            }
            if accounts.count(where: { $0.state == .active }) > 1 {
                // Nobody says which of them is to be left.
                _ = try await context.account(in: workspace)
            }
            try await change(in: workspace, context)
            try AccountOutput.print(try await workspace.account(id), context)
        }
        return .success
    }

    private func change(
        in workspace: Workspace,
        _ context: CommandContext
    ) async throws {
        if let old = context.options.account, old != id {
            try await workspace.replaceAccount(old, with: id)
            return
        }
        // Which account is active is looked at once nobody else switches: in the middle of another
        // switch none is.
        guard try await !workspace.makeOnlyActive(id).isNew else { return }
        context.console.note("lockkeeper: \(id) is active already")
    }
}
