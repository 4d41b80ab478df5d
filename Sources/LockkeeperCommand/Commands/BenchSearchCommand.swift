import LockkeeperDomain
import LockkeeperSimulation

/// `bench search`: the first page of hits among many messages.
struct BenchSearchCommand: BenchCommand {
    static let name = "bench search"
    static let summary = "measure the first page of hits among many messages"
    static let details = """
        Stores messages, which is not measured, and looks for a common word, a rare one, two
        characters, a phrase, and two ideographs, as far as the texts have them: once the index has
        caught up, and while another process ingests a thousand messages a second. The number of all
        hits is held against a scan of all texts before, and it is an error where they differ. Times
        are milliseconds.

          lockkeeper bench search --file feed.ndjson --json
        """
    static let scenarioOptions: [OptionSpecification] = [
        .value("messages", "N", "messages in the store, where they are made [200000]"),
        .value("file", "FILE", "event lines to store instead"),
        .value("searches", "N", "searches of each measurement [200]"),
        .value("repeat", "N", "how often each is measured [3]"),
    ]

    private let plan: SearchPlan
    let reportPath: String?

    init(_ arguments: inout Arguments) throws(UsageError) {
        reportPath = arguments.value("report")
        var plan = SearchPlan()
        plan.messageCount =
            try arguments.integer("messages", in: 1...10_000_000) ?? plan.messageCount
        plan.file = arguments.value("file")
        plan.searchCount = try arguments.integer("searches", in: 1...100_000) ?? plan.searchCount
        plan.repeatCount = try arguments.integer("repeat", in: 1...100) ?? plan.repeatCount
        self.plan = plan
    }

    func measure(at site: BenchSite) async throws -> BenchReport {
        try await SearchSpeedRun(plan, at: site).run()
    }
}
