import Glibc
import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

private let isWholeRun = Environment.variable("LOCKKEEPER_TEST_ALL") != nil

extension RealProcesses {
    /// What processes leave behind that die, fork or lose their lock file.
    @Suite("After crashes, forks and deleted lock files (I-12)")
    struct CrashTests {
        // B04: whoever comes first rebuilds the log's index, and the others wait for it.
        @Test("sixteen processes that start at once after a crash all open and see the same rows")
        func allAtOnce() async throws {
            try await SharedEntries.with { entries in
                let megabytes = isWholeRun ? 90 : 8
                try await onOwnThread {
                    let writer = try LineProcess.account(entries.root, "writer", "mark=1000000")
                    #expect(try writer.ask("insert 1 20") == "inserted 20")
                    let foreign = try ForeignProgram.python.open(entries.path)
                    for row in 21..<(21 + megabytes) {
                        _ = try foreign.run("INSERT INTO entry VALUES (\(row), zeroblob(1000000))")
                    }
                    #expect(try writer.ask("hold 10000") == "inside")
                    try foreign.kill()
                    try writer.kill()
                }
                // The last one that has the database open: the index must be rebuilt from the log.
                await entries.app.close()
                let size = try FileSystem.status(entries.path + "-wal")?.size ?? 0
                #expect(size > Int64(megabytes) * 1_000_000)
                try await onOwnThread {
                    let processes = try (0..<16).map {
                        try LineProcess.starting(entries.root, "opener\($0)", "mark=1000000")
                    }
                    let counts = try processes.map { process in
                        #expect(try process.hear() == "ready")
                        return try process.ask("count")
                    }
                    #expect(Set(counts) == [String(20 + megabytes)])
                    for process in processes { #expect(process.end() == .exited(0)) }
                    #expect(entries.damage(rows: Set(1..<(21 + megabytes))) == nil)
                }
            }
        }

        // B22: connections; the locks are StoppedProcessTests: "What was opened before a fork is refused
        // in the child, and goes on in the parent".
        @Test("a connection is refused in a forked child, whose exit harms nothing")
        func forkedUse() async throws {
            try await SharedEntries.with { entries in
                try await onOwnThread {
                    let process = try LineProcess.account(entries.root, "forks")
                    for row in 1...5 {
                        #expect(try process.ask("use \(row)") == "child 0 inserted 1")
                    }
                    #expect(try process.ask("insert 6 9") == "inserted 4")
                    #expect(process.end() == .exited(0))
                    #expect(entries.damage(rows: Set(1...9)) == nil)
                }
            }
        }

        // B34: a deleted lock file can let two in for a moment. SQLite's own lock keeps the data whole,
        // and everybody comes to one lock file again.
        @Test(
            "a lock file that is deleted again and again loses no acknowledged row and tears no checkpoint"
        )
        func deletedLockFile() async throws {
            let seed = UInt64.random(in: 0 ... .max)
            print("deleted lock files: seed=\(seed)")
            try await SharedEntries.with { entries in
                // It would be among those who stand on a file that is gone.
                await entries.app.close()
                try await onOwnThread {
                    var generator = SeededGenerator(seed: seed)
                    let processes = try (0..<3).map {
                        try LineProcess.account(
                            entries.root,
                            "contender\($0)",
                            "mark=50",
                            "under=20"
                        )
                    }
                    for (number, process) in processes.enumerated() {
                        #expect(try process.ask("loop \(number * 1_000_000 + 1) 0") == "looping")
                    }
                    let clock = SystemClock()
                    for _ in 0..<(isWholeRun ? 200 : 15) {
                        // At any moment, also while somebody makes the next one.
                        let pause = Duration.microseconds(
                            Int.random(in: 0...60_000, using: &generator)
                        )
                        clock.sleep(until: Deadline(after: pause, from: clock.now()))
                        try #require(try eventually { try FileSystem.remove(entries.lockFile) })
                    }
                    var acknowledged: Set<Int> = []
                    var reopenedCount = 0
                    for (number, process) in processes.enumerated() {
                        let answer = try process.ask("stop")
                        let match = try #require(
                            answer.firstMatch(of: /^looped (\d+)( without [\d ]+)?$/),
                            "seed=\(seed): \(answer)"
                        )
                        let first = number * 1_000_000 + 1
                        let count = try #require(Int(match.1))
                        let without = (match.2 ?? "").split(separator: " ").compactMap { Int($0) }
                        reopenedCount += without.count
                        acknowledged.formUnion(Set(first..<(first + count)).subtracting(without))
                        #expect(process.end() == .exited(0))
                    }
                    print("\(acknowledged.count) rows, opened anew \(reopenedCount) times")
                    #expect(reopenedCount > 0)
                    #expect(entries.damage(rows: acknowledged) == nil, "seed=\(seed)")
                    #expect(try entries.commits().areComplete, "seed=\(seed)")
                }
            }
        }
    }
}
