import Glibc
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTesting
import Synchronization
import Testing

@testable import Lockkeeper

/// Queries that stay live across processes (5.6). The slow poll stands at an hour: what comes, comes
/// because it was heard of.
@Suite("Live queries", .serialized, .timeLimit(.minutes(10))) struct LiveQueryTests {
    // B38
    @Test("the first value comes at once, the next one when another process's commit touched it")
    func followsOthers() async throws {
        try await withNotes(limits: Self.limits) { test, app, alice in
            let helper = try await test.process("helper").session("alice")
            let notes = alice.database.observe { try Self.notes($0) }.makeAsyncIterator()
            #expect(try await notes.next() == [])
            try await helper.note("a")
            #expect(try await notes.next() == ["a"])
            _ = try await helper.database.write { transaction in
                for number in 1...500 {
                    try transaction.execute("INSERT INTO note VALUES (?1)", .integer(Int64(number)))
                }
            }
            #expect(try await notes.next()?.count == 501)
        }
    }

    @Test("the first value is there when the call returns, and the query is followed from there")
    func firstValue() async throws {
        try await withNotes(limits: Self.limits) { test, app, alice in
            let counted = Counted()
            let helper = try await test.process("helper").session("alice")
            try await helper.note("a")
            let notes = alice.database.observe { try counted.read($0) }
            // Another process stands inside its transaction meanwhile.
            let gate = Gate()
            let holder = await helper.holdWriter(until: gate)
            let (first, rest) = try notes.startBlocking()
            #expect(first == ["a"] && counted.count == 1)
            gate.open()
            try await holder.value
            try await helper.note("b")
            #expect(try await rest.next() == ["a", "b"])
            #expect(counted.count == 2)
            await alice.close()
            await expect(.closed) { _ = try notes.startBlocking() }
        }
    }

    @Test("for a consumer that waits the query runs on the thread that hears of the commit")
    func runsWhereHeard() async throws {
        try await withNotes(limits: Self.limits) { test, app, alice in
            let helper = try await test.process("helper").session("alice")
            let notes = alice.database.observe { transaction in
                (thread: Self.threadName(), count: try Self.notes(transaction).count)
            }
            let (values, consumer) = AsyncStream.makeStream(of: (thread: String, count: Int).self)
            let following = Task { for try await value in notes { consumer.yield(value) } }
            var value = values.makeAsyncIterator()
            _ = await value.next()
            var (threads, count) = (Set<String>(), 0)
            // Whether it waits before the commit comes is up to the scheduler, each time anew.
            while !threads.contains("lk-feed") && count < 1000 {
                try await helper.note("x")
                count += 1
                let next = try #require(await value.next())
                threads.insert(next.thread)
                #expect(next.count == count)
            }
            #expect(threads.contains("lk-feed"))
            following.cancel()
            try await following.value
        }
    }

    @Test("a query that throws on that thread ends with what it threw, and other feeds go on")
    func throwsWhereHeard() async throws {
        struct Own: Error {}
        try await withNotes(limits: Self.limits) { test, app, alice in
            let helper = try await test.process("helper").session("alice")
            let other = alice.database.observe { try Self.notes($0) }.makeAsyncIterator()
            let notes = alice.database.observe { transaction in
                guard try Self.notes(transaction).isEmpty else { throw Own() }
            }.makeAsyncIterator()
            _ = try await other.next()
            _ = try await notes.next()
            let waiting = Task { try await notes.next() }
            try await helper.note("a")
            await #expect(throws: Own.self) { try await waiting.value }
            #expect(try await other.next() == ["a"])
        }
    }

    @Test("a commit that touches other tables only costs no run")
    func untouched() async throws {
        try await withNotes(limits: Self.limits) { test, app, alice in
            let counted = Counted()
            let helper = try await test.process("helper").session("alice")
            try await helper.database.write { try $0.execute("CREATE TABLE other (x)") }
            let notes = alice.database.observe { try counted.read($0) }.makeAsyncIterator()
            _ = try await notes.next()
            for _ in 1...10 {
                try await helper.database.write { try $0.execute("INSERT INTO other VALUES (1)") }
            }
            try await helper.note("a")
            #expect(try await notes.next() == ["a"])
            #expect(counted.count == 2)
        }
    }

    @Test("forty commits behind a consumer that does not ask are one run")
    func slowConsumer() async throws {
        try await withNotes(limits: Self.limits) { test, app, alice in
            let counted = Counted()
            let helper = try await test.process("helper").session("alice")
            let notes = alice.database.observe { try counted.read($0) }.makeAsyncIterator()
            _ = try await notes.next()
            for number in 1...40 { try await helper.note("\(number)") }
            #expect(try await notes.next()?.count == 40)
            try await helper.note("last")
            #expect(try await notes.next()?.count == 41)
            #expect(counted.count == 3)
        }
    }

    @Test(
        "a query is touched by whatever changes the rows that it shows",
        arguments: [
            Case("SELECT count(*) FROM A", "INSERT INTO a VALUES (9, 'x')"),
            Case("SELECT text FROM a ORDER BY id", "INSERT OR REPLACE INTO a VALUES (1, 'y')"),
            Case("SELECT text FROM a", "DELETE FROM a"),
            Case("SELECT text FROM shown", "UPDATE a SET text = 'z' WHERE id = 1"),
            Case("SELECT (SELECT max(id) FROM w)", "UPDATE w SET id = 7 WHERE id = 1"),
            Case("SELECT count(*) FROM w WHERE text IS NOT NULL", "DELETE FROM w"),
            Case("SELECT count(*) FROM log", "UPDATE a SET text = 'fires' WHERE id = 1"),
            Case("SELECT count(*) FROM child", "DELETE FROM a WHERE id = 2"),
            Case("WITH t AS (SELECT * FROM a) SELECT count(*) FROM t", "DELETE FROM a"),
            Case("SELECT text FROM f WHERE f MATCH 'one'", "INSERT INTO f VALUES ('one two')"),
            Case("SELECT count(*) FROM sqlite_schema", "CREATE TABLE more (x)"),
            Case("SELECT a.id FROM a JOIN json_each('[1,2]') ON value = a.id", "DELETE FROM a"),
            Case("SELECT max(number) FROM lk_commit", "INSERT INTO w VALUES (8, 'x')"),
        ]
    )
    func touched(_ sample: Case) async throws {
        try await withAppTables { test, alice in
            let helper = try await test.process("helper").session("alice")
            let rows = alice.database.observe { transaction in
                try transaction.query(sample.query) { $0[0] }
            }.withoutRepeats().makeAsyncIterator()
            let first = try await rows.next()
            try await helper.database.write { try $0.execute(sample.write) }
            let second = try await rows.next()
            #expect(second != nil && second != first)
        }
    }

    @Test("a query follows a view that another process defines anew")
    func viewRedefined() async throws {
        try await withAppTables { test, alice in
            let helper = try await test.process("helper").session("alice")
            let texts = alice.database.observe { transaction in
                try transaction.query("SELECT text FROM shown ORDER BY id") { $0.text(0) }
            }.makeAsyncIterator()
            #expect(try await texts.next() == ["one", "two"])
            try await helper.database.write { transaction in
                try transaction.execute("DROP VIEW shown")
                try transaction.execute("CREATE VIEW shown AS SELECT id, text FROM w")
            }
            #expect(try await texts.next() == ["w"])
            try await helper.database.write {
                try $0.execute("INSERT INTO w VALUES (5, 'more')")
            }
            #expect(try await texts.next() == ["w", "more"])
        }
    }

    @Test("values that equal the last one are left out where that is asked for")
    func withoutRepeats() async throws {
        try await withNotes(limits: Self.limits) { test, app, alice in
            let helper = try await test.process("helper").session("alice")
            let count = alice.database.observe { try Self.notes($0).filter { $0 == "x" }.count }
                .withoutRepeats().makeAsyncIterator()
            #expect(try await count.next() == 0)
            try await helper.note("a")
            try await helper.note("x")
            #expect(try await count.next() == 1)
        }
    }

    @Test("with topics, only commits that named one of them, or may have, count")
    func topics() async throws {
        try await withNotes(limits: Self.limits) { test, app, alice in
            let counted = Counted()
            let helper = try await test.process("helper").session("alice")
            let notes = alice.database.observe(topics: [[1]]) { try counted.read($0) }
                .makeAsyncIterator()
            _ = try await notes.next()
            for topic in [UInt8(2), 3, 1] {
                try await helper.database.write { transaction in
                    transaction.touch(topic: [topic])
                    try transaction.execute("INSERT INTO note VALUES ('x')")
                }
            }
            #expect(try await notes.next()?.count == 3)
            #expect(counted.count == 2)
        }
    }

    // I-13
    @Test("it ends as superseded at a switch, and quietly with its session or task")
    func ends() async throws {
        try await withNotes(limits: Self.limits) { test, app, alice in
            try await app.addAccount("bob")
            let helper = try await test.process("helper").session("alice")
            let (closed, cancelled, superseded) = (
                helper.database.observe { try Self.notes($0) }.makeAsyncIterator(),
                alice.database.observe { try Self.notes($0) },
                alice.database.observe { try Self.notes($0) }.makeAsyncIterator()
            )
            _ = try await closed.next()
            await helper.close()
            #expect(try await closed.next() == nil)
            let task = Task { for try await _ in cancelled {} }
            task.cancel()
            try await task.value
            _ = try await superseded.next()
            _ = try await app.replaceAccount("alice", with: "bob")
            await expect(.superseded) { _ = try await superseded.next() }
            #expect(try await superseded.next() == nil)
        }
    }

    // B10
    @Test("it waits while its process is suspended, and then shows what others wrote meanwhile")
    func suspended() async throws {
        try await withNotes(limits: Self.limits) { test, app, alice in
            let helper = try await test.process("helper").session("alice")
            let notes = alice.database.observe { try Self.notes($0) }
            let began = notes.makeAsyncIterator()
            _ = try await began.next()
            try await helper.note("before")
            try await app.suspend()
            let waiting = Task { try await began.next() }
            let fresh = Task { try await notes.makeAsyncIterator().next() }
            try await helper.note("meanwhile")
            try await app.resume()
            #expect(try await fresh.value == ["before", "meanwhile"])
            #expect(try await waiting.value == ["before", "meanwhile"])
        }
    }

    @Test("a query that throws ends with what it threw, and leaves the session usable")
    func throwing() async throws {
        struct Own: Error {}
        try await withNotes(limits: Self.limits) { test, app, alice in
            let broken = alice.database.observe { _ -> Int in throw Own() }.makeAsyncIterator()
            await #expect(throws: Own.self) { _ = try await broken.next() }
            let refused = alice.database.observe { transaction in
                try transaction.query("DELETE FROM note") { _ in }
            }.makeAsyncIterator()
            await expect(.permissionDenied) { _ = try await refused.next() }
            try await alice.note("fine")
        }
    }

    /// A query, and a write that changes what it shows.
    struct Case: Sendable, CustomTestStringConvertible {
        let query: String
        let write: String
        var testDescription: String { "\(query) | \(write)" }

        init(_ query: String, _ write: String) {
            self.query = query
            self.write = write
        }
    }

    private static let limits = Limits.withoutSlowPoll

    private static func threadName() -> String {
        guard let file = fopen("/proc/thread-self/comm", "r") else { return "" }
        defer { fclose(file) }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { name in
            guard let start = name.baseAddress, fgets(start, 32, file) != nil else { return "" }
            return String(cString: start).filter { $0 != "\n" }
        }
    }

    fileprivate static func notes(_ transaction: borrowing ReadTransaction) throws -> [String] {
        try transaction.query("SELECT text FROM note ORDER BY rowid") { $0.text(0) }
    }
}

/// A query that counts its runs.
private final class Counted: Sendable {
    private let runs = Atomic<Int>(0)

    var count: Int { runs.load(ordering: .acquiring) }

    func read(_ transaction: borrowing ReadTransaction) throws -> [String] {
        runs.add(1, ordering: .acquiringAndReleasing)
        return try LiveQueryTests.notes(transaction)
    }
}
