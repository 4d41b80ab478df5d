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
        contradiction. What holds for most streams is said with options; a stream that is delivered
        otherwise has a word of its own in --streams, in which what is not said is as by default.
        Where the account's folder has its databases, of which workspace.db and account.json were
        lost, the account is added with these.

          lockkeeper account add alice --own-id u1 --activate
          lockkeeper account add bob --streams 'push:no-redelivery,no-resume history:keeps-for=604800'
        """
    static let options: [OptionSpecification] =
        [
            .value("own-id", "ID", "who the account is among the senders of its messages"),
            .flag("activate", "activate it at once"),
        ] + StreamContractArguments.options + [
            .value(
                "streams",
                "NAME:WORD,…",
                "streams that are delivered otherwise, apart by spaces"
            ),
            .value(
                "order",
                "unique|ties",
                "whether messages may share a place [unique]"
            ),
            .value(
                "authority",
                "WHO",
                "server, author or author-of-edits decides [server]"
            ),
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
            delivery: try StreamContractArguments.delivery(arguments),
            streams: try StreamContractArguments.streams(arguments.value("streams") ?? ""),
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
