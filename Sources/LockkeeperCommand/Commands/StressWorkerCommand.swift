import LockkeeperPlatform
import LockkeeperSimulation

/// `stress-worker`: one process of a stress run, started by it.
struct StressWorkerCommand: Command {
    static let name = "stress-worker"
    static let usage = "--name ROLE-N.LIFE --histories DIR --root DIR"
    static let summary = "be one process of a stress run"
    static let details = """
        Does what its role says until its input ends, writes what it asks and what it is told into
        its history, and prints a line whenever something was done.

          lockkeeper stress-worker --name ingest-1.1 --histories DIR --root DIR
        """
    static let options: [OptionSpecification] = [
        .value("name", "ROLE-N.LIFE", "which process of the run it is"),
        .value("histories", "DIR", "where the histories are"),
        .value("seed", "N", "seeds what it does"),
        .value("log-frames", "N", "how many frames a log has when it is copied"),
        .flag("stays-long", "it stays in snapshots for seconds"),
        .value("inject-bug", "BUG", "the defect that it has"),
    ]
    static let isHidden = true

    private let settings: StressWorker.Settings

    init(_ arguments: inout Arguments) throws(UsageError) {
        guard let name = arguments.value("name"), let process = StressProcess(name),
            let histories = arguments.value("histories")
        else { throw UsageError("--name and --histories are needed.") }
        var settings = StressWorker.Settings(
            process: process,
            histories: histories,
            seed: try arguments.integer("seed", in: 0...UInt64.max) ?? 0
        )
        settings.checkpointFrameCount = try arguments.integer("log-frames", in: 1...Int.max)
        settings.staysLong = arguments.flag("stays-long")
        settings.defect = try arguments.choice("inject-bug", of: PlantedDefect.self)
        self.settings = settings
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let console = context.console
        settings.defect?.plant()
        let root = try FileSystem.canonicalPath(context.root)
        // Without a reader nobody waits any more; the input has ended as well then.
        let worker = try StressWorker(settings, root: root) { try? console.print("done") }
        try await worker.run()
        return .success
    }
}
