import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

@testable import LockkeeperNotifier

@Suite("A log whose file moves is looked at") struct LookCycleTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000)

    /// The steps of a cycle by their times in milliseconds.
    private func steps(
        _ cycle: LookCycle,
        head: (_ millisecond: Int) -> Int64
    ) -> [Int: LookCycle.Step] {
        var cycle = cycle
        var steps: [Int: LookCycle.Step] = [:]
        for millisecond in 0...200 {
            let now = start.advanced(by: .milliseconds(millisecond))
            let step = cycle.advance(at: now, head: CommitNumber(head(millisecond)))
            if step != .nothing { steps[millisecond] = step }
        }
        #expect(cycle.deadline == nil)
        return steps
    }

    @Test("after 1, 10 and 100 ms where nothing is heard, and twice more once it is watched again")
    func silent() {
        let cycle = LookCycle(movedAt: start, head: CommitNumber(5))
        #expect(
            steps(cycle) { _ in 5 }
                == [1: .look, 10: .look, 100: .watchAndLook, 101: .look, 110: .look]
        )
    }

    @Test("the early looks are left out where a commit was heard of, the late ones never")
    func heard() {
        let cycle = LookCycle(movedAt: start, head: CommitNumber(5))
        #expect(
            steps(cycle) { $0 < 1 ? 5 : 6 } == [100: .watchAndLook, 101: .look, 110: .look]
        )
    }

    @Test("a file that is watched for the first time may have moved just before")
    func first() {
        #expect(steps(LookCycle(watchedAt: start)) { _ in 5 } == [1: .look, 10: .look])
    }

    @Test(
        "a commit that nobody announces is found by the file's moving, without the slow poll (R-26)"
    )
    func unannounced() async throws {
        try await onOwnThread {
            let log = FakeLog("alice", logIn: try TemporaryDirectory())
            try log.moveFile()
            let fixture = try HubFixture(log)
            let subscriber = try fixture.subscriber()
            for number in 1...3 {
                // Written as SQLite does: first the file, then what makes it visible.
                try log.moveFile()
                _ = log.commit("alice")
                try subscriber.read(to: CommitNumber(Int64(number)))
            }
        }
    }

    @Test("a file tells once, and again when it is watched again")
    func kernel() throws {
        let directory = try TemporaryDirectory()
        let log = FakeLog("alice", logIn: directory)
        try log.moveFile()
        let watch = try FileModificationWatch()
        let path = try #require(log.logPath)
        let token = try watch.watch(path)
        #expect(watch.take().isEmpty)
        try log.moveFile()
        try log.moveFile()
        #expect(Set(watch.take()) == [token])
        try log.moveFile()
        #expect(watch.take().isEmpty)
        _ = try watch.watch(path)
        try log.moveFile()
        #expect(!watch.take().isEmpty)
        #expect(throws: SystemCallError.self) { try watch.watch(directory.file("nothing")) }
    }
}
