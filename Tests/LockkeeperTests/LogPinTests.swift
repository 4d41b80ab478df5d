import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

@testable import Lockkeeper

@Suite("Who pins the log, and who has the database open without Lockkeeper")
struct LogPinTests {
    private func alice(_ workspace: Workspace) async throws -> WorkspaceStatus.Account {
        try #require(try await workspace.status().accounts.first { $0.info.id == "alice" })
    }

    @Test("a read that lasts is named with process, age and what it reads, until it ends")
    func own() async throws {
        try await withNotes { test, app, _ in
            let gate = Gate()
            let reader = try await test.process("reader").session("alice")
            let pinned = await gate.holdReader(of: reader)
            var pins: [LogPin] = []
            #expect(
                try await becomesTrue {
                    pins = try await alice(app).pins
                    return pins.first?.reads != nil
                }
            )
            let pin = try #require(pins.first)
            #expect(pins.count == 1 && pin.pid == app.process.identity.pid && !pin.isForeign)
            #expect(pin.name == "reader" && pin.role == "helper" && pin.reads == "query")
            #expect(pin.condition == "running")
            test.clock.advance(by: .seconds(7))
            // The kernel's list of locks may lack one while others come and go.
            #expect(
                try await becomesTrue {
                    try await (alice(app).pins.first?.age ?? .zero) >= .seconds(7)
                }
            )
            gate.open()
            try await pinned.value
            // The record was cleared as the read ended, and the lock went with it.
            #expect(try await alice(app).pins.isEmpty)
        }
    }

    @Test("a row closure that throws, and a task that is cancelled, pin no snapshot")
    func thrown() async throws {
        try await withNotes { test, app, session in
            struct Enough: Error {}
            for _ in 0..<5 { try await session.note("n") }
            await #expect(throws: Enough.self) {
                try await session.database.read { transaction in
                    _ = try transaction.query("SELECT text FROM note") { _ in throw Enough() }
                }
            }
            await #expect(throws: Enough.self) {
                try await session.database.write { transaction in
                    _ = try transaction.query("SELECT text FROM note") { _ in throw Enough() }
                }
            }
            let gate = Gate()
            let pinned = await gate.holdReader(of: session)
            pinned.cancel()
            gate.open()
            _ = await pinned.result
            #expect(try await alice(app).pins.isEmpty)
            // Nothing stands on the log: it can be emptied.
            let files = try AccountFiles("alice", of: app)
            let outcome = try await blocking("test") {
                let opener = StoreOpener(workspace: app, account: "alice")
                return try Checkpoint(attachment: files.attachment, opener: opener)
                    .run(isIdle: true)
            }
            #expect(outcome == .complete)
            #expect(try test.logByteCount() == 0)
        }
    }

    @Test("a foreign reader is named, also one that is stopped, and only while it is there")
    func foreign() async throws {
        try await withNotes { test, app, session in
            #expect(try await alice(app).foreignProcesses.isEmpty)
            let database = test.database
            let program = try await blocking("test") {
                try ForeignProgram(ForeignProgram.reader, database: database)
            }
            var account = try await alice(app)
            let pin = try #require(account.pins.first { $0.pid == program.pid })
            #expect(pin.isForeign && pin.program.hasPrefix("python") && pin.age == nil)
            #expect(account.foreignProcesses.map(\.pid) == [program.pid])
            #expect(account.foreignProcesses.first?.condition == "running")
            try program.stop()
            #expect(
                try await becomesTrue { try await alice(app).pins.first?.condition == "stopped" }
            )
            // What it keeps from being copied is seen from outside, and as a finding.
            let findings = try await app.foreignProcesses(of: "alice").map(\.finding)
            #expect(findings.map(\.code) == ["foreign-process"])
            #expect(findings.first?.explanation.contains("I-10 is not guaranteed") == true)
            try await blocking("test") { try program.end() }
            account = try await alice(app)
            #expect(account.pins.isEmpty && account.foreignProcesses.isEmpty)
            _ = session
        }
    }

    // B13: a log without bounds, because some reader is always there.
    @Test(
        "B13: under readers that always overlap the log is degraded, the oldest is named, writes slow"
    )
    func overlapping() async throws {
        var limits = Limits()
        limits.checkpointFrameCountWithoutHost = 50
        limits.logByteCountDegraded = 400_000
        // Large enough to be told from the time that the writes take.
        limits.degradedLivePause = .milliseconds(40)
        try await withNotes(limits: limits) { test, app, session in
            let reader = try await test.process("reader").session("alice")
            var held: [(gate: Gate, task: Task<Void, any Error>)] = []
            func overlap() async throws {
                let gate = Gate()
                held.append((gate, await gate.holdReader(of: reader)))
                guard held.count > 2 else { return }
                let oldest = held.removeFirst()
                oldest.gate.open()
                try await oldest.task.value
            }
            try await overlap()
            // Below twice the mark live writes are not kept apart.
            var rounds = 0
            while try test.logByteCount() < Int64(limits.logByteCountDegraded) * 4 {
                try await session.note("\(rounds)")
                rounds += 1
                if rounds.isMultiple(of: 20) { try await overlap() }
            }
            try await overlap()
            #expect(
                try await becomesTrue {
                    let account = try await alice(app)
                    return account.isDegraded && account.pins.first?.name == "reader"
                        && account.pins.first?.reads == "query"
                }
            )
            let clock = SystemClock()
            let began = clock.now()
            for _ in 0..<10 { try await session.note("slow") }
            #expect(clock.now().duration(since: began) >= limits.degradedLivePause * 9)
            for reader in held {
                reader.gate.open()
                try await reader.task.value
            }
            #expect(try await test.log { $0 <= Int64(limits.logByteCountDegraded) })
            #expect(try await !alice(app).isDegraded)
            #expect(try await session.notes().count == rounds + 10)
        }
    }
}
