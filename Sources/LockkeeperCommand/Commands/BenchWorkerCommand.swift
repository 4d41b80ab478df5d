import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperSimulation

/// `bench-worker`: one process of a benchmark, started by it.
struct BenchWorkerCommand: Command {
    static let name = "bench-worker"
    static let usage = "--store STORE --number N --batch N --time-us N --root DIR [options]"
    static let summary = "be one process of a benchmark"
    static let details = """
        Opens what it writes to, prints "ready", reads the monotonic nanosecond at which it is to
        start, writes until its time is over, and prints what it counted.

          lockkeeper bench-worker --store baseline --number 0 --batch 1 --time-us 300000 --root DIR
        """
    static let options: [OptionSpecification] = [
        .value("store", "STORE", "what it writes through: baseline or lockkeeper"),
        .value("number", "N", "its number, part of every id that it writes"),
        .value("batch", "N", "messages in one transaction"),
        .value("time-us", "N", "how long it writes"),
        .value("sync-delay-us", "N", "how much longer each sync takes [0]"),
        .value("through", "WAY", "how messages reach Lockkeeper: ingest or write [ingest]"),
        .value("hold-us", "N", "how much longer each transaction lasts [0]"),
        .value("pause-us", "N", "how long it rests between two writes [0]"),
        .value("durability", "durable|committed", "what its receipts promise [durable]"),
        .value("effects", "decide|suppress", "whether somebody is told of its messages [decide]"),
        .flag("catch-up", "bring the index of texts up to the messages again and again"),
        .flag("encrypted", "write to an encrypted account"),
    ]
    static let isHidden = true

    private let assignment: BenchAssignment

    init(_ arguments: inout Arguments) throws(UsageError) {
        guard let store = try arguments.choice("store", of: BenchAssignment.Store.self),
            let number = try arguments.integer("number", in: 0...Int(Int32.max)),
            let batchCount = try arguments.integer("batch", in: 1...10_000),
            let time = try Self.duration("time-us", arguments)
        else { throw UsageError("--store, --number, --batch and --time-us are needed.") }
        var assignment = BenchAssignment(
            store: store,
            number: number,
            batchCount: batchCount,
            time: time
        )
        assignment.syncDelay = try Self.duration("sync-delay-us", arguments) ?? .zero
        assignment.way = try arguments.choice("through", of: BenchAssignment.Way.self) ?? .ingest
        assignment.hold = try Self.duration("hold-us", arguments) ?? .zero
        assignment.pause = try Self.duration("pause-us", arguments) ?? .zero
        assignment.durability =
            try arguments.choice("durability", of: Durability.self) ?? .durable
        assignment.effects = try arguments.choice("effects", of: EffectPolicy.self) ?? .decide
        assignment.catchesUp = arguments.flag("catch-up")
        assignment.isEncrypted = arguments.flag("encrypted")
        self.assignment = assignment
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let console = context.console
        let root = try FileSystem.canonicalPath(context.root)
        let tally = try await BenchWorker(assignment, root: root).run {
            try console.print("ready")
            return try Self.start()
        }
        try console.print(tally.line)
        return .success
    }

    /// The instant that the benchmark names on the standard input.
    static func start() throws -> MonotonicInstant {
        let input = FileDescriptor(owning: 0)
        let bytes = try input.readToEnd(limit: 64)
        let text = String(decoding: bytes, as: UTF8.self)
        guard let nanoseconds = Int64(text.split(separator: "\n").first ?? "") else {
            throw CommandError(
                "no-start",
                .usage,
                "The standard input names no instant to start at."
            )
        }
        return MonotonicInstant(nanoseconds: nanoseconds)
    }

    /// An option in microseconds.
    static func duration(
        _ name: String,
        _ arguments: Arguments
    ) throws(UsageError) -> Duration? {
        try arguments.integer(name, in: 0...Int64(86_400_000_000)).map { .microseconds($0) }
    }
}
