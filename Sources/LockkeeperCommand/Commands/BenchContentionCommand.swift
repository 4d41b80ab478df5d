import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation

/// `bench contention`: several processes that write at the same time, beside plain SQLite.
struct BenchContentionCommand: Command {
    static let name = "bench contention"
    static let usage = "[options]"
    static let summary = "measure processes that write at the same time, beside plain SQLite"
    static let details = """
        Lets processes write messages to one database, each transaction durable when it counts, and
        does the same with plain SQLite in C: WAL, synchronous=FULL, busy_timeout, the same rows.
        Both are measured in turn; what is printed are medians. `fair` is the least busy process's
        commits over the mean, `gap` the longest time that any process waited between two commits.
        Times are milliseconds. The disk is that of --root, an empty folder, else of temporary
        files.

          lockkeeper bench contention --processes 8 --batch 1 --seconds 10 --json
        """
    static let options: [OptionSpecification] = [
        .value("processes", "N", "processes that write [8]"),
        .value("batch", "N", "messages in one transaction [1]"),
        .value("seconds", "S", "how long they write, each time [10]"),
        .value("sync-delay", "MS", "how much longer each sync takes [0]"),
        .value("repeat", "N", "how often both are measured [3]"),
        .value("through", "WAY", "how messages reach Lockkeeper: ingest or write [ingest]"),
        .flag("mixed", "one that holds 5 ms in a loop against one that writes every 100 ms"),
    ]

    private let plan: ContentionPlan

    init(_ arguments: inout Arguments) throws(UsageError) {
        var plan = ContentionPlan()
        plan.processCount = try arguments.integer("processes", in: 1...128) ?? plan.processCount
        plan.batchCount = try arguments.integer("batch", in: 1...10_000) ?? plan.batchCount
        if let seconds = try arguments.integer("seconds", in: 1...3600) {
            plan.time = .seconds(seconds)
        }
        if let delay = try arguments.integer("sync-delay", in: 0...1000) {
            plan.syncDelay = .milliseconds(delay)
        }
        plan.repeatCount = try arguments.integer("repeat", in: 1...100) ?? plan.repeatCount
        plan.way = try arguments.choice("through", of: BenchAssignment.Way.self) ?? plan.way
        plan.isMixed = arguments.flag("mixed")
        self.plan = plan
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let console = context.console
        let folder = try ScratchFolder(kept: context.options.namedRoot, for: "bench")
        defer { folder.remove() }
        let program = try context.program
        let run = ContentionRun(plan, program: program, root: folder.path) { console.note($0) }
        let report = try await run.run()
        if context.options.isJSON {
            try console.print { report.write(into: &$0) }
        } else {
            for line in report.lines { try console.print(line) }
        }
        return .success
    }
}
