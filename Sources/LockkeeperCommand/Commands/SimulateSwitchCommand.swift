import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation

/// `simulate switch`: account switches under everything that can happen to processes.
struct SimulateSwitchCommand: Command {
    static let name = "simulate switch"
    static let usage = "[options]"
    static let summary = "switch accounts under stops, kills and clock steps, and judge the result"
    static let details = """
        Starts a host and helpers as programs of their own on a fresh workspace. The host switches
        among the accounts at random moments; the helpers store pages into whatever account they
        believe is active. Processes are stopped between taking their token and committing, inside
        of a transaction and anywhere else, killed, told to switch at the same moment, and their
        time of day steps. At the end what they said is compared with what the databases hold:
        nothing may be stored under a generation that was not current, no refused page may leave a
        row or move a cursor, and nobody may be left without an answer.

        The first line says the seed; --seed repeats the schedule. The first violation is told as a
        story, and the code is 1. --inject-bug gives the helpers a defect, which must be found.

          lockkeeper simulate switch --duration 60 --seed 7
        """
    static let options: [OptionSpecification] = [
        .value("seed", "N", "repeats the schedule of an earlier run [drawn anew]"),
        .value("duration", "S", "how long the schedule is, in seconds [10]"),
        .value("accounts", "N", "how many accounts there are [3]"),
        .value("helpers", "N", "how many helpers store [3]"),
        .value(
            "inject-bug",
            "BUG",
            "skip-fence-check or check-fence-outside-transaction"
        ),
    ]

    private let plan: SwitchPlan

    init(_ arguments: inout Arguments) throws(UsageError) {
        plan = SwitchPlan(
            seed: try arguments.integer("seed", in: 0...UInt64.max)
                ?? .random(in: 0...UInt64(UInt32.max)),
            duration: .seconds(try arguments.integer("duration", in: 1...86_400) ?? 10),
            accountCount: try arguments.integer("accounts", in: 2...64) ?? 3,
            helperCount: try arguments.integer("helpers", in: 1...64) ?? 3,
            defect: try arguments.choice("inject-bug", of: SwitchDefect.self)
        )
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let console = context.console
        console.note("seed \(plan.seed)")
        let folder = try ScratchFolder(kept: context.options.namedRoot, for: "simulation")
        defer { folder.remove() }
        var run = SwitchRun(
            plan,
            supervisor: Supervisor(program: try context.program, root: folder.path),
            note: { console.note($0) }
        )
        let report = try await run.run()
        if context.options.isJSON {
            try console.print { report.write(into: &$0) }
        } else {
            for line in report.lines { try console.print(line) }
        }
        return report.isClean ? .success : .found
    }
}
