package import LockkeeperDomain
package import LockkeeperMessages

/// What one process of a benchmark does.
package struct BenchAssignment: Sendable, Hashable {
    /// What it writes through.
    package var store: Store
    /// Its number: part of every id that it writes.
    package var number: Int
    /// Messages in one transaction.
    package var batchCount: Int
    /// How long it writes.
    package var time: Duration
    /// How much longer each sync takes.
    package var syncDelay: Duration = .zero
    /// How its messages reach Lockkeeper.
    package var way: Way = .ingest
    /// How much longer each transaction lasts than it needs.
    package var hold: Duration = .zero
    /// How long it rests between two writes; zero: not at all.
    package var pause: Duration = .zero

    /// What its receipts promise.
    package var durability = Durability.durable
    /// Whether somebody is to be told of its messages.
    package var effects = EffectPolicy.decide
    /// Whether it brings the index of texts up to its messages again and again.
    package var catchesUp = false
    /// Whether the account is encrypted, with keys in a folder of the benchmark's.
    package var isEncrypted = false

    /// What a process writes through.
    package enum Store: String, Sendable, CaseIterable {
        /// SQLite in plain C; see `CLockkeeperBaseline`.
        case baseline
        case lockkeeper

        /// Both, in the order of a round: the one that goes first does not always go first.
        package static func turn(_ round: Int) -> [Store] {
            round.isMultiple(of: 2) ? allCases : allCases.reversed()
        }
    }

    /// How messages reach Lockkeeper. The baseline knows one way.
    package enum Way: String, Sendable, CaseIterable {
        /// Through an ``Ingester``, which takes the next batch while the one before is synced.
        case ingest
        /// One write at a time, each awaited until it is durable.
        case write
    }

    /// An assignment of its parts.
    package init(store: Store, number: Int, batchCount: Int, time: Duration) {
        self.store = store
        self.number = number
        self.batchCount = batchCount
        self.time = time
    }

    /// The command line that gives a worker process this assignment.
    package var arguments: [String] {
        [
            "bench-worker", "--store", store.rawValue, "--number", "\(number)",
            "--batch", "\(batchCount)", "--time-us", Self.microseconds(time),
            "--sync-delay-us", Self.microseconds(syncDelay), "--through", way.rawValue,
            "--hold-us", Self.microseconds(hold), "--pause-us", Self.microseconds(pause),
            "--durability", durability.rawValue, "--effects", effects.rawValue,
        ] + (catchesUp ? ["--catch-up"] : []) + (isEncrypted ? ["--encrypted"] : [])
    }

    /// The process that does it.
    var part: BenchProcesses.Part {
        BenchProcesses.Part(name: "worker \(number)", arguments: arguments)
    }

    private static func microseconds(_ duration: Duration) -> String {
        "\(duration.wholeNanoseconds / 1000)"
    }
}
