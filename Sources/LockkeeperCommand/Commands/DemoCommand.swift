import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation

/// `demo`: shows the main job with real processes.
struct DemoCommand: Command {
    static let name = "demo"
    static let usage = "[FILE] [--seed N] [--root DIR]"
    static let summary = "several processes, one killed, one switch, and nothing lost"
    static let details = """
        Makes a fresh workspace with the accounts alice and bob; starts a host, a follower and three
        helpers as programs of their own; lets the helpers store generated chat traffic, or that of
        a file of event lines, into alice at the same time; kills one in the middle and starts it
        again; switches to bob while a helper still holds alice's token. Then it compares both
        databases with what was sent. The last line says what was lost; the code is 1 if anything
        was. With --root the workspace is kept, to be looked at.

          lockkeeper demo --seed 7
        """
    static let options: [OptionSpecification] = [
        .value("seed", "N", "makes the same traffic as an earlier run [drawn anew]")
    ]

    private let path: String?
    private let seed: UInt64?

    /// Long enough for a large file on a slow disk; a run of generated traffic takes seconds.
    private static let hangingAfter: Duration = .seconds(300)

    init(_ arguments: inout Arguments) throws(UsageError) {
        path = arguments.optionalPositional()
        seed = try arguments.integer("seed", in: 0...UInt64.max)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let console = context.console
        let seed = seed ?? .random(in: 0...UInt64(UInt32.max))
        console.note("seed \(seed)")
        let plan: DemoPlan
        if let path {
            plan = try DemoPlan(file: path, seed: seed) { number, error in
                console.note("line \(number): \(error)")
            }
        } else {
            plan = DemoPlan(seed: seed)
        }
        let folder = try ScratchFolder(kept: context.options.namedRoot, for: "demo")
        defer { folder.remove() }
        let program = try context.program
        let clock = SystemClock()
        var run = DemoRun(
            plan,
            supervisor: Supervisor(program: program, root: folder.path),
            deadline: Deadline(after: Self.hangingAfter, from: clock.now()),
            note: { console.note($0) }
        )
        let report = try await run.run()
        if context.options.isJSON {
            try console.print { report.write(into: &$0) }
        } else {
            for line in report.lines { try console.print(line) }
        }
        return report.verdict.losses.isEmpty ? .success : .found
    }
}
