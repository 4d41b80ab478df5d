import LockkeeperDomain
import LockkeeperSimulation

/// `bench open`: opening an account of few messages, of many, and with a long log.
struct BenchOpenCommand: BenchCommand {
    static let name = "bench open"
    static let summary = "measure opening an account of few messages, of many, and with a long log"
    static let details = """
        Makes one store of few messages and one of many, which is not measured, and opens them in
        turn, each time from nothing to the head of the commit log. The large one is also opened up to
        its newest page, with its files in the system's cache and without them. Then its log is
        made long without anybody copying it, as after a kill, and it is opened and written to once
        more. What is printed are medians and their ratio.

          lockkeeper bench open --messages 5000000 --json
        """
    static let scenarioOptions: [OptionSpecification] = [
        .value("messages", "N", "messages in the large store [5000000]"),
        .value("few", "N", "messages in the small store [1000]"),
        .value("opens", "N", "how often each is opened [50]"),
        .value("log", "MIB", "size of the long log in MiB, 0 for none [500]"),
    ]

    private let plan: OpenPlan
    let reportPath: String?

    init(_ arguments: inout Arguments) throws(UsageError) {
        reportPath = arguments.value("report")
        var plan = OpenPlan()
        plan.manyCount = try arguments.integer("messages", in: 1...100_000_000) ?? plan.manyCount
        plan.fewCount = try arguments.integer("few", in: 1...100_000_000) ?? plan.fewCount
        plan.openCount = try arguments.integer("opens", in: 1...10_000) ?? plan.openCount
        if let log = try arguments.integer("log", in: 0...100_000) {
            plan.logByteCount = Int64(log) * 1024 * 1024
        }
        self.plan = plan
    }

    func measure(at site: BenchSite) async throws -> BenchReport {
        try await OpenRun(plan, at: site).run()
    }
}
