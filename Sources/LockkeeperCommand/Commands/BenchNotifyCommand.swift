import LockkeeperDomain
import LockkeeperSimulation

/// `bench notify`: from a commit to the row that another process reads, beside two hops in C.
struct BenchNotifyCommand: BenchCommand {
    static let name = "bench notify"
    static let summary = "measure from a commit to the row read in another process"
    static let details = """
        A process commits one row each 1 to 2 ms, a second one keeps the hub, a third one hears of
        each commit and reads the row with a live query. Beside it, in turn, the same three processes
        in plain C: a commit, two socket hops, a read. Times begin when
        the COMMIT has returned. What is printed are medians, and the median of the pairs' ratios.

          lockkeeper bench notify --commits 2000 --repeat 5 --json
        """
    static let scenarioOptions: [OptionSpecification] = [
        .value("commits", "N", "commits in each measurement [2000]"),
        .value("repeat", "N", "how often both are measured [5]"),
    ]

    private let commitCount: Int
    private let repeatCount: Int
    let reportPath: String?

    init(_ arguments: inout Arguments) throws(UsageError) {
        reportPath = arguments.value("report")
        commitCount = try arguments.integer("commits", in: 1...100_000) ?? 2000
        repeatCount = try arguments.integer("repeat", in: 1...100) ?? 5
    }

    func measure(at site: BenchSite) async throws -> BenchReport {
        try await NotifyRun(commitCount: commitCount, repeatCount: repeatCount, at: site).run()
    }
}
