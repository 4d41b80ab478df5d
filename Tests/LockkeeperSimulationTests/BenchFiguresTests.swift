import LockkeeperDomain
import LockkeeperSimulation
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

    @Test("each figure is the median of the runs")
    func medians() {
        let runs = [[tally([1])], [tally([1, 2, 3])], [tally([1, 2])]]
        let figures = BenchFigures(medianOf: runs.map { BenchFigures($0, over: .seconds(1)) })
        #expect(figures.commitsPerSecond == 2)
    }

    @Test(
        "the report is one object with both sides, and its ratios are Lockkeeper's over the other's"
    )
    func report() {
        let report = ContentionReport(
            baseline: BenchFigures([tally([100])], over: .seconds(1)),
            lockkeeper: BenchFigures([tally([250, 500, 750])], over: .seconds(1))
        )
        var writer = JSONWriter()
        report.write(into: &writer)
        #expect(
            String(decoding: writer.bytes, as: UTF8.self) == """
                {"baseline":{"commits_per_s":1.0,"fair":1.0,"gap":900.0,"p50":100.0,"p90":100.0,\
                "p99":100.0,"p999":100.0,"busy":0.0},"lockkeeper":{"commits_per_s":3.0,"fair":1.0,\
                "gap":250.0,"p50":250.0,"p90":250.0,"p99":250.0,"p999":250.0,"busy":0.0}}
                """
        )
        #expect(report.lines.last?.contains("3.00 times") == true)
    }
}
