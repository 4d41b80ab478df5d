import Glibc
import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperTestSupport
import Testing

private let isWholeRun = Environment.variable("LOCKKEEPER_TEST_ALL") != nil

extension RealProcesses {
    /// What a write meets when other processes stand in its way (I-1, I-12).
    @Suite("Admission between real processes (I-1, I-12)")
    struct ProcessAdmissionTests {
        // B35
        @Test(
            "a process stopped inside its transaction is named by who waits, reads go on, and it finishes"
        )
        func stoppedInside() async throws {
            try await SharedEntries.with { entries in
                try await entries.insert(1)
                let helper = try await onOwnThread {
                    let helper = try LineProcess.account(entries.root, "push-helper")
                    #expect(try helper.ask("hold 2") == "inside")
                    try helper.stop()
                    return helper
                }
                let error = await #expect(throws: LockkeeperError.self) {
                    try await entries.insert(3, waitMax: .milliseconds(200))
                }
                let sentence = error?.holders.joined(separator: "; ") ?? ""
                #expect(error?.code == .busy && error?.answer == .retry)
                #expect(
                    sentence.contains(
                        /pid \d+ \(lockkeeper-store-tool as push-helper, helper\), writing for \d+\.\d s, stopped/
                    ),
                    "\(sentence)"
                )
                #expect(sentence.contains("pid \(helper.pid) "))
                #expect(try await entries.rows() == [1], "reads wait for nobody")
                try await onOwnThread {
                    try helper.proceed()
                    #expect(try helper.ask("go on") == "inserted 1")
                }
                try await entries.insert(3)
                #expect(try await entries.rows() == [1, 2, 3])
            }
        }

        @Test(
            "a continued process that lost nothing commits although others gave up waiting meanwhile"
        )
        func continued() async throws {
            try await SharedEntries.with { entries in
                let helper = try await onOwnThread {
                    let helper = try LineProcess.account(entries.root, "helper")
                    #expect(try helper.ask("hold 1") == "inside")
                    try helper.stop()
                    return helper
                }
                for row in 2...4 {
                    await #expect(throws: LockkeeperError.self) {
                        try await entries.insert(row, waitMax: .milliseconds(20))
                    }
                }
                let waiting = Task { try await entries.insert(5, waitMax: .seconds(60)) }
                try await onOwnThread {
                    try helper.proceed()
                    #expect(try helper.ask("go on") == "inserted 1")
                }
                _ = try await waiting.value
                #expect(try await entries.rows() == [1, 5])
            }
        }

        // B22, B37: a forked child has its parent's descriptors, and must not keep its locks.
        @Test(
            "SIGKILL of a process inside its transaction frees everybody at once, though its child lives on"
        )
        func killed() async throws {
            try await SharedEntries.with { entries in
                let (helper, child) = try await onOwnThread {
                    let helper = try LineProcess.account(entries.root, "helper")
                    let inside = try helper.ask("fork 1")
                    let child = try #require(Int32(inside.split(separator: " ").last ?? ""))
                    try helper.stop()
                    return (helper, child)
                }
                defer { kill(child, SIGKILL) }
                // It has no deadline that would let it through.
                let waiting = Task { try await entries.insert(2, waitMax: .seconds(600)) }
                try await entries.waitUntil("app", is: "waiting")
                try await onOwnThread { try helper.kill() }
                _ = try await waiting.value
                #expect(try ProcessIdentity.read(pid: child)?.condition() == .running)
                #expect(try await entries.rows() == [2], "half a transaction is none")
            }
        }

        @Test(
            "who gives up or is cancelled leaves no lock and no transaction, and costs nobody's place"
        )
        func leaving() async throws {
            try await SharedEntries.with { entries in
                let (holder, other) = try await onOwnThread {
                    let holder = try LineProcess.account(entries.root, "holder")
                    let other = try LineProcess.account(entries.root, "other")
                    #expect(try holder.ask("hold 1") == "inside")
                    return (holder, other)
                }
                let cancelled = Task { try await entries.insert(2, waitMax: .seconds(600)) }
                try await entries.waitUntil("app", is: "waiting")
                let late = Task { try await entries.insert(3, waitMax: .milliseconds(50)) }
                let patient = Task { try await entries.insert(4, waitMax: .seconds(600)) }
                // Behind all of them in another process.
                other.tell("insert 5 5")
                try await entries.waitUntil("other", is: "waiting")
                cancelled.cancel()
                await #expect(throws: CancellationError.self) { try await cancelled.value }
                await #expect(throws: LockkeeperError.self) { try await late.value }
                #expect(try await holder.asked("go on") == "inserted 1")
                let own = try await patient.value.commit
                try await onOwnThread {
                    #expect(try other.hear() == "inserted 1")
                    // The place that the two left was their process's, before the other's.
                    let order = try PlainDatabase.open(entries.path, .readOnly)
                    let last = try order.value("SELECT max(number) FROM lk_commit")?.integer
                    #expect(own.map { $0.rawValue + 1 } == last)
                    try order.close()
                    // Nothing is held: a program that waits for nobody is let in.
                    let foreign = try ForeignProgram.python.open(entries.path)
                    _ = try foreign.run("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK")
                }
                #expect(try await entries.lockHolders() == [])
                #expect(try await entries.rows() == [1, 4, 5])
            }
        }

        // I-1: with plain SQLite the one that is inside all the time gets it again and again.
        @Test("a main app's write that comes while a helper commits in a tight loop is next")
        func tightLoop() async throws {
            try await SharedEntries.with { entries in
                let helper = try await onOwnThread {
                    let helper = try LineProcess.account(entries.root, "helper")
                    // Transactions of 5 ms, so that hardly a moment is left between them.
                    #expect(try helper.ask("loop 1000 5000") == "looping")
                    return helper
                }
                var overtaken: [Int64] = []
                // Of those that were committed since it looked for the newest commit, no more than what
                // had time since it stood in line: on a busy machine its own task may come on late.
                for row in 1...20 {
                    let head = try await entries.alice.database.head().commit.rawValue
                    let receipt = try await entries.insert(row)
                    let commit = try #require(receipt.commit)
                    let hadTime = Int64(receipt.waited.milliseconds / 5)
                    overtaken.append(min(commit.rawValue - head - 1, hadTime))
                }
                // One is inside when it comes, and another may get in before its thread runs.
                print("commits of the helper before each of the app's: \(overtaken)")
                #expect(overtaken.sorted()[overtaken.count / 2] <= 2)
                #expect(try await helper.asked("stop").hasPrefix("looped "))
            }
        }

        // B08: waits are as long as what is waited for, not as a step of somebody's back-off.
        @Test(
            "two processes that commit work of 1 ms take little more together than one after the other"
        )
        func shortWaits() async throws {
            try await SharedEntries.with { entries in
                try await onOwnThread {
                    let processes = try ["one", "two"].map {
                        try LineProcess.account(entries.root, $0)
                    }
                    let count = 200
                    func wall(_ answer: String) throws -> (wall: Double, median: Double) {
                        let numbers = answer.split(separator: " ").compactMap { Double($0) }
                        try #require(numbers.count == 2, "\(answer)")
                        return (numbers[0], numbers[1])
                    }
                    let alone = try processes.map {
                        try wall(try $0.ask("work \(count) 1000", within: .seconds(60))).wall
                    }.reduce(0, +)
                    let began = SystemClock().now()
                    for process in processes { process.tell("work \(count) 1000") }
                    let medians = try processes.map {
                        let deadline = Deadline(after: .seconds(60), from: began)
                        return try wall(try $0.hear(until: deadline)).median
                    }
                    let together = SystemClock().now().duration(since: began).milliseconds
                    print(
                        "one after the other \(alone) ms, together \(together) ms, waits \(medians)"
                    )
                    #expect(together <= 5 * alone)
                    // A wait is one transaction of the other's; the first step of a back-off would be
                    // dozens of them.
                    let transaction = alone / Double(2 * count)
                    #expect(medians.allSatisfy { $0 <= 20 * transaction })
                }
            }
        }

        // B01
        @Test(
            "two processes that read a row and then change it lose no change and meet no lock error"
        )
        func readThenWrite() async throws {
            try await SharedEntries.with { entries in
                try await entries.alice.database.write {
                    try $0.execute("INSERT INTO entry VALUES (0, '0')")
                }
                let count = isWholeRun ? 5_000 : 300
                try await onOwnThread {
                    let processes = try ["one", "two"].map {
                        try LineProcess.account(entries.root, $0)
                    }
                    // A foreign program commits between the steps, where it can.
                    let foreign = try ForeignProgram.python.open(entries.path)
                    for process in processes { process.tell("increment \(count)") }
                    var foreignCount = 0
                    while !processes.allSatisfy(\.hasAnswered) {
                        _ = try foreign.run("UPDATE entry SET text = text + 1 WHERE id = 0")
                        foreignCount += 1
                    }
                    for process in processes {
                        #expect(try process.hear() == "incremented \(count)")
                    }
                    let sum = try foreign.run("SELECT text FROM entry WHERE id = 0")
                    #expect(sum == [String(2 * count + foreignCount)])
                    #expect(foreignCount > 0)
                }
            }
        }
    }
}
