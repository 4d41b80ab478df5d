import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation

/// `bench subscribers`: what those who listen cost those who write.
struct BenchSubscribersCommand: Command {
    static let name = "bench subscribers"
    static let usage = "[options]"
    static let summary = "measure writers beside many subscribers, one of them stopped"
    static let details = """
        Processes write one durable message at a time, at a given rate, beside a host: once with
        nobody who listens, once with subscribers, each with a feed of its own, one of them stopped.
        What is printed are medians of the time that a write took, and of the pairs' ratios.

          lockkeeper bench subscribers --subscribers 100 --rate 100 --seconds 10 --json
        """
    static let options: [OptionSpecification] = [
        .value("subscribers", "N", "feeds, one of them in a stopped process [100]"),
        .value("writers", "N", "processes that write [2]"),
        .value("rate", "N", "commits of all writers in a second, at the most [100]"),
        .value("seconds", "S", "how long they write, each time [10]"),
        .value("repeat", "N", "how many pairs are measured [5]"),
    ]

    private let plan: SubscribersPlan

    init(_ arguments: inout Arguments) throws(UsageError) {
        var plan = SubscribersPlan()
        plan.subscriberCount =
            try arguments.integer("subscribers", in: 1...200) ?? plan.subscriberCount
        plan.writerCount = try arguments.integer("writers", in: 1...32) ?? plan.writerCount
        plan.rate = try arguments.integer("rate", in: 1...10_000) ?? plan.rate
        if let seconds = try arguments.integer("seconds", in: 1...3600) {
            plan.time = .seconds(seconds)
        }
        plan.repeatCount = try arguments.integer("repeat", in: 1...100) ?? plan.repeatCount
        self.plan = plan
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let console = context.console
        let folder = try ScratchFolder(kept: context.options.namedRoot, for: "bench")
        defer { folder.remove() }
        let program = try context.program
        let run = SubscribersRun(plan, program: program, root: folder.path) { console.note($0) }
        let report = try await run.run()
        if context.options.isJSON {
            try console.print { report.write(into: &$0) }
        } else {
            for line in report.lines { try console.print(line) }
        }
        return .success
    }
}
