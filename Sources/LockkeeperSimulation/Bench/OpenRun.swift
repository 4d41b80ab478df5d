import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform

/// What a measurement of openings does.
package struct OpenPlan: Sendable {
    /// Messages of the small store.
    package var fewCount = 1000
    /// Messages of the large one.
    package var manyCount = 5_000_000
    /// How often each of them is opened.
    package var openCount = 50
    /// Size of the log that the large one is left with in the end; 0 for none.
    package var logByteCount: Int64 = 500 * 1024 * 1024

    /// A plan with the values that are measured where nothing else is asked for.
    package init() {}
}

/// Measures how long it takes to open an account of few messages and one of many, from nothing to the
/// head of the commit log; and one whose log nobody has copied for long, as a process leaves it that
/// was killed.
package struct OpenRun: Sendable {
    private let plan: OpenPlan
    private let site: BenchSite
    private let clock = SystemClock()

    /// Messages of one batch.
    private static let batchCount = 1000
    /// How long a log is waited for to be emptied.
    private static let restMax: Duration = .seconds(120)

    /// A run that has not begun.
    package init(_ plan: OpenPlan, at site: BenchSite) {
        precondition(plan.fewCount > 0 && plan.manyCount > 0 && plan.openCount > 0, "something")
        self.plan = plan
        self.site = site
    }

    /// Measures.
    ///
    /// - Throws: ``SimulationError/lost(acknowledged:stored:)`` where an opening finds another head than
    ///   the one that was left; what the stores throw.
    package func run() async throws -> BenchReport {
        try await site.withFolder("open") { folder in
            let few = try await make("few", in: folder, messageCount: plan.fewCount)
            let many = try await make("many", in: folder, messageCount: plan.manyCount)
            var (fewTimes, manyTimes): ([Duration], [Duration]) = ([], [])
            for round in 0..<plan.openCount {
                // The one that goes first does not always go first.
                if round.isMultiple(of: 2) { fewTimes.append(try await open(few).time) }
                manyTimes.append(try await open(many).time)
                if !round.isMultiple(of: 2) { fewTimes.append(try await open(few).time) }
            }
            var figures = BenchDelays.figures(
                "opening",
                [BenchDelays(manyTimes)],
                against: [BenchDelays(fewTimes)],
                budget: .atMost(2)
            )
            figures += try await openAndRead(many)
            for figure in figures { site.note(figure.sentence) }
            if plan.logByteCount > 0 { figures += try await openWithLongLog(many) }
            let setting =
                "\(plan.openCount) times each, \(plan.manyCount) messages against \(plan.fewCount)"
            return BenchReport("open", setting, figures)
        }
    }

    /// A store that nobody has open, and where its commit log ends.
    private struct Store {
        let folder: String
        let head: Position
        let messageCount: Int
    }

    private func make(_ name: String, in root: String, messageCount: Int) async throws -> Store {
        let folder = "\(root)/\(name)"
        try FileSystem.makeDirectory(folder, mode: 0o700)
        try await BenchWorker.makeAccount(in: folder)
        let workspace = try await BenchWorker.open(folder, name: "filler")
        let session = try await workspace.session(BenchWorker.account)
        let store = try MessageStore(session)
        var messages = BenchMessages(number: 0)
        var left = messageCount
        while left > 0 {
            let count = min(left, Self.batchCount)
            try await store.ingest(messages.next(count), durability: .committed)
            left -= count
            if left % 500_000 == 0 { site.note("\(name): \(left) messages to store") }
        }
        let head = try await session.database.head()
        await workspace.close()
        try await rest(folder)
        return Store(folder: folder, head: head, messageCount: messageCount)
    }

    /// Has a host empty the log, as it does where nobody writes: how long it is is another question than
    /// how many messages there are.
    private func rest(_ folder: String) async throws {
        var limits = Limits()
        limits.checkpointIdleAfter = .zero
        limits.slowPollInterval = .milliseconds(20)
        let workspace = try await BenchWorker.open(folder, name: "rest", limits: limits)
        let host = try await workspace.serve()
        let deadline = Deadline(after: Self.restMax, from: clock.now())
        while try await workspace.status().accounts[0].logByteCount > 0 {
            guard !deadline.hasPassed(at: clock.now()) else {
                throw SimulationError.tookTooLong(
                    process: "host",
                    awaited: "an empty log",
                    lastErrors: []
                )
            }
            try await Task.sleep(for: limits.slowPollInterval)
        }
        await host.close()
        await workspace.close()
    }

    /// Opens a store as a process does that has just come, and closes it again, which is not measured.
    private func open(_ store: Store) async throws -> (time: Duration, toWrite: Duration?) {
        try await open(store, writes: false)
    }

    /// - Parameter writes: whether to commit a message as well.
    private func open(
        _ store: Store,
        writes: Bool
    ) async throws -> (time: Duration, toWrite: Duration?) {
        let start = clock.now()
        let workspace = try await BenchWorker.open(store.folder, name: "opener")
        let session = try await workspace.session(BenchWorker.account)
        let head = try await session.database.head()
        let time = clock.now().duration(since: start)
        guard head.commit >= store.head.commit else {
            throw SimulationError.lost(
                acknowledged: Int(store.head.commit.rawValue),
                stored: Int(head.commit.rawValue)
            )
        }
        var toWrite: Duration?
        if writes {
            var messages = BenchMessages(number: 2)
            try await MessageStore(session).ingest(messages.next(1))
            toWrite = clock.now().duration(since: start)
        }
        await workspace.close()
        return (time, toWrite)
    }

    /// Opens a store and reads the newest page of a conversation, as somebody waits for who starts the
    /// app: with its files in the system's cache, and with none of them there.
    private func openAndRead(_ store: Store) async throws -> [BenchFigure] {
        var (warm, cold): ([Duration], [Duration]) = ([], [])
        for _ in 0..<plan.openCount {
            try forget(store)
            cold.append(try await timeToNewestPage(of: store))
            warm.append(try await timeToNewestPage(of: store))
        }
        return BenchDelays.figures(
            "opening and the newest page, from a cold cache",
            [BenchDelays(cold)],
            against: [BenchDelays(warm)]
        )
    }

    private func timeToNewestPage(of store: Store) async throws -> Duration {
        let start = clock.now()
        let workspace = try await BenchWorker.open(store.folder, name: "opener")
        let messages = try MessageStore(try await workspace.session(BenchWorker.account))
        let conversation = BenchMessages.conversation(0, of: 0)
        let page = try await messages.timeline(conversation, limit: PageRun.limit)
        let time = clock.now().duration(since: start)
        await workspace.close()
        guard !page.isEmpty else { throw SimulationError.lost(acknowledged: 1, stored: 0) }
        return time
    }

    /// Has the system's cache drop what it holds of the store's database, which a program of its own
    /// asks for: a process that closes a descriptor of a database loses SQLite's locks on it.
    private func forget(_ store: Store) throws {
        let program = "dd"
        let child = try ChildProcess(
            program: program,
            arguments: [
                "if=\(BenchWorker.databasePath(in: store.folder))", "iflag=nocache", "count=0",
            ],
            output: .null,
            error: .null
        )
        let status = try child.wait()
        guard status == .exited(0) else {
            throw SimulationError.endedUnexpectedly(
                process: program,
                ending: status.sentence,
                lastErrors: []
            )
        }
    }

    /// Makes the log long, with nobody who copies it, and lets go of it without copying: what a process
    /// leaves that is killed is the same, and its index is void either way.
    private func openWithLongLog(_ store: Store) async throws -> [BenchFigure] {
        var limits = Limits()
        limits.checkpointFrameCountWithoutHost = .max
        limits.logByteCountDegraded = .max
        let workspace = try await BenchWorker.open(store.folder, name: "filler", limits: limits)
        let messages = try MessageStore(try await workspace.session(BenchWorker.account))
        var source = BenchMessages(number: 1)
        var byteCount: Int64 = 0
        repeat {
            try await messages.ingest(source.next(Self.batchCount), durability: .committed)
            byteCount = try await workspace.status().accounts[0].logByteCount
        } while byteCount < plan.logByteCount
        await workspace.close()
        site.note("the log has \(byteCount) bytes")
        let (time, toWrite) = try await open(store, writes: true)
        return [
            BenchFigure("a long log", .mebibytes, [Double(byteCount) / 1_048_576]),
            BenchFigure("opening, with a long log", .seconds, [time.secondCount]),
            BenchFigure(
                "from nothing to a durable write, with a long log",
                .seconds,
                [(toWrite ?? time).secondCount],
                budget: .atMost(5)
            ),
        ]
    }
}
