import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import Synchronization

/// `repair`: saves what can be read of damaged databases.
struct RepairCommand: Command {
    static let name = "repair"
    static let usage = "[ACCOUNT]"
    static let summary = "save what can be read of damaged databases into new ones"
    static let details = """
        Looks first, and changes nothing where nothing is damaged. Otherwise every process that has
        the account open is asked to leave it; what can be read of the damaged files is saved into
        new ones, what nobody can give back first; counters and the search index are made anew; and
        where something was lost, the cursors are set back so that the server is asked again. The
        damaged files are kept in the account's folder 'damaged', with a report beside them of what
        was kept and what was lost, table by table. One that was interrupted is gone on with.

        A full disk, permissions, a newer schema are no damage: nothing is changed then. Ends with
        code 1 where something was lost.

          lockkeeper check --account alice --deep
          lockkeeper repair alice
        """
    static let options: [OptionSpecification] = []

    static let awaitedSignals: [Signal] = [.interrupt]

    private let account: String?

    init(_ arguments: inout Arguments) throws(UsageError) {
        account = arguments.optionalPositional()
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try Interrupts.explaining(
            "Nothing was deleted; 'lockkeeper repair' goes on with what was begun.",
            on: context.console
        )
        let meter = RepairMeter(context.console)
        let named = try account.map { try AccountID(argument: $0) }
        let report = try await context.changing { workspace in
            let account: AccountID
            if let named {
                account = named
            } else {
                account = try await context.account(in: workspace)
            }
            return try await workspace.repair(account) { meter.show($0) }
        }
        meter.end()
        if context.options.isJSON {
            try context.console.print { report.write(into: &$0) }
        } else {
            for line in report.lines { try context.console.print(terminalText(line)) }
        }
        return report.isWhole ? .success : .found
    }
}

/// Says on the error stream which phase a repair is in, and how far it is: a bar on a terminal, a line
/// for each phase elsewhere.
private final class RepairMeter: Sendable {
    private let console: Console
    private let isTerminal: Bool
    private let last = Mutex("")
    private static let width = 20

    init(_ console: Console) {
        self.console = console
        isTerminal = console.isErrorStreamShown
    }

    /// Notes how far it is. Called on any thread.
    func show(_ progress: RepairProgress) {
        let phase = progress.phase + (progress.database.map { " \($0.rawValue)" } ?? "")
        let line = isTerminal ? phase + bar(progress) : phase
        let isNew = last.withLock { last in
            defer { last = line }
            return last != line
        }
        guard isNew else { return }
        if isTerminal {
            console.show("lockkeeper: \(line)")
        } else {
            console.note("lockkeeper: \(line)")
        }
    }

    /// Takes the bar away.
    func end() { if isTerminal { console.show(nil) } }

    private func bar(_ progress: RepairProgress) -> String {
        guard progress.count > 0 else { return "" }
        let filled = min(progress.done, progress.count) * Self.width / progress.count
        let bar =
            String(repeating: "#", count: filled)
            + String(repeating: ".", count: Self.width - filled)
        let rows = progress.rowCount > 0 ? ", \(progress.rowCount) rows of the next" : ""
        return " [\(bar)] \(progress.done) of \(progress.count) tables\(rows)"
    }
}
