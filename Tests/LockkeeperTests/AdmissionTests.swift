import Glibc
import Lockkeeper
import LockkeeperDomain
import LockkeeperTesting
import Testing

@Suite("Standing in line: deadlines, cancellation, shared sessions (I-1, I-6)")
struct AdmissionTests {
    // I-1, I-12: whoever waits is told for whom.
    @Test("a write that waits past its deadline fails as busy and names the process inside")
    func deadline() async throws {
        try await withNotes { test, _, alice in
            let helper = try await test.process("push-helper").session("alice")
            let gate = Gate()
            let holder = await helper.holdWriter(until: gate)
            let error = await expect(.busy) {
                try await alice.note("late", waitMax: .milliseconds(30))
            }
            // Processes are told apart by their pids, and here they share one.
            let named = error?.holders.joined() ?? ""
            #expect(named.hasPrefix("pid \(getpid()) ("), "\(named)")
            #expect(error?.description.contains(named) == true && error?.answer == .retry)
            gate.open()
            try await holder.value
            // It left no trace, and the door is open.
            try await alice.note("in time")
            #expect(try await alice.notes() == ["in time"])
        }
    }

    @Test("a write that is cancelled while it waits leaves nothing, and those behind it go on")
    func cancelled() async throws {
        try await withNotes { test, app, alice in
            let gate = Gate()
            let holder = await alice.holdWriter(until: gate)
            let helper = try await test.process("helper").session("alice")
            let cancelled = Task { try await helper.note("cancelled") }
            try await waitUntilWaiting("helper", app)
            let behind = Task { try await helper.note("behind") }
            cancelled.cancel()
            // It ends at once, not when the door opens.
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            gate.open()
            try await holder.value
            _ = try await behind.value
            #expect(try await alice.notes() == ["behind"])
        }
    }

    @Test("a write whose task was cancelled before it began never stands in line")
    func cancelledBefore() async throws {
        try await withNotes { _, _, alice in
            let gate = Gate()
            let holder = await alice.holdWriter(until: gate)
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await alice.note("never")
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            gate.open()
            try await holder.value
            let notes = try await alice.notes()
            #expect(notes == [])
        }
    }

    @Test("a write that is cancelled inside its transaction is rolled back")
    func cancelledInside() async throws {
        try await withNotes { _, _, alice in
            let gate = Gate()
            let task = Task {
                try await alice.database.write { transaction in
                    try transaction.execute("INSERT INTO note VALUES ('x')")
                    gate.arrive()
                    gate.waitUntilOpen()
                }
            }
            await gate.arrived()
            task.cancel()
            gate.open()
            await #expect(throws: CancellationError.self) { try await task.value }
            let notes = try await alice.notes()
            #expect(notes == [])
        }
    }

    // I-6: what the write found may be another process's commit that is not on disk yet.
    @Test("a write that changes nothing promises what was asked of it, and makes no commit")
    func nothingChanged() async throws {
        try await withNotes { test, _, alice in
            let helper = try await test.process("helper").session("alice")
            try await helper.note("committed only")
            let head = try await alice.database.head()
            let receipt = try await alice.database.write { transaction in
                try transaction.execute("UPDATE note SET text = 'x' WHERE text = 'none'")
            }.receipt
            #expect(receipt.durability == .durable && receipt.commit == nil)
            #expect(try await alice.database.head() == head)
        }
    }

    // I-1: nobody's share depends on who else writes; the order within a process is that of calls.
    @Test("writes of one task keep their order while seven processes write as well")
    func order() async throws {
        try await withNotes { test, _, alice in
            let others = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<7 {
                    let session = try await test.process("p\(number)").session("alice")
                    group.addTask {
                        for _ in 0..<20 { try await session.note("other") }
                        return 20
                    }
                }
                for number in 0..<20 { try await alice.note("\(number)") }
                return try await group.reduce(0, +)
            }
            let notes = try await alice.notes()
            #expect(notes.filter { $0 != "other" } == (0..<20).map(String.init))
            #expect(notes.count == others + 20)
        }
    }

    @Test("an app's closure that throws leaves nothing and its error reaches the caller unchanged")
    func thrown() async throws {
        struct OutOfStock: Error {}
        try await withNotes { _, _, alice in
            await #expect(throws: OutOfStock.self) {
                try await alice.database.write { transaction in
                    try transaction.execute("INSERT INTO note VALUES ('x')")
                    throw OutOfStock()
                }
            }
            await expect(.statement) {
                try await alice.database.write { try $0.execute("INSERT INTO nowhere VALUES (1)") }
            }
            let notes = try await alice.notes()
            #expect(notes == [])
        }
    }

    @Test("sessions of one account in one process are one, and so are opens of one folder")
    func shared() async throws {
        try await withNotes { test, app, alice in
            #expect(try await app.session("alice") === alice)
            let first = try await Workspace.open(at: test.root, name: "shared")
            let second = try await Workspace.open(at: test.root + "/.", name: "shared")
            #expect(first === second)
            await first.close()
            let third = try await Workspace.open(at: test.root, name: "shared")
            #expect(third !== first)
            await third.close()
        }
    }

    @Test("a closed session ends its own calls only, and the account gives another one")
    func closed() async throws {
        try await withNotes { test, app, alice in
            let helper = try await test.process("helper").session("alice")
            await alice.close()
            await expect(.closed) { try await alice.note("x") }
            await expect(.closed) { _ = try await alice.notes() }
            try await helper.note("y")
            let again = try await app.session("alice")
            #expect(again !== alice)
            #expect(try await again.notes() == ["y"])
        }
    }
}
