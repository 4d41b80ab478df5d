import LockkeeperDomain
import LockkeeperSimulation

/// `bench helper`: a helper that is woken for one message.
struct BenchHelperCommand: BenchCommand {
    static let name = "bench helper"
    static let summary = "measure a helper that is woken for one message, beside one in C"
    static let details = """
        Starts 'lockkeeper ingest' for one message, durably committed, and waits until it has exited;
        in turn with a program in C that does the same with SQLite alone, and which lies beside this
        one. Then the largest memory that 'ingest' needs for many messages through a pipe.

          lockkeeper bench helper --starts 50 --json
        """
    static let scenarioOptions: [OptionSpecification] = [
        .value("starts", "N", "starts of each program in a round [30]"),
        .value("messages", "N", "messages of the run whose memory is looked at [100000]"),
        .value("repeat", "N", "how often both are measured [5]"),
    ]

    private let startCount: Int
    private let messageCount: Int
    private let repeatCount: Int
    let reportPath: String?

    init(_ arguments: inout Arguments) throws(UsageError) {
        reportPath = arguments.value("report")
        startCount = try arguments.integer("starts", in: 1...10_000) ?? 30
        messageCount = try arguments.integer("messages", in: 1...10_000_000) ?? 100_000
        repeatCount = try arguments.integer("repeat", in: 1...100) ?? 5
    }

    func measure(at site: BenchSite) async throws -> BenchReport {
        try await HelperRun(
            startCount: startCount,
            messageCount: messageCount,
            repeatCount: repeatCount,
            at: site
        ).run()
    }
}
