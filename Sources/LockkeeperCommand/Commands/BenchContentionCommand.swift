import LockkeeperDomain
import LockkeeperSimulation

/// `bench contention`: several processes that write at the same time, beside plain SQLite.
struct BenchContentionCommand: BenchCommand {
    static let name = "bench contention"
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
    static let scenarioOptions: [OptionSpecification] = [
        .value("processes", "N", "processes that write [8]"),
        .value("batch", "N", "messages in one transaction [1]"),
        .value("seconds", "S", "how long they write, each time [10]"),
        .value("sync-delay", "MS", "how much longer each sync takes [0]"),
        .value("repeat", "N", "how often both are measured [3]"),
        .value("through", "WAY", "how messages reach Lockkeeper: ingest or write [ingest]"),
        .flag("mixed", "one that holds 5 ms in a loop against one that writes every 100 ms"),
    ]

    private let plan: ContentionPlan
    let reportPath: String?

    init(_ arguments: inout Arguments) throws(UsageError) {
        reportPath = arguments.value("report")
        var plan = ContentionPlan()
        plan.processCount = try arguments.integer("processes", in: 1...128) ?? plan.processCount
        plan.batchCount = try arguments.integer("batch", in: 1...10_000) ?? plan.batchCount
        plan.time = try Self.time(&arguments) ?? plan.time
        if let delay = try arguments.integer("sync-delay", in: 0...1000) {
            plan.syncDelay = .milliseconds(delay)
        }
        plan.repeatCount = try arguments.integer("repeat", in: 1...100) ?? plan.repeatCount
        plan.way = try arguments.choice("through", of: BenchAssignment.Way.self) ?? plan.way
        plan.isMixed = arguments.flag("mixed")
        self.plan = plan
    }

    func measure(at site: BenchSite) async throws -> BenchReport {
        try await ContentionRun(plan, at: site).run()
    }
}
