import LockkeeperDomain
import LockkeeperSimulation

/// `bench page`: a page of a conversation among many messages, beside the same in C.
struct BenchPageCommand: BenchCommand {
    static let name = "bench page"
    static let summary = "measure a page of 50 among many messages, beside the same in C"
    static let details = """
        Stores messages of ten conversations, which is not measured, and reads pages of 50 at places
        drawn by chance: through Lockkeeper, on the reader's thread and for who awaits them, and in
        plain C with a prepared statement, from the same file in turn. What is printed are medians,
        and the median of the rounds' ratios.

          lockkeeper bench page --messages 1000000 --json
        """
    static let scenarioOptions: [OptionSpecification] = [
        .value("messages", "N", "messages in the store [1000000]"),
        .value("pages", "N", "pages in each measurement [2000]"),
        .value("repeat", "N", "how often each side is measured [5]"),
    ]

    private let messageCount: Int
    private let pageCount: Int
    private let repeatCount: Int
    let reportPath: String?

    init(_ arguments: inout Arguments) throws(UsageError) {
        reportPath = arguments.value("report")
        messageCount = try arguments.integer("messages", in: 1...10_000_000) ?? 1_000_000
        pageCount = try arguments.integer("pages", in: 1...100_000) ?? 2000
        repeatCount = try arguments.integer("repeat", in: 1...100) ?? 5
    }

    func measure(at site: BenchSite) async throws -> BenchReport {
        try await PageRun(
            messageCount: messageCount,
            pageCount: pageCount,
            repeatCount: repeatCount,
            at: site
        ).run()
    }
}
