import LockkeeperPlatform
import LockkeeperSimulation

/// `stress-worker`: one process of a stress run, started by it.
struct StressWorkerCommand: Command {
    static let name = "stress-worker"
    static let usage = "--name ROLE-N.LIFE --histories DIR --root DIR"
    static let summary = "be one process of a stress run"
    static let details = """
        Does what its role says until its input ends, writes what it asks and what it is told into
        its history, and prints a line whenever something was done. With --migrate it is a program
        that brings a schema of its own, and ends.

          lockkeeper stress-worker --name ingest-1.1 --histories DIR --root DIR
        """
    static let options: [OptionSpecification] = [
        .value("name", "ROLE-N.LIFE", "which process of the run it is"),
        .value("histories", "DIR", "where the histories are"),
        .value("seed", "N", "seeds what it does"),
        .value("log-frames", "N", "how many frames a log has when it is copied"),
        .flag("stays-long", "it stays in snapshots for seconds"),
        .value("inject-bug", "BUG", "the defect that it has"),
        .value("failpoint", "PLACE", "where it dies or stops by itself"),
        .value("act", "ACT", "which of the two: kill or stop [kill]"),
        .value("at", "N", "at which coming to the place [1]"),
        .value("migrate", "N", "instead, migrates an account to a schema of N steps"),
    ]
    static let isHidden = true

    private let settings: StressWorker.Settings?
    private let migrationCount: Int?

    init(_ arguments: inout Arguments) throws(UsageError) {
        migrationCount = try arguments.integer("migrate", in: 1...Int.max)
        settings = migrationCount == nil ? try Self.settings(&arguments) : nil
    }

    private static func settings(
        _ arguments: inout Arguments
    ) throws(UsageError) -> StressWorker.Settings {
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
        if let place = try arguments.choice("failpoint", of: Failpoint.self) {
            settings.failpoint = (
                place,
                try arguments.choice("act", of: Failpoint.Act.self) ?? .kill,
                try arguments.integer("at", in: 1...Int.max) ?? 1
            )
        }
        return settings
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let console = context.console
        let root = try FileSystem.canonicalPath(context.root)
        if let migrationCount {
            try await StressMigration.run(migrationCount, of: context.options.account, at: root)
            return .success
        }
        guard let settings else { preconditionFailure("a worker was told what it is") }
        settings.defect?.plant()
        if let failpoint = settings.failpoint {
            failpoint.place.arm(failpoint.act, at: failpoint.count)
        }
        // Without a reader nobody waits any more; the input has ended as well then.
        let worker = try StressWorker(settings, root: root) { try? console.print("done") }
        try await worker.run()
        return .success
    }
}
