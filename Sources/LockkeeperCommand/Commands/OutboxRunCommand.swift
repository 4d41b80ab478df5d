import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform

/// `outbox run`: tells the server by a program of the user's.
struct OutboxRunCommand: Command {
    static let name = "outbox run"
    static let usage = "[options] -- COMMAND [ARGUMENT…]"
    static let summary = "tell the server what waits in the outbox, by a program of yours"
    static let details = """
        Starts COMMAND once for each item whose turn it is, and gives it the item as one JSON line on
        standard input: "act", "key", "event". COMMAND tells the server and answers with one line:

          {"id":"m17","seq":181,"server_at":"2026-01-01T00:00:00Z"}   the server has the message
          {} or {"version":3}                    the server has what is no message, an edit for
                                                 example at that version
          {"failed":"no route"}                  not done; tried again after a while that grows. With
                                                 "retry_after_ms":N not before N ms, an hour at most
          {"refused":"too long"}                 never; parked, and the next goes on

        An answer that cannot be true, because another message has the id or the place, or because it
        is about another one, confirms nothing: the item stays as unknown and 'outbox list' says why.
        "overtaken" says that the server has it and that another version, which it has told of, stands.
        Without an answer exit code 75 means "not done, try again"; any other end leaves the outcome
        unknown. Where COMMAND cannot be started no attempt counts, and the run ends with code 69; so it
        does where COMMAND ends with 126 or 127, as a shell does that finds no program. A message of unknown
        outcome is repeated only where the account's server refuses doubles ('account add
        --refuses-doubles'), else 'outbox retry' or 'outbox cancel' decide.

        Items of one conversation are told in order, one at a time, by however many processes; one that
        is parked or unknown lets those behind it go on. A claim lives as long as COMMAND, which has it
        as descriptor 3: it ends with COMMAND though this process is killed, and at once when COMMAND
        is. COMMAND leads a process group, which is ended with it, two seconds after it was asked to.
        At SIGTERM the item in work is finished first, within --grace seconds, because one that is
        ended in the middle may have reached the server; a second SIGTERM does not wait.

        What is left is named on the error stream, with the reason. The code is 75 where items wait for
        a later attempt or are another's, else 0, also where only a person can decide about what is
        left.

          lockkeeper outbox run --account alice -- ./send.sh
        """
    static let options: [OptionSpecification] = [
        .flag("follow", "stay, and tell what comes, until SIGTERM"),
        .value("timeout", "SECONDS", "end COMMAND when it takes longer for one item [60]"),
        .value("grace", "SECONDS", "at SIGTERM let COMMAND go on for so long [10]"),
    ]
    static let awaitedSignals = Relay.signals

    private let relayed: RelayOptions

    init(_ arguments: inout Arguments) throws(UsageError) {
        relayed = try RelayOptions(&arguments)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await relayed.run(in: context) { messages, relay in
            try await relay.run(following: messages.session) {
                guard let claim = try await messages.claimNextOutboxItem() else { return false }
                try await relay.tell(RelayedItem(claim))
                return true
            } wait: {
                try await messages.outboxWait()
            } remains: {
                try await OutboxOutput.remains(messages)
            }
        }
    }
}

/// `effects run`: has a program of the user's show and withdraw notifications.
struct EffectsRunCommand: Command {
    static let name = "effects run"
    static let usage = "[options] -- COMMAND [ARGUMENT…]"
    static let summary = "notify of new messages, by a program of yours"
    static let details = """
        Starts COMMAND once for each effect, and gives it the effect as one JSON line on standard input:
        "effect" is "notify", with the "message", or "withdraw" when that was read elsewhere, recalled
        or deleted. "tag" names the notification, "key" the effect: it is handed out at least once, and
        with the same key when it is handed out again. COMMAND answers as that of 'outbox run' does:
        {} when it is done, {"failed":…}, {"refused":…}.

        However many processes ingest a message, it has one notify, and one process at a time acts on
        it. The claim lives as long as COMMAND.

          lockkeeper effects run --follow --account alice -- ./notify.sh
        """
    static let options = OutboxRunCommand.options
    static let awaitedSignals = Relay.signals

    private let relayed: RelayOptions

    init(_ arguments: inout Arguments) throws(UsageError) {
        relayed = try RelayOptions(&arguments)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try await relayed.run(in: context) { messages, relay in
            try await relay.run(following: messages.session) {
                guard let claim = try await messages.claimNextEffect() else { return false }
                try await relay.tell(RelayedEffect(claim))
                return true
            } wait: {
                try await messages.effectWait()
            } remains: {
                try await EffectOutput.remains(messages)
            }
        }
    }
}

/// What the two commands above are given.
struct RelayOptions: Sendable {
    private let words: [String]
    private let timeout: Duration
    private let grace: Duration
    private let follows: Bool

    init(_ arguments: inout Arguments) throws(UsageError) {
        follows = arguments.flag("follow")
        timeout = .seconds(try arguments.integer("timeout", in: 1...86_400) ?? 60)
        grace = .seconds(try arguments.integer("grace", in: 0...86_400) ?? 10)
        words = [try arguments.positional("COMMAND, behind --,")] + arguments.remainingPositionals()
    }

    /// Opens the workspace and runs a relay in it.
    func run(
        in context: CommandContext,
        _ body: (MessageStore, Relay) async throws -> ExitCode
    ) async throws -> ExitCode {
        try await context.changing { workspace in
            let session = try await workspace.session(context.account(in: workspace))
            let relay = Relay(
                words,
                timeout: timeout,
                grace: grace,
                follows: follows,
                in: context
            )
            return try await body(MessageStore(session), relay)
        }
    }
}
