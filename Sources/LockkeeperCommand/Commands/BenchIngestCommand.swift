import LockkeeperDomain
import LockkeeperSimulation

/// `bench ingest`: one process that ingests, beside the same rows in C.
struct BenchIngestCommand: BenchCommand {
    static let name = "bench ingest"
    static let summary = "measure one process that ingests, beside the same rows in C"
    static let details = """
        One process ingests as fast as it can, and does the same in C with SQLite alone, in turn:
        with everything that an app gets; as an import, of which nobody is told; and with the index
        of texts brought up to the messages all the while, which C has none of. A program built with
        the trait Encryption also ingests into an encrypted account, beside a plain one. Then the command
        'ingest' reads a file of event lines, beside the library with the same events decoded
        beforehand; the decoder alone; and the library with events that are known already, and with
        events in disorder. What is printed are messages in a second.

          lockkeeper bench ingest --batch 100 --seconds 10 --file feed.ndjson --json
        """
    static let scenarioOptions: [OptionSpecification] = [
        .value("batch", "N", "messages in one transaction; 'all': 1, 10, 100 and 1000 [100]"),
        .value("durability", "durable|committed", "what receipts promise [durable]"),
        .value(
            "only",
            "VARIANT",
            "everything, no-effects, searchable, encrypted or file [all]"
        ),
        .value("file", "FILE", "event lines to read [200000 that are made]"),
        .value("seconds", "S", "how long it ingests, each time [10]"),
        .value("repeat", "N", "how often each is measured [3]"),
    ]

    private let plan: IngestPlan
    let reportPath: String?

    init(_ arguments: inout Arguments) throws(UsageError) {
        reportPath = arguments.value("report")
        var plan = IngestPlan()
        if arguments.value("batch") == "all" {
            plan.batchCounts = [1, 10, 100, 1000]
        } else if let count = try arguments.integer("batch", in: 1...10_000) {
            plan.batchCounts = [count]
        }
        plan.durability =
            try arguments.choice("durability", of: Durability.self) ?? plan.durability
        if let only = try arguments.choice("only", of: IngestPlan.Variant.self) {
            guard IngestPlan.Variant.possible.contains(only) else {
                throw UsageError("This program was built without encryption.")
            }
            // What it is held against is measured in any case.
            plan.variants = [only]
        }
        plan.file = arguments.value("file")
        plan.time = try Self.time(&arguments) ?? plan.time
        plan.repeatCount = try arguments.integer("repeat", in: 1...100) ?? plan.repeatCount
        self.plan = plan
    }

    func measure(at site: BenchSite) async throws -> BenchReport {
        try await IngestSpeedRun(plan, at: site).run()
    }
}
