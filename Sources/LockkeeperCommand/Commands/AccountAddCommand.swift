import Lockkeeper
import LockkeeperDomain

/// `account add`: adds an account with its server's contract.
struct AccountAddCommand: Command {
    static let name = "account add"
    static let usage = "ID [options]"
    static let summary = "add an account, with what its server promises"
    static let details = """
        Adds an account to the workspace, which is made where it is missing. The account takes
        writes once it is activated. What its server promises is stored with it, so that every
        process decides alike: what may be acknowledged before it is durable, what counts as a
        contradiction.

          lockkeeper account add alice --own-id u1 --activate
        """
    static let options: [OptionSpecification] = [
        .value("own-id", "ID", "who the account is among the senders of its messages"),
        .flag("activate", "activate it at once"),
        .value(
            "retention",
            "keeps|drops",
            "what the server does with what is acknowledged [keeps]"
        ),
        .flag("no-redelivery", "the server does not send again what was not acknowledged"),
        .flag("no-resume", "the server cannot be asked again from a cursor"),
        .value(
            "order",
            "unique|ties",
            "whether messages of a conversation may share a seq [unique]"
        ),
        .value("authority", "server|author", "who may edit and recall [server]"),
        .flag("refuses-doubles", "the server refuses a second message with one client id"),
    ]

    private let id: AccountID
    private let ownID: [UInt8]?
    private let contract: ServerContract
    private let activates: Bool

    init(_ arguments: inout Arguments) throws(UsageError) {
        id = try AccountID(argument: try arguments.positional("ID"))
        ownID = arguments.value("own-id").map { Array($0.utf8) }
        if ownID?.isEmpty == true { throw UsageError("--own-id must not be empty.") }
        activates = arguments.flag("activate")
        contract = ServerContract(
            redelivers: !arguments.flag("no-redelivery"),
            resumesFromCursor: !arguments.flag("no-resume"),
            retention: try arguments.choice("retention", of: ServerContract.Retention.self)
                ?? .keeps,
            refusesDoubles: arguments.flag("refuses-doubles"),
            order: try arguments.choice("order", of: ServerContract.Order.self) ?? .unique,
            authority: try arguments.choice("authority", of: ServerContract.Authority.self)
                ?? .server
        )
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await context.changing(creating: true) { workspace in
            try await workspace.addAccount(id, ownID: ownID, contract: contract)
            if activates { try await workspace.activate(id) }
            try AccountOutput.print(try await workspace.account(id), context)
        }
        return .success
    }
}
