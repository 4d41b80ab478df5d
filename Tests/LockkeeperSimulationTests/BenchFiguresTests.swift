import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import LockkeeperTestSupport
import Testing

@Suite("Figures of a benchmark: who starves is not forgotten")
struct BenchFiguresTests {
    private func instant(_ milliseconds: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: milliseconds * 1_000_000)
    }

    private func tally(_ acknowledgements: [Int64], to end: Int64 = 1000) -> BenchTally {
        var tally = BenchTally(from: instant(0), to: instant(end))
        for at in acknowledgements { tally.acknowledge(messageCount: 2, at: instant(at)) }
        tally.finish()
        return tally
    }

    @Test("the gap counts the time before the first commit and behind the last")
    func gap() {
        #expect(tally([100, 200, 990]).gap == .milliseconds(790))
        #expect(tally([600, 700, 990]).gap == .milliseconds(600))
        #expect(tally([100, 200]).gap == .milliseconds(800))
        #expect(tally([]).gap == .milliseconds(1000))
    }

    @Test("a commit that is acknowledged after the end does not count")
    func late() {
        let tally = tally([500, 1001])
        #expect(tally.commitCount == 1)
        #expect(tally.messageCount == 2)
    }

    @Test("a process that rests between its writes is measured from its calls")
    func paced() {
        var tally = BenchTally(from: instant(0), to: instant(1000))
        tally.acknowledge(messageCount: 1, called: instant(100), at: instant(104))
        #expect(tally.waits.largest == .milliseconds(4))
    }

    @Test("a tally survives its way to another process, and a line that is none is refused")
    func line() throws {
        var tally = tally([3, 50, 700])
        tally.refuse()
        let read = try #require(BenchTally(line: tally.line))
        #expect(read.line == tally.line)
        #expect(read.waits == tally.waits)
        #expect([read.commitCount, read.messageCount, read.busyCount] == [3, 6, 1])
        for line in ["", "ready", "1 2 3", "1 2 3 x 5", "1 2 3 4 -5"] {
            #expect(BenchTally(line: line) == nil, "\(line)")
        }
    }

    @Test("fairness is the least busy process's commits over the mean")
    func fairness() {
        let figures = BenchFigures(
            [tally([1, 2, 3, 4, 5, 6]), tally([1, 2]), tally([1, 2, 3, 4])],
            over: .seconds(2)
        )
        #expect(figures.fairness == 0.5)
        #expect(figures.commitsPerSecond == 6)
        #expect(figures.gap == .milliseconds(998))
    }

    @Test("a figure is judged by the median of its rounds' ratios, each to its own baseline")
    func ratios() {
        // The median of the values over that of the baselines would be 1.
        let figure = BenchFigure(
            "commits",
            .perSecond,
            [100, 300, 200],
            against: [200, 300, 100],
            budget: .atLeast(1)
        )
        #expect(figure.ratios == [0.5, 1, 2])
        #expect(figure.judged == 1)
        #expect(
            figure.sentence
                == "commits  200 [100…300] /s against 200: 1 [0.50…2] times, at least 1.00"
        )
        let missed = BenchFigure("page", .milliseconds, [9], against: [3], budget: .atMost(2))
        #expect(missed.sentence.hasSuffix("against 3: 3 times, at most 2.00 MISSED"))
    }

    @Test("a figure that stands alone is judged by itself, and one at its bound keeps its budget")
    func alone() {
        let figure = BenchFigure("memory", .mebibytes, [24, 23, 25], budget: .atMost(24))
        #expect(figure.judged == 24 && figure.ratios.isEmpty)
        #expect(!figure.sentence.contains("MISSED"))
        #expect(BenchFigure.Budget.atLeast(0.9).isKept(by: 0.9))
        #expect(!BenchFigure.Budget.atLeast(0.9).isKept(by: 0.89))
    }

    @Test("a baseline that came to nothing gives no ratio, and no division by zero")
    func emptyBaseline() {
        let figure = BenchFigure("commits", .perSecond, [5], against: [0])
        #expect(figure.ratios == [0])
    }

    @Test(
        "the page of a report needs nothing else, has a dot per round, and takes no text as markup"
    )
    func page() throws {
        let figure = BenchFigure(
            "a <b> & c",
            .perSecond,
            [3, 1, 2],
            against: [1, 1, 1],
            budget: .atLeast(3)
        )
        let report = BenchReport("ingest", "3 rounds", [figure])
        let page = BenchPage(report, on: try machine(), by: "lockkeeper bench ingest --x \"1\"")
            .html
        #expect(page.contains("<td>a &lt;b&gt; &amp; c</td>"))
        #expect(page.contains("--x &quot;1&quot;"))
        #expect(page.split(separator: "<circle").count == 4)
        #expect(page.contains("at least 3.00: missed"))
        for foreign in ["http", "src=", "<script", "@import", "url("] {
            #expect(!page.contains(foreign), "\(foreign)")
        }
    }

    private func machine(
        of program: String = "/nowhere/lockkeeper",
        _ folder: TemporaryDirectory? = nil
    ) throws -> BenchMachine {
        let folder = try folder ?? TemporaryDirectory()
        return try BenchMachine(at: folder.path, program: program, syncCount: 1)
    }

    @Test("the machine says the commit of the tree in which the program lies, or none")
    func commit() throws {
        let folder = try TemporaryDirectory()
        #expect(try machine(of: "/nowhere/lockkeeper", folder).commit == nil)
        let program = folder.file(".build/release/lockkeeper")
        try FileSystem.makeDirectory(folder.file(".git"))
        try FileSystem.replaceFile(
            at: folder.file(".git/HEAD"),
            with: Array("ref: refs/heads/m\n".utf8)
        )
        try FileSystem.replaceFile(
            at: folder.file(".git/packed-refs"),
            with: Array(
                "# pack-refs with: peeled\nabc123 refs/heads/other\ndef456 refs/heads/m\n".utf8
            )
        )
        #expect(try machine(of: program, folder).commit == "def456")
        try FileSystem.replaceFile(at: folder.file(".git/HEAD"), with: Array("012345\n".utf8))
        #expect(try machine(of: program, folder).commit == "012345")
    }

    @Test("a figure as an object has its rounds, what it is held against, and whether it is kept")
    func object() {
        var writer = JSONWriter()
        BenchFigure("page", .microseconds, [30, 10], against: [10, 10], budget: .atMost(2))
            .write(into: &writer)
        #expect(
            String(decoding: writer.bytes, as: UTF8.self) == """
                {"name":"page","unit":"µs",\
                "values":{"median":10.0,"least":10.0,"largest":30.0,"rounds":[30.0,10.0]},\
                "baseline":{"median":10.0,"least":10.0,"largest":10.0,"rounds":[10.0,10.0]},\
                "ratio":{"median":1.0,"least":1.0,"largest":3.0,"rounds":[3.0,1.0]},\
                "budget":"at most 2.00","kept":true}
                """
        )
    }
}
