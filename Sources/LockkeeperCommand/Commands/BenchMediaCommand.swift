import LockkeeperDomain
import LockkeeperSimulation

/// `bench media`: content in the database beside content in files.
struct BenchMediaCommand: BenchCommand {
    static let name = "bench media"
    static let summary = "measure content in the database beside content in files of their own"
    static let details = """
        Stores content of several sizes durably and reads it with its digest, in the database and in
        files, in turn, and prints the medians per file, in milliseconds: what the border between the
        two rests on. The disk is that of --root, an empty folder, else of temporary files.

          lockkeeper bench media --repeat 5 --json
        """
    static let scenarioOptions: [OptionSpecification] = [
        .value("count", "N", "files of each size and round [20]"),
        .value("repeat", "N", "how often each is measured [3]"),
    ]

    private let count: Int
    private let repeatCount: Int
    let reportPath: String?

    init(_ arguments: inout Arguments) throws(UsageError) {
        reportPath = arguments.value("report")
        count = try arguments.integer("count", in: 1...1000) ?? 20
        repeatCount = try arguments.integer("repeat", in: 1...100) ?? 3
    }

    func measure(at site: BenchSite) async throws -> BenchReport {
        try await MediaRun(countPerSize: count, repeatCount: repeatCount, at: site).run()
    }
}
