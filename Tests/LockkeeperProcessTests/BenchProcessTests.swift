import Lockkeeper
import LockkeeperDomain
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
        #expect(report.value("refused") == 0)
        #expect(report.value("fair") > 0)
    }

    @Test("content is stored and read in the database and in files")
    func media() async throws {
        let report = try await Self.withSite { site in
            try await MediaRun(countPerSize: 1, repeatCount: 1, at: site).run()
        }
        #expect(report.figures.count == 16)
        #expect(report.figures.allSatisfy { $0.values[0] > 0 && $0.baseline[0] > 0 })
    }

    @Test("a sync that takes longer slows the baseline down to what it allows")
    func syncDelay() async throws {
        var plan = ContentionPlan()
        plan.processCount = 1
        plan.syncDelay = .milliseconds(10)
        let report = try await run(plan)
        let inC = try #require(report.figure("commits")?.baseline.first)
        #expect(inC > 0 && inC <= 100)
        #expect(report.value("commits") > 0)
    }

    @Test("a writer that rests is measured beside one that holds transactions in a loop")
    func mixed() async throws {
        var plan = ContentionPlan()
        plan.isMixed = true
        let report = try await run(plan)
        #expect(report.value("commits") > 0)
        #expect(report.value("refused") == 0)
    }

    @Test("one process ingests in every way, and a file is read by the command and by the library")
    func ingest() async throws {
        var plan = IngestPlan()
        plan.batchCounts = [7]
        plan.durability = .committed
        plan.time = .milliseconds(200)
        plan.repeatCount = 1
        plan.fileMessageCount = 500
        let report = try await Self.withSite { site in
            try await IngestSpeedRun(plan, at: site).run()
        }
        // Three ways beside C, one beside a plain account where that can be, and the file: with its
        // decoder, once more, and in disorder.
        #expect(report.figures.count == (Workspace.canEncrypt ? 9 : 8))
        #expect(report.figures.allSatisfy { $0.values[0] > 0 && $0.baseline.allSatisfy { $0 > 0 } })
    }

    @Test("each needle is found as often as a scan of all texts finds it, and while others write")
    func search() async throws {
        var plan = SearchPlan()
        plan.messageCount = 2500
        plan.searchCount = 3
        plan.repeatCount = 1
        let report = try await Self.withSite { site in
            try await SearchSpeedRun(plan, at: site).run()
        }
        for needle in [
            "a common word", "a rare word", "two characters", "a phrase", "two ideographs",
        ] {
            #expect(report.value("hits of \(needle)") > 0, "\(needle)")
            #expect(report.value("\(needle), while a process ingests, p99") > 0, "\(needle)")
        }
        // More than a page: the count has gone through several of them.
        #expect(report.value("hits of a common word") > Double(SearchPlan.limit))
        #expect(report.value("hits of a rare word") == 1)
    }

    @Test("commits are measured among few messages and among many")
    func growth() async throws {
        let report = try await Self.withSite { site in
            try await GrowthRun(
                fewCount: 20,
                manyCount: 2000,
                commitCount: 10,
                repeatCount: 1,
                at: site
            ).run()
        }
        #expect(report.figures.map(\.name) == [1, 10, 100].map { "a commit of \($0)" })
        #expect(report.figures.allSatisfy { $0.judged > 0 })
    }

    @Test("a helper that is woken for one message is measured beside one in C, and its memory")
    func helper() async throws {
        let report = try await Self.withSite { site in
            try await HelperRun(startCount: 2, messageCount: 2500, repeatCount: 1, at: site).run()
        }
        #expect(report.value("start, commit one message durably, exit") > 0)
        #expect((4...200).contains(report.value("largest memory of an ingest")))
    }

    @Test("every row that is committed is read in another process, on both sides")
    func notify() async throws {
        let report = try await Self.withSite { site in
            try await NotifyRun(commitCount: 50, repeatCount: 2, at: site).run()
        }
        #expect(report.figures.allSatisfy { $0.judged > 0 })
    }

    @Test("subscribers are told everything while one of them is stopped and writers go on")
    func subscribers() async throws {
        var plan = SubscribersPlan()
        plan.subscriberCount = 5
        plan.time = .milliseconds(500)
        plan.repeatCount = 1
        let report = try await Self.withSite { site in
            try await SubscribersRun(plan, at: site).run()
        }
        #expect(report.value("refused") == 0)
        #expect(report.value("wait for a commit, p90") > 0)
    }

    @Test("pages have the same messages in C, on the reader's thread and for who awaits them")
    func page() async throws {
        let report = try await Self.withSite { site in
            try await PageRun(messageCount: 1500, pageCount: 50, repeatCount: 2, at: site).run()
        }
        #expect(report.figures.count == 4 && report.figures.allSatisfy { $0.judged > 0 })
    }

    @Test("pages of the list have the same conversations in C, on the reader's thread and awaited")
    func conversations() async throws {
        let report = try await Self.withSite { site in
            try await ConversationsRun(
                conversationCount: 300,
                pageCount: 20,
                repeatCount: 2,
                at: site
            ).run()
        }
        #expect(report.figures.count == 8 && report.figures.allSatisfy { $0.judged > 0 })
    }

    @Test("switches end the sessions of every helper, whose next write is refused")
    func switching() async throws {
        let report = try await Self.withSite { site in
            try await SwitchSpeedRun(helperCount: 2, switchCount: 2, repeatCount: 1, at: site)
                .run()
        }
        #expect(report.value("a switch, p50") > 0)
        #expect(report.value("a helper's next write, refused, p50") > 0)
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
        let report = try await Self.withSite { try await OpenRun(planned, at: $0).run() }
        let opening = try #require(report.figure("opening, p50"))
        #expect(opening.judged < 2, "\(opening.sentence)")
        #expect(report.value("a long log") >= 8)
    }

    @Test("the command prints one object with the machine that it ran on and what it measured")
    func command() async throws {
        let folder = try TemporaryFolder()
        let result = try await CommandRunner.run([
            "bench", "page", "--messages", "200", "--pages", "5", "--repeat", "1", "--json",
            "--report", folder.path("page.html"),
        ])
        #expect(result.status == .exited(0), "\(result.errorText)")
        let printed = try PrintedObject(try #require(result.lines.last))
        #expect(printed.string("scenario") == "page")
        let machine = try printed.object("machine")
        #expect(machine.string("file_system") != nil && machine.string("sqlite") != nil)
        #expect(printed.objects("figures").count == 4)
        let page = try FileSystem.contents(of: folder.path("page.html"))
        #expect(String(decoding: page, as: UTF8.self).contains("on the reader's thread, p50"))
    }

    private static func withSite<Value>(_ body: (BenchSite) async throws -> Value) async throws
        -> Value
    {
        let root = "/tmp/lk-bench-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        // The program that is tested may lie elsewhere; the one in C lies beside the tests.
        let tests = FileSystem.directory(of: Environment.programPath ?? ".")
        let site = try BenchSite(
            program: CommandRunner.program,
            root: root,
            baseline: "\(tests)/lockkeeper-baseline"
        ) { _ in }
        defer { try? FileSystem.removeTree(root) }
        return try await body(site)
    }

    /// Runs a plan for a moment; for longer where other work on the machine left nobody the time to
    /// commit.
    private func run(_ plan: ContentionPlan) async throws -> BenchReport {
        for time in [Duration.milliseconds(300), .seconds(2)] {
            let report = try await run(plan, for: time)
            if report.value("fair") > 0, report.figure("commits")?.baseline[0] ?? 0 > 0 {
                return report
            }
        }
        return try await run(plan, for: .seconds(8))
    }

    private func run(_ plan: ContentionPlan, for time: Duration) async throws -> BenchReport {
        var plan = plan
        plan.time = time
        plan.repeatCount = 1
        let planned = plan
        return try await Self.withSite { try await ContentionRun(planned, at: $0).run() }
    }
}

extension BenchReport {
    /// What a figure came to; -1 where there is no such figure.
    fileprivate func value(_ name: String) -> Double { figure(name)?.values.first ?? -1 }
}
