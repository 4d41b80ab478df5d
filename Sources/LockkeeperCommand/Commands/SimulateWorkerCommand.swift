import LockkeeperPlatform
import LockkeeperSimulation

/// `simulate-worker`: one process of a simulation, started by it.
struct SimulateWorkerCommand: Command {
    static let name = "simulate-worker"
    static let usage = "--number N --life N --root DIR"
    static let summary = "be one process of a simulation"
    static let details = """
        Number 0 is the host, others are helpers. Reads orders as lines, says what it does as lines,
        and ends with its input.

          lockkeeper simulate-worker --number 1 --life 1 --root DIR
        """
    static let options: [OptionSpecification] = [
        .value("number", "N", "which process of the simulation it is"),
        .value("life", "N", "how often it was started, this time included"),
        .value("inject-bug", "BUG", "the defect that it has"),
        .flag("can-stand", "it can be told to stand still before a change of a file"),
    ]
    static let isHidden = true

    private let role: SwitchWorker.Role

    init(_ arguments: inout Arguments) throws(UsageError) {
        guard let number = try arguments.integer("number", in: 0...64),
            let life = try arguments.integer("life", in: 1...Int.max)
        else { throw UsageError("--number and --life are needed.") }
        role = SwitchWorker.Role(
            number: number,
            life: life,
            defect: try arguments.choice("inject-bug", of: SwitchDefect.self),
            canStand: arguments.flag("can-stand")
        )
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let console = context.console
        let root = try FileSystem.canonicalPath(context.root)
        let worker = try await SwitchWorker(role, root: root) { line in
            // Without a reader nobody judges any more; the input has ended as well then.
            try? console.print(line)
        }
        try await worker.run()
        return .success
    }
}
