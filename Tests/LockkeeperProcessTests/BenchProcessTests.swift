import LockkeeperPlatform
import LockkeeperSimulation
import Testing

private let isWholeRun = Environment.variable("LOCKKEEPER_TEST_ALL") != nil

/// The benchmarks, tiny: they must not rot between two releases. Their figures are not judged here,
/// because the machine has other work, but for a ratio that holds on any.
@Suite(
    "Benchmarks run with real processes and lose nothing that they acknowledged",
    .serialized
)
struct BenchProcessTests {
    @Test(
        "two processes write on both sides, every process commits, and nobody is refused",
        arguments: BenchAssignment.Way.allCases,
        [1, 7]
    )
    func contention(_ way: BenchAssignment.Way, _ batchCount: Int) async throws {
        var plan = ContentionPlan()
        plan.processCount = 2
        plan.batchCount = batchCount
        plan.way = way
        let report = try await run(plan)
        #expect(report.lockkeeper.busyCount == 0)
        #expect(report.lockkeeper.fairness > 0)
        #expect(report.lockkeeper.commitsPerSecond > 0 && report.baseline.commitsPerSecond > 0)
    }

    @Test("content is stored and read in the database and in files, and leaves nothing behind")
    func media() async throws {
        let folder = try TemporaryFolder()
        let rows = try await MediaRun(root: folder.path("w"), countPerSize: 1, repeatCount: 1).run()
        #expect(rows.count == 8)
        #expect(rows.allSatisfy { $0.stored.inline > .zero && $0.read.file > .zero })
        let media = folder.path("w/accounts/bench/media")
        #expect(
            try FileSystem.list(media).allSatisfy {
                try FileSystem.list("\(media)/\($0)").isEmpty
            }
        )
    }

    @Test("a sync that takes longer slows the baseline down to what it allows")
    func syncDelay() async throws {
        var plan = ContentionPlan()
        plan.processCount = 1
        plan.syncDelay = .milliseconds(10)
        let report = try await run(plan)
        #expect(report.baseline.commitsPerSecond > 0 && report.baseline.commitsPerSecond <= 100)
        #expect(report.lockkeeper.commitsPerSecond > 0)
    }

    @Test("a writer that rests is measured beside one that holds transactions in a loop")
    func mixed() async throws {
        var plan = ContentionPlan()
        plan.isMixed = true
        let report = try await run(plan)
        #expect(report.lockkeeper.commitsPerSecond > 0)
        #expect(report.lockkeeper.busyCount == 0)
    }

    @Test("every row that is committed is read in another process, on both sides")
    func notify() async throws {
        let ratio = try await Self.withFolder { root in
            try await NotifyRun(
                commitCount: 50,
                repeatCount: 2,
                program: CommandRunner.program,
                root: root
            ) { _ in }.run().ratio
        }
        #expect(ratio > 0)
    }

    @Test("subscribers are told everything while one of them is stopped and writers go on")
    func subscribers() async throws {
        var plan = SubscribersPlan()
        plan.subscriberCount = 5
        plan.time = .milliseconds(500)
        plan.repeatCount = 1
        let report = try await Self.withFolder { root in
            try await SubscribersRun(plan, program: CommandRunner.program, root: root) { _ in }
                .run()
        }
        #expect(report.alone.busyCount == 0 && report.heard.busyCount == 0)
        #expect(report.p90Ratio > 0 && report.p99Ratio > 0)
    }

    @Test("pages have the same messages in C, on the reader's thread and for who awaits them")
    func page() async throws {
        let report = try await Self.withFolder { root in
            try await PageRun(messageCount: 1500, pageCount: 50, repeatCount: 2, root: root) { _ in
            }
            .run()
        }
        #expect(report.threadRatio > 0 && report.awaitedRatio > 0)
    }

    @Test(
        "opening takes as long with many messages as with few, within twice, and with a log that nobody copied"
    )
    func open() async throws {
        var plan = OpenPlan()
        plan.manyCount = isWholeRun ? 200_000 : 10_000
        plan.openCount = 25
        plan.logByteCount = 8 * 1024 * 1024
        let planned = plan
        let report = try await Self.withFolder { root in
            try await OpenRun(planned, root: root) { _ in }.run()
        }
        #expect(report.ratio < 2, "\(report.lines)")
        let longLog = try #require(report.longLog)
        #expect(longLog.byteCount >= plan.logByteCount)
    }

    private static func withFolder<Value>(_ body: (String) async throws -> Value) async throws
        -> Value
    {
        let root = "/tmp/lk-bench-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        try FileSystem.makeDirectory(root, mode: 0o700)
        defer { try? FileSystem.removeTree(root) }
        return try await body(root)
    }

    /// Runs a plan for a moment; for longer where other work on the machine left nobody the time to
    /// commit.
    private func run(_ plan: ContentionPlan) async throws -> ContentionReport {
        for time in [Duration.milliseconds(300), .seconds(2)] {
            let report = try await run(plan, for: time)
            if report.lockkeeper.fairness > 0, report.baseline.commitsPerSecond > 0 {
                return report
            }
        }
        return try await run(plan, for: .seconds(8))
    }

    private func run(_ plan: ContentionPlan, for time: Duration) async throws -> ContentionReport {
        var plan = plan
        plan.time = time
        plan.repeatCount = 1
        let planned = plan
        return try await Self.withFolder { root in
            try await ContentionRun(planned, program: CommandRunner.program, root: root) { _ in }
                .run()
        }
    }
}
