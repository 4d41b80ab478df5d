import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import LockkeeperTesting
import Testing

@testable import Lockkeeper

@Suite("Having an account to oneself (5.5)")
struct ExclusiveWorkTests {
    /// Does something exclusively, as whoever holds SWITCH.
    private func alone(
        in workspace: Workspace,
        waitMax: Duration = .seconds(20),
        _ body: @escaping @Sendable ([StoreKind: Connection]) throws -> Void = { _ in }
    ) async throws {
        try await workspace.work { workspace in
            let deadline = Deadline(after: waitMax, from: workspace.clock.now())
            let switching = try workspace.membership.acquire(
                .switching,
                .exclusive,
                until: deadline
            )
            try switching.whileHeld {
                let attachment = try workspace.attach("alice")
                try ExclusiveWork(
                    workspace: workspace,
                    attachment: attachment,
                    deadline: deadline
                ).run(proving: StoreKind.allCases) { try body($0) }
            }
        }
    }

    @Test("everybody leaves, an idle process too, and goes on afterwards with what was queued")
    func everybodyLeaves() async throws {
        try await withNotes { test, app, alice in
            try await alice.note("before")
            #expect(try await alice.notes() == ["before"])
            let head = try await alice.database.head()
            let feed = alice.changes(after: head).makeAsyncIterator()
            let idle = try await test.process("idle")
            let there = try await idle.session("alice")
            #expect(try await there.notes() == ["before"])
            let worker = try await test.process("worker")
            let gate = Gate()
            let work = Task {
                try await alone(in: worker) { connections in
                    #expect(connections.count == 2)
                    gate.arrive()
                    gate.waitUntilOpen()
                }
            }
            await gate.arrived()
            // The account is nobody's: writes and reads wait, and a newcomer stands at the door.
            let write = Task { try await alice.note("after", durability: .durable) }
            let read = Task { try await there.notes() }
            let newcomer = Task { try await test.process("new").session("alice").note("new") }
            await expect(.busy) { try await alice.note("never", waitMax: .milliseconds(10)) }
            let status = try await test.process("looker").status()
            let problem = status.accounts.first?.problem
            #expect(problem?.contains("ENTRY was not free") == true, "\(problem ?? "none")")
            gate.open()
            try await work.value
            _ = try await write.value
            _ = try await read.value
            _ = try await newcomer.value
            #expect(try await Set(alice.notes()) == ["before", "after", "new"])
            #expect(try await feed.next() != nil)
        }
    }

    @Test("who does not leave is named, nothing was done, and everybody goes on")
    func whoStays() async throws {
        try await withNotes { test, app, alice in
            let gate = Gate()
            let reading = Task {
                try await alice.database.read { transaction in
                    gate.arrive()
                    gate.waitUntilOpen()
                    return try transaction.query("SELECT count(*) FROM note") { $0.integer(0) }
                }
            }
            await gate.arrived()
            let worker = try await test.process("worker")
            let error = await expect(.busy) {
                try await alone(in: worker, waitMax: .milliseconds(400)) { _ in
                    Issue.record("somebody is still inside")
                }
            }
            #expect(
                error?.holders.contains { $0.contains("app, helper") } == true,
                "\(error as Any)"
            )
            gate.open()
            #expect(try await reading.value == [0])
            try await alice.note("after")
            try await alone(in: worker)
            #expect(try await alice.notes() == ["after"])
        }
    }

    @Test("a foreign connection keeps it from being done, whatever its program")
    func foreign() async throws {
        try await withNotes { test, app, alice in
            let path = try await app.work { try AccountFiles("alice", of: $0).path(of: .messages) }
            let foreign = try Connection(
                path: path,
                mode: .readWrite,
                clock: SystemClock(),
                busyDeadline: .never,
                jitterSeed: 1
            )
            _ = try foreign.value("SELECT count(*) FROM note")
            await expect(.busy) {
                try await alone(in: app, waitMax: .milliseconds(300)) { _ in
                    Issue.record("a foreign program has it open")
                }
            }
            try foreign.close()
            try await alone(in: app) { connections in
                // While one is alone no foreign program gets in.
                let late = try Connection(
                    path: path,
                    mode: .readOnly,
                    clock: SystemClock(),
                    busyDeadline: Deadline(at: SystemClock().now()),
                    jitterSeed: 1
                )
                let error = #expect(throws: SQLiteError.self) {
                    try late.value("SELECT count(*) FROM note")
                }
                #expect(error.map { ResultCode.busy ~= $0.code } == true)
                #expect(connections.count == 2)
            }
            try await alice.note("after")
        }
    }

    @Test("of two that want it at once each has it, one after the other")
    func two() async throws {
        try await withNotes { test, app, alice in
            let inside = Monitor(0)
            let workers = [try await test.process("one"), try await test.process("two")]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in workers {
                    _ = try await worker.session("alice").notes()
                    group.addTask {
                        try await alone(in: worker) { _ in
                            #expect(
                                inside.withLock {
                                    $0 += 1; return $0
                                } == 1
                            )
                            inside.withLock { $0 -= 1 }
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await alice.note("after")
        }
    }

    @Test("what a process left behind that died before it published is moved away, never opened")
    func leftovers() async throws {
        try await withNotes { test, app, alice in
            try await alice.note("kept")
            let folder = try await app.work { try $0.attach("alice").paths }
            for name in ["messages-7.db", "messages-7.db-wal", "settings-9.db"] {
                try FileSystem.replaceFile(at: "\(folder.directory)/\(name)", with: [1])
            }
            try await alone(in: app)
            let moved = try FileSystem.list(folder.damaged).sorted()
            #expect(moved == ["messages-7.db", "messages-7.db-wal", "settings-9.db"])
            let next = try await app.work {
                try $0.attach("alice").nextFileNumber(of: .messages, after: 1)
            }
            #expect(next == 8, "a name that was used is never used again")
            #expect(try await alice.notes() == ["kept"])
        }
    }

    @Test("a suspended process has left already, and finds out when it resumes")
    func suspended() async throws {
        try await withNotes { test, app, alice in
            try await app.suspend()
            let worker = try await test.process("worker")
            try await alone(in: worker)
            try await app.resume()
            try await alice.note("after")
        }
    }
}
