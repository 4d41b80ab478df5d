import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform

/// `check`: inspects an account's store.
struct CheckCommand: Command {
    static let name = "check"
    static let usage = "[--deep]"
    static let summary = "inspect the store: structure, counters, cursors"
    static let details = """
        Looks at the account's databases while others use them: their structure and commit logs;
        with --deep also indexes against tables, summaries, cursors, and every stored counter
        against its recount. Prints what it finds with what to do, and ends with code 1 when that is
        anything: a missing file, a program that has the database open without Lockkeeper, a packet of
        the inbox that is damaged or parked, a quarantine that is nearly full, too.
        Says on stderr whether the loaded SQLite has the WAL-reset fault. It reads a retired account
        too.

          lockkeeper check --account alice --deep
        """
    static let options: [OptionSpecification] = [
        .flag("deep", "look at everything, which reads everything")
    ]

    static let awaitedSignals: [Signal] = [.interrupt]

    private let isDeep: Bool

    init(_ arguments: inout Arguments) throws(UsageError) { isDeep = arguments.flag("deep") }

    private func look(
        in context: CommandContext,
        _ meter: ProgressMeter
    ) async throws -> [InspectionFinding] {
        try await context.changing { workspace in
            let account = try await context.account(in: workspace)
            let level: InspectionLevel = isDeep ? .deep : .quick
            return try await workspace.inspection(of: account, level: level) {
                meter.show(done: $0, of: $1)
            }.findings
                + workspace.foreignProcesses(of: account).map(\.finding)
                + workspace.warnings(of: account)
        }
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let meter = ProgressMeter(context, "check", unit: "tables")
        let findings = try await meter.whileRunning(interrupted: "Nothing was changed.") {
            try await Interrupts.cancelling { try await look(in: context, meter) }
        }
        context.console.note(
            "lockkeeper: "
                + StatusOutput.sqliteLine(
                    Workspace.sqliteVersion,
                    hasResetFix: Workspace.sqliteHasResetFix,
                    excludesCheckpoints: Workspace.excludesCheckpoints
                )
        )
        try FindingOutput.print(findings, in: context)
        if findings.isEmpty { context.console.note("lockkeeper: nothing found") }
        return findings.isEmpty ? .success : .found
    }
}
