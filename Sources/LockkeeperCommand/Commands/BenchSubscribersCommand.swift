import LockkeeperDomain
import LockkeeperSimulation

/// `bench subscribers`: what those who listen cost those who write.
struct BenchSubscribersCommand: BenchCommand {
    static let name = "bench subscribers"
    static let summary = "measure writers beside many subscribers, one of them stopped"
    static let details = """
        Processes write one durable message at a time, at a given rate, beside a host: once with
        nobody who listens, once with subscribers, each with a feed of its own, one of them stopped.
        What is printed are medians of the time that a write took, and of the pairs' ratios.

          lockkeeper bench subscribers --subscribers 100 --rate 100 --seconds 10 --json
        """
    static let scenarioOptions: [OptionSpecification] = [
        .value("subscribers", "N", "feeds, one of them in a stopped process [100]"),
        .value("writers", "N", "processes that write [2]"),
        .value("rate", "N", "commits of all writers in a second, at the most [100]"),
        .value("seconds", "S", "how long they write, each time [10]"),
        .value("repeat", "N", "how many pairs are measured [5]"),
    ]

    private let plan: SubscribersPlan
    let reportPath: String?

    init(_ arguments: inout Arguments) throws(UsageError) {
        reportPath = arguments.value("report")
        var plan = SubscribersPlan()
        plan.subscriberCount =
            try arguments.integer("subscribers", in: 1...200) ?? plan.subscriberCount
        plan.writerCount = try arguments.integer("writers", in: 1...32) ?? plan.writerCount
        plan.rate = try arguments.integer("rate", in: 1...10_000) ?? plan.rate
        plan.time = try Self.time(&arguments) ?? plan.time
        plan.repeatCount = try arguments.integer("repeat", in: 1...100) ?? plan.repeatCount
        self.plan = plan
    }

    func measure(at site: BenchSite) async throws -> BenchReport {
        try await SubscribersRun(plan, at: site).run()
    }
}
