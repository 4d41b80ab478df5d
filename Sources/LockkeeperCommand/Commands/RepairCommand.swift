import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import Synchronization

/// `repair`: saves what can be read of damaged databases.
struct RepairCommand: Command {
    static let name = "repair"
    static let usage = "[ACCOUNT] [options]"
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

        A log that was missing once is told by every check until a repair, or until --accept-log says
        that nothing was lost: another program that closes a database last puts the log into it and
        removes it. A database that is not there is put back, or restored; where neither can be,
        --begin-anew makes an empty one. Nothing removes what lies in 'damaged' but --discard-damaged.

          lockkeeper check --account alice --deep
          lockkeeper repair alice
          lockkeeper repair alice --begin-anew --yes
          lockkeeper repair alice --discard-damaged --yes
        """
    static let options: [OptionSpecification] = [
        .flag("accept-log", "note that a log that was missing held nothing, and do nothing else"),
        .flag("begin-anew", "make an empty database in the place of one that is not there"),
        .flag("discard-damaged", "remove what was moved aside, and do nothing else"),
    ]

    static let destroys: String? =
        "What is given up with --begin-anew or --discard-damaged cannot be had back."

    private enum Work {
        case repair(beginsAnew: Bool)
        case acceptLog
        case discardDamaged
    }

    static let awaitedSignals: [Signal] = [.interrupt]

    private let account: String?
    private let work: Work

    init(_ arguments: inout Arguments) throws(UsageError) {
        account = arguments.optionalPositional()
        let (accepts, begins) = (arguments.flag("accept-log"), arguments.flag("begin-anew"))
        let discards = arguments.flag("discard-damaged")
        guard [accepts, begins, discards].filter({ $0 }).count <= 1 else {
            throw UsageError("--accept-log, --begin-anew and --discard-damaged go one at a time.")
        }
        work = accepts ? .acceptLog : discards ? .discardDamaged : .repair(beginsAnew: begins)
    }

    var loss: String? {
        switch work {
        case .repair(beginsAnew: true): "What the missing database held is given up."
        case .discardDamaged: "This removes the damaged files and cannot be undone."
        case .repair, .acceptLog: nil
        }
    }

    /// What stands when somebody ends it early.
    private var interrupted: String {
        switch work {
        case .repair: "Nothing was deleted; 'lockkeeper repair' goes on with what was begun."
        case .acceptLog: "The missing logs that were not accepted yet are told by the next check."
        case .discardDamaged: "What was not removed yet still lies in the folder 'damaged'."
        }
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        try Interrupts.explaining(interrupted, on: context.console)
        let named = try account.map { try AccountID(argument: $0) }
        return try await context.changing { workspace in
            let account: AccountID
            if let named {
                account = named
            } else {
                account = try await context.account(in: workspace)
            }
            switch work {
            case .repair(let beginsAnew):
                return try await repair(account, beginsAnew: beginsAnew, workspace, context)
            case .acceptLog:
                let kinds = try await workspace.acceptMissingLogs(of: account).map(\.rawValue)
                try print(account, "accepted", kinds.joined(separator: " "), context) {
                    kinds.isEmpty
                        ? "no log was missing"
                        : "the missing log of \(kinds.joined(separator: ", ")) is no finding any more"
                }
                return .success
            case .discardDamaged:
                let report = try await workspace.discardDamaged(of: account)
                try print(account, "discarded_bytes", String(report.byteCount), context) {
                    "\(report.fileCount) files with \(report.byteCount) bytes removed"
                }
                return .success
            }
        }
    }

    private func repair(
        _ account: AccountID,
        beginsAnew: Bool,
        _ workspace: Workspace,
        _ context: CommandContext
    ) async throws -> ExitCode {
        let meter = RepairMeter(context.console)
        let report: RepairReport
        do {
            report = try await workspace.repair(account, beginsAnew: beginsAnew) { meter.show($0) }
        } catch {
            meter.end()
            throw error
        }
        meter.end()
        if context.options.isJSON {
            try context.console.print { report.write(into: &$0) }
        } else {
            for line in report.lines { try context.console.print(terminalText(line)) }
        }
        return report.isWhole ? .success : .found
    }

    private func print(
        _ account: AccountID,
        _ key: StaticString,
        _ value: String,
        _ context: CommandContext,
        _ sentence: () -> String
    ) throws {
        guard context.options.isJSON else {
            return try context.console.print(
                "account \(terminalID(account.description)): \(sentence())"
            )
        }
        try context.console.print { writer in
            writer.beginVersionedObject()
            writer.member("account", account)
            writer.member(key, value)
            writer.endObject()
        }
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
