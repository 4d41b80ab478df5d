import Lockkeeper
import LockkeeperDomain
import LockkeeperSQLite
import LockkeeperTesting
import Synchronization
import Testing

@testable import Lockkeeper

@Suite("Live before backfill, neither starved, in a process and between processes (R-6)")
struct PriorityTests {
    @Test(
        "live writes pass the history that stands in line, and an eighth of the turns is history's"
    )
    func inProcess() async throws {
        try await withNotes { _, _, alice in
            let gate = Gate()
            let holder = await alice.holdWriter(until: gate)
            let history = alice.enqueue("b", count: 5, class: .backfill)
            let live = alice.enqueue("l", count: 10, class: .live)
            gate.open()
            for end in [holder, history, live] { try await end.value }
            let order = try await alice.notes()
            #expect(order.map { $0.first } == Array("lllllllblllbbbb"))
            for kind in ["b", "l"] {
                let numbers = order.filter { $0.hasPrefix(kind) }.compactMap { Int($0.dropFirst()) }
                #expect(numbers == numbers.sorted())
            }
        }
    }

    // Between processes a class is not known: each stands at the door for whoever is first in its own
    // line. So live work waits for one admission of each process before it, however much history
    // stands behind that.
    @Test("a live write waits for one admission of the process that brings in history, not for all")
    func betweenProcesses() async throws {
        var limits = Limits()
        limits.admissionTimeMax = .zero
        try await withNotes(limits: limits) { test, app, alice in
            let helper = try await test.process("helper")
            let other = try await helper.session("alice")
            let gate = Gate()
            let holder = await alice.holdWriter(until: gate)
            let history = alice.enqueue("b", count: 20, class: .backfill)
            let live = other.enqueue("live", count: 1, class: .live)
            try await waitUntilWaiting("helper", helper)
            gate.open()
            for end in [holder, history, live] { try await end.value }
            let order = try await alice.notes()
            #expect(order.count == 21 && order.first == "live1", "\(order)")
        }
    }

    @Test("history goes on while another process writes without a pause, and both end")
    func notStarved() async throws {
        try await withNotes { test, _, alice in
            let other = try await test.process("helper").session("alice")
            let isDone = Atomic<Bool>(false)
            let writing = Task {
                var count = 0
                while !isDone.load(ordering: .acquiring) {
                    try await other.note("l\(count)")
                    count += 1
                }
                return count
            }
            try await alice.enqueue("b", count: 200, class: .backfill).value
            isDone.store(true, ordering: .releasing)
            let count = try await writing.value
            let order = try await alice.notes()
            #expect(order.count == 200 + count)
        }
    }
}

extension Session {
    /// Puts writes into the line of this process, one behind the other, before it returns.
    ///
    /// - Returns: what ends when all of them have.
    fileprivate func enqueue(
        _ prefix: String,
        count: Int,
        class admissionClass: AdmissionClass
    ) -> Task<Void, any Error> {
        let (ends, continuation) = AsyncStream.makeStream(of: Result<Void, any Error>.self)
        for number in 1...count {
            database.submit(
                durability: .committed,
                class: admissionClass,
                // The order is what is looked at; how long a slow machine takes for it is not.
                waitMax: .seconds(60),
                body: { connection, _ in
                    let insert = try connection.statement("INSERT INTO note VALUES (?1)")
                    try insert.bind(1, "\(prefix)\(number)")
                    try insert.run()
                },
                completion: { continuation.yield($0.map { _ in }) }
            )
        }
        return Task {
            var left = count
            for await end in ends {
                try end.get()
                left -= 1
                if left == 0 { break }
            }
        }
    }
}
