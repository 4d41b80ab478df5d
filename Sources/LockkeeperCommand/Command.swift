import LockkeeperPlatform

/// One command of the program: how it is called, and what it does.
///
/// A value of it is a command line that was understood; making one does nothing else. Commands hold
/// no logic of the product's own: they call it, print, and choose the exit code.
protocol Command: Sendable {
    /// The words that name it: "ingest", "account add".
    static var name: String { get }
    /// What follows the name: "[FILE|-] [options]".
    static var usage: String { get }
    /// What it does, as one line.
    static var summary: String { get }
    /// What else there is to know, with an example.
    static var details: String { get }
    /// The options that it has beside the global ones.
    static var options: [OptionSpecification] { get }
    /// The signals that it waits for itself; they are blocked in every thread of the program.
    static var awaitedSignals: [Signal] { get }

    /// What it takes away that nobody can give back, as a sentence; `nil` for a command that takes
    /// nothing away. It then has the option `--yes`, and is asked for on a terminal without it.
    static var destroys: String? { get }

    /// What this command line takes away, where only some of its options do; ``destroys`` else.
    var loss: String? { get }

    /// Whether the help leaves it out: other commands of the program start it.
    static var isHidden: Bool { get }

    /// Takes what it needs from a command line.
    ///
    /// - Throws: ``UsageError`` when something is missing or cannot be used.
    init(_ arguments: inout Arguments) throws(UsageError)

    /// Does it. Runs on the command's own thread, which it may block.
    ///
    /// - Throws: whatever ended it early; ``Failure`` makes a sentence and an exit code of it.
    func run(in context: CommandContext) async throws -> ExitCode
}

extension Command {
    static var options: [OptionSpecification] { [] }
    static var awaitedSignals: [Signal] { [] }
    static var destroys: String? { nil }
    static var isHidden: Bool { false }
    var loss: String? { Self.destroys }

    /// Every option that it understands beside the global ones.
    static var allOptions: [OptionSpecification] {
        destroys == nil ? options : options + [.flag("yes", "do it without asking")]
    }
}
