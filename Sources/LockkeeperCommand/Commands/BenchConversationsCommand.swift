import LockkeeperDomain
import LockkeeperSimulation

/// `bench conversations`: a page of the list of conversations, beside the same in C.
struct BenchConversationsCommand: BenchCommand {
    static let name = "bench conversations"
    static let summary = "measure a page of the list of conversations, beside the same in C"
    static let details = """
        Stores three messages in each of many conversations, which is not measured, and reads pages of
        50 of the list: the first one, and those behind places drawn by chance; through Lockkeeper, on
        the reader's thread and for who awaits them, and in plain C with a prepared statement, from the
        same file in turn. What is printed are medians, and the median of the rounds' ratios.

          lockkeeper bench conversations --conversations 10000 --json
        """
    static let scenarioOptions: [OptionSpecification] = [
        .value("conversations", "N", "conversations of the account [10000]"),
        .value("pages", "N", "pages in each measurement [2000]"),
        .value("repeat", "N", "how often each side is measured [5]"),
    ]

    private let conversationCount: Int
    private let pageCount: Int
    private let repeatCount: Int
    let reportPath: String?

    init(_ arguments: inout Arguments) throws(UsageError) {
        reportPath = arguments.value("report")
        conversationCount = try arguments.integer("conversations", in: 1...1_000_000) ?? 10_000
        pageCount = try arguments.integer("pages", in: 1...100_000) ?? 2000
        repeatCount = try arguments.integer("repeat", in: 1...100) ?? 5
    }

    func measure(at site: BenchSite) async throws -> BenchReport {
        try await ConversationsRun(
            conversationCount: conversationCount,
            pageCount: pageCount,
            repeatCount: repeatCount,
            at: site
        ).run()
    }
}
