import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

private let isWholeRun = Environment.variable("LOCKKEEPER_TEST_ALL") != nil

extension RealProcesses {
    @Suite("Checkpoints all the time while several processes write (I-8, I-10)")
    struct CheckpointStormTests {
        @Test(
            "four writers beside two processes that ask for checkpoints all the time lose nothing"
        )
        func storm() async throws {
            try await SharedEntries.with { entries in
                let before = try entries.commits().count
                let processes = try await onOwnThread {
                    try (0..<6).map { number in
                        // The last two ask for a checkpoint after each of their commits, and shorten
                        // the log whenever it is longer than a few frames.
                        number < 4
                            ? try LineProcess.account(
                                entries.root,
                                "writer\(number)",
                                "mark=1000000"
                            )
                            : try LineProcess.account(
                                entries.root,
                                "asker\(number)",
                                "mark=1",
                                "under=40",
                                "degraded=100000"
                            )
                    }
                }
                let rows = try await onOwnThread {
                    for (number, process) in processes.enumerated() {
                        #expect(try process.ask("loop \(number * 10_000_000 + 1) 0") == "looping")
                    }
                    let clock = SystemClock()
                    let time: Duration = isWholeRun ? .seconds(60) : .seconds(2)
                    clock.sleep(until: Deadline(after: time, from: clock.now()))
                    return try processes.enumerated().map { number, process in
                        let answer = try process.ask("stop")
                        let count = try #require(
                            answer.firstMatch(of: /^looped (\d+)$/),
                            "\(answer)"
                        )
                        let first = number * 10_000_000 + 1
                        return first..<(first + (Int(count.1) ?? 0))
                    }
                }
                let shortened = try await onOwnThread {
                    try processes[4...].reduce(0) { $0 + (Int(try $1.ask("shortened")) ?? 0) }
                }
                print("commits \(rows.map(\.count)), log shortened \(shortened) times")
                #expect(shortened > 0)
                for process in processes { #expect(process.end() == .exited(0)) }
                #expect(entries.damage(rows: Set(rows.joined())) == nil)
                // The numbers of all processes are one sequence without gaps.
                let commits = try entries.commits()
                #expect(commits.areComplete)
                #expect(commits.count == before + rows.map(\.count).reduce(0, +))
            }
        }

        // B18. That no connection maps the file is StoreFileTests: "every setting is as it was asked for,
        // in each kind of connection".
        @Test(
            "a log that is cut short again and again under two working processes harms neither (B18)"
        )
        func shortened() async throws {
            try await SharedEntries.with { entries in
                try await onOwnThread {
                    let workers = try ["one", "two"].map {
                        try LineProcess.account(entries.root, $0, "mark=20", "degraded=1")
                    }
                    for (number, worker) in workers.enumerated() {
                        #expect(try worker.ask("loop \(number * 10_000_000 + 1) 0") == "looping")
                    }
                    let wanted = isWholeRun ? 1_000 : 30
                    var count = 0
                    let deadline = Deadline(
                        after: .seconds(isWholeRun ? 240 : 60),
                        from: SystemClock().now()
                    )
                    while count < wanted, !deadline.hasPassed(at: SystemClock().now()) {
                        count = try workers.reduce(0) { $0 + (Int(try $1.ask("shortened")) ?? 0) }
                    }
                    #expect(count >= wanted)
                    // No signal, no I/O error: each loop ends as it should, and so does each process.
                    var rows: Set<Int> = []
                    for (number, worker) in workers.enumerated() {
                        let answer = try worker.ask("stop")
                        let match = try #require(
                            answer.firstMatch(of: /^looped (\d+)$/),
                            "\(answer)"
                        )
                        let first = number * 10_000_000 + 1
                        rows.formUnion(first..<(first + (Int(match.1) ?? 0)))
                        #expect(worker.end() == .exited(0))
                    }
                    #expect(entries.damage(rows: rows) == nil)
                }
            }
        }
    }
}
