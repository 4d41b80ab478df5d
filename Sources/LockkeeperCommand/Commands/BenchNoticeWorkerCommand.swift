import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation

/// `bench-notice-worker`: one process of a benchmark of notices, started by it.
struct BenchNoticeWorkerCommand: Command {
    static let name = "bench-notice-worker"
    static let usage = "--store STORE --role ROLE --count N --root DIR [options]"
    static let summary = "be one process of a benchmark of notices"
    static let details = """
        Opens what it needs, prints "ready", reads the monotonic nanosecond at which it is to start,
        does its part, and prints what it counted.

          lockkeeper bench-notice-worker --store baseline --role hub --count 1 --root DIR
        """
    static let options: [OptionSpecification] = [
        .value("store", "STORE", "what it goes through: baseline or lockkeeper"),
        .value("role", "ROLE", "hub, writer, reader or subscriber"),
        .value("count", "N", "rows, or feeds"),
        .value("time-us", "N", "how long a subscriber listens [0]"),
    ]
    static let isHidden = true

    private let assignment: NoticeAssignment

    init(_ arguments: inout Arguments) throws(UsageError) {
        guard let store = try arguments.choice("store", of: BenchAssignment.Store.self),
            let role = try arguments.choice("role", of: NoticeAssignment.Role.self),
            let count = try arguments.integer("count", in: 0...1_000_000)
        else { throw UsageError("--store, --role and --count are needed.") }
        guard store == .lockkeeper || role != .subscriber else {
            throw UsageError("The baseline has no subscribers.")
        }
        let time = try BenchWorkerCommand.duration("time-us", arguments) ?? .zero
        assignment = NoticeAssignment(store: store, role: role, count: count, time: time)
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let console = context.console
        let root = try FileSystem.canonicalPath(context.root)
        let counted = try await NoticeWorker(assignment, root: root).run {
            try console.print("ready")
            return try BenchWorkerCommand.start()
        }
        try console.print(counted.map(String.init).joined(separator: " "))
        return .success
    }
}
