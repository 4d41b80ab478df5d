import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

extension RealProcesses {
    /// Programs that know nothing of the turnstile: SQLite's own lock meets them, within the same deadline.
    @Suite("Foreign writers beside Lockkeeper")
    struct ForeignWriterTests {
        @Test(
            "a foreign program inside its transaction is waited for until the deadline, and no longer",
            arguments: ForeignProgram.allCases
        )
        func deadline(_ program: ForeignProgram) async throws {
            try await SharedEntries.with { entries in
                let foreign = try await onOwnThread {
                    let foreign = try program.open(entries.path)
                    _ = try foreign.run("BEGIN IMMEDIATE; INSERT INTO entry VALUES (1, 'foreign')")
                    return foreign
                }
                let clock = SystemClock()
                let began = clock.now()
                let error = await #expect(throws: LockkeeperError.self) {
                    try await entries.insert(2, waitMax: .milliseconds(300))
                }
                let waited = clock.now().duration(since: began)
                #expect(error?.code == .busy)
                #expect(waited >= .milliseconds(300))
                // The foreign program never lets go: who does not keep the deadline waits for ever.
                #expect(waited < .seconds(20), "the deadline covers the foreign lock")
                #expect(try await entries.rows() == [])

                let patient = Task { try await entries.insert(3, waitMax: .seconds(60)) }
                try await onOwnThread { _ = try foreign.run("COMMIT") }
                _ = try await patient.value
                #expect(try await entries.rows() == [1, 3])
            }
        }

        // B11: SQLite's interrupt reaches a statement that runs, not one that waits for a lock.
        @Test(
            "a write that waits for a foreign program's lock is cancelled at once",
            arguments: ForeignProgram.allCases
        )
        func cancelled(_ program: ForeignProgram) async throws {
            try await SharedEntries.with { entries in
                let foreign = try await onOwnThread {
                    let foreign = try program.open(entries.path)
                    _ = try foreign.run("BEGIN IMMEDIATE; INSERT INTO entry VALUES (1, 'foreign')")
                    return foreign
                }
                let task = Task { try await entries.insert(2, waitMax: .seconds(600)) }
                // It is inside the turnstile, and waits for SQLite's lock.
                try await entries.waitUntil("app", is: "writing")
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                #expect(try await entries.lockHolders() == [])
                try await onOwnThread { _ = try foreign.run("COMMIT") }
                try await entries.insert(3)
                #expect(try await entries.rows() == [1, 3])
            }
        }

        @Test("foreign programs that commit in a loop and three processes of ours all come through")
        func loops() async throws {
            try await SharedEntries.with { entries in
                try await onOwnThread {
                    let ours = try (1...3).map {
                        try LineProcess.account(entries.root, "ours\($0)", "mark=50")
                    }
                    let foreign = try ForeignProgram.allCases.map { try $0.open(entries.path) }
                    for (number, process) in ours.enumerated() {
                        #expect(try process.ask("loop \(10_000 * (number + 1)) 0") == "looping")
                    }
                    for row in 1...100 {
                        for (number, program) in foreign.enumerated() {
                            let row = 1_000 * number + row
                            _ = try program.run("INSERT INTO entry VALUES (\(row), 'foreign')")
                        }
                    }
                    var rows = Set(1...100).union(1_001...1_100)
                    for (number, process) in ours.enumerated() {
                        let answer = try process.ask("stop")
                        let match = try #require(
                            answer.firstMatch(of: /^looped (\d+)$/),
                            "\(answer)"
                        )
                        let first = 10_000 * (number + 1)
                        let count = try #require(Int(match.1))
                        #expect(count > 0)
                        rows.formUnion(first..<(first + count))
                    }
                    #expect(entries.damage(rows: rows) == nil)
                }
            }
        }
    }
}
