import LockkeeperDomain

/// The options that every command has.
struct GlobalOptions: Sendable, Hashable {
    /// The workspace's folder; `nil` where nothing names one.
    let root: String?
    /// The folder where the command line names it, for what must not happen to a workspace that the
    /// environment names.
    let namedRoot: String?
    /// The account that was named; `nil` for the only active one.
    let account: AccountID?
    /// Where the keys of encrypted accounts are kept; `nil` where files are plain.
    let keys: KeyPlace?
    /// Whether results and errors are printed for programs.
    let isJSON: Bool
    /// Whether what a command takes away may go without a question.
    let isConfirmed: Bool

    static let specifications: [OptionSpecification] =
        [
            .value(
                "root",
                "DIR",
                "the workspace (LOCKKEEPER_ROOT, else $XDG_STATE_HOME/lockkeeper)"
            ),
            .value("account", "ID", "the account (LOCKKEEPER_ACCOUNT, else the only active one)"),
            .value(
                "keys",
                "PLACE",
                "where keys are: a folder, secret-service, systemd (LOCKKEEPER_KEYS)"
            ),
            .flag("json", "print for programs: one JSON object per line"),
            .flag("help", "say what the command does"),
        ] + StatementTrace.options

    /// Which statements are told; `nil` for none.
    let trace: StatementTrace?

    /// Nothing was given.
    init() {
        root = nil
        namedRoot = nil
        account = nil
        keys = nil
        isJSON = false
        isConfirmed = false
        trace = nil
    }

    /// Takes the options from a command line, else from the environment. A variable that is empty
    /// counts as not set.
    ///
    /// - Throws: ``UsageError`` when an account id cannot be one.
    init(
        _ arguments: Arguments,
        environment: (String) -> String?
    ) throws(UsageError) {
        func variable(_ name: String) -> String? {
            environment(name).flatMap { $0.isEmpty ? nil : $0 }
        }
        let home = variable("HOME").map { "\($0)/.local/state" }
        namedRoot = arguments.value("root")
        root =
            namedRoot ?? variable("LOCKKEEPER_ROOT")
            ?? (variable("XDG_STATE_HOME") ?? home).map { "\($0)/lockkeeper" }
        let name = arguments.value("account") ?? variable("LOCKKEEPER_ACCOUNT")
        account = try name.map { text throws(UsageError) in try AccountID(argument: text) }
        keys = (arguments.value("keys") ?? variable("LOCKKEEPER_KEYS")).map { KeyPlace($0) }
        isJSON = arguments.flag("json")
        isConfirmed = arguments.flag("yes")
        trace = try StatementTrace(arguments)
    }
}

extension AccountID {
    /// The id that a command line names.
    ///
    /// - Throws: ``UsageError`` when it is empty or too long.
    init(argument text: String) throws(UsageError) {
        try self.init(shown: text, called: "An account id")
    }
}
