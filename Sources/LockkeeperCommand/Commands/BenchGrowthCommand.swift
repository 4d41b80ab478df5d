import LockkeeperDomain
import LockkeeperSimulation

/// `bench growth`: a commit among many messages, beside one among few.
struct BenchGrowthCommand: BenchCommand {
    static let name = "bench growth"
    static let summary = "measure a commit among many messages, beside one among few"
    static let details = """
        Commits 1, 10 and 100 messages with ids by chance, durably, to a store that has many messages
        and to one that has few, in turn. Making the stores is not measured. What is printed are the
        means of a round, in milliseconds, and their medians over the rounds.

          lockkeeper bench growth --many 5000000 --json
        """
    static let scenarioOptions: [OptionSpecification] = [
        .value("many", "N", "messages in the large store [1000000]"),
        .value("few", "N", "messages in the small store [10000]"),
        .value("repeat", "N", "how often both are measured [5]"),
    ]

    private let manyCount: Int
    private let fewCount: Int
    private let repeatCount: Int
    let reportPath: String?

    init(_ arguments: inout Arguments) throws(UsageError) {
        reportPath = arguments.value("report")
        manyCount = try arguments.integer("many", in: 1...10_000_000) ?? 1_000_000
        fewCount = try arguments.integer("few", in: 1...10_000_000) ?? 10_000
        repeatCount = try arguments.integer("repeat", in: 1...100) ?? 5
    }

    func measure(at site: BenchSite) async throws -> BenchReport {
        try await GrowthRun(
            fewCount: fewCount,
            manyCount: manyCount,
            repeatCount: repeatCount,
            at: site
        ).run()
    }
}
