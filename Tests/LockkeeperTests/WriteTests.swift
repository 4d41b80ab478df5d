import Lockkeeper
import LockkeeperMessages
import LockkeeperTesting
import Testing

@Suite("Writes through a session: fence, receipts, reads")
struct WriteTests {
    @Test("a write is read back by another process, and a write that changes nothing has no commit")
    func writeAndRead() async throws {
        try await TestWorkspace.with { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            try await alice.database.write { transaction in
                try transaction.execute("CREATE TABLE poll (id INTEGER PRIMARY KEY, votes INTEGER)")
            }
            let (votes, receipt) = try await alice.database.write { transaction in
                try transaction.execute("INSERT INTO poll VALUES (1, 7)")
                return try transaction.query("SELECT votes FROM poll") { $0.integer(0) }
            }
            #expect(votes == [7])
            #expect(receipt.commit != nil)
            let nothing = try await alice.database.write {
                try $0.execute("DELETE FROM poll WHERE 0")
            }
            #expect(nothing.receipt.commit == nil)
            #expect(nothing.receipt.durability == .durable)

            let helper = try await test.process("helper").session("alice")
            let seen = try await helper.database.read { transaction in
                try transaction.query("SELECT votes FROM poll") { $0.integer(0) }
            }
            #expect(seen == [7])
        }
    }

    @Test("a database and a feed work on after the caller has let go of their session")
    func outliveTheSession() async throws {
        try await TestWorkspace.with { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            let database = try await app.activate("alice").database
            try await database.write { try $0.execute("CREATE TABLE note (text TEXT)") }
            let start = try await database.head()
            let feed = try await app.session("alice").changes(after: start)
            try await database.write { try $0.execute("INSERT INTO note VALUES ('x')") }
            for try await range in feed {
                #expect(range.predecessor == start.commit)
                break
            }
        }
    }

    // I-2, I-13
    @Test("a session of an older generation is refused for writes and reads, also for A to B to A")
    func superseded() async throws {
        try await TestWorkspace.with { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            try await app.addAccount("bob")
            try await app.activate("alice")
            let helper = try await test.process("helper")
            let held = try await helper.session("alice")
            try await held.database.write { transaction in
                try transaction.execute("CREATE TABLE note (text TEXT)")
            }
            let bob = try await app.replaceAccount("alice", with: "bob")
            await expectSuperseded { try await write("x", held) }
            await expectSuperseded { try await held.database.read { _ in } }
            _ = bob
            let again = try await app.replaceAccount("bob", with: "alice")
            await expectSuperseded { try await write("y", held) }
            let head = try await again.database.head()
            try await write("z", again)
            let texts = try await again.database.read { transaction in
                try transaction.query("SELECT text FROM note") { $0.text(0) }
            }
            #expect(texts == ["z"])
            let after = try await again.database.head()
            #expect(after.commit == head.commit.next)
        }
    }

    // I-15
    @Test("a wall clock in 1970 or 2100 changes no order, lets nobody wait and supersedes nobody")
    func wallClock() async throws {
        try await TestWorkspace.with { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            try await alice.database.write { try $0.execute("CREATE TABLE note (text TEXT)") }
            var last = try await alice.database.head().commit
            for milliseconds: Int64 in [0, 4_102_444_800_000, 1_000] {
                test.wallClock.set(milliseconds: milliseconds)
                try await write("x", alice)
                let head = try await alice.database.head().commit
                #expect(head == last.next)
                last = head
            }
            try await write("y", try await test.process("helper").session("alice"))
        }
    }

    @Test("an app's closure cannot end the transaction or attach files, and the store stays usable")
    func restricted() async throws {
        try await TestWorkspace.with { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            for sql in ["COMMIT", "ROLLBACK", "ATTACH 'x' AS y", "PRAGMA journal_mode=DELETE"] {
                await #expect(throws: LockkeeperError.self, "\(sql)") {
                    try await alice.database.write { try $0.execute(sql) }
                }
            }
            try await alice.database.write { try $0.execute("CREATE TABLE fine (id INTEGER)") }
        }
    }

    private func write(_ text: String, _ session: Session) async throws {
        try await session.database.write { transaction in
            try transaction.execute("INSERT INTO note VALUES (?1)", SQLValue(text))
        }
    }

    private func expectSuperseded(_ body: () async throws -> Void) async {
        let error = await #expect(throws: LockkeeperError.self) { try await body() }
        #expect(error?.code == .superseded)
    }
}

@Suite("The change feed: every commit once, in order (I-7, I-8)")
struct ChangeFeedTests {
    // B38
    @Test(
        "a feed without a host sees another process's commits in order, early and late subscribers alike"
    )
    func withoutHub() async throws {
        try await TestWorkspace.with { test in
            try await follow(test, served: false)
        }
    }

    @Test("a feed through the hub sees another process's commits in order, early and late alike")
    func withHub() async throws {
        try await TestWorkspace.with { test in
            try await follow(test, served: true)
        }
    }

    private func follow(_ test: TestWorkspace, served: Bool) async throws {
        let app = try await test.process("app", role: .host)
        try await app.addAccount("alice")
        let alice = try await app.activate("alice")
        let host = served ? try await app.serve() : nil
        try await alice.database.write { try $0.execute("CREATE TABLE tick (n INTEGER)") }
        let start = try await alice.database.head()
        let early = Task { try await commits(of: alice.changes(after: start), upTo: 50) }
        let helper = try await test.process("helper").session("alice")
        for n in 1...50 {
            try await helper.database.write(durability: .committed) {
                try $0.execute("INSERT INTO tick VALUES (?1)", SQLValue(n))
            }
        }
        let expected = (1...50).map { start.commit.rawValue + Int64($0) }
        #expect(try await early.value == expected)
        #expect(try await commits(of: alice.changes(after: start), upTo: 50) == expected)
        await host?.close()
    }

    /// The commit numbers that a feed's ranges cover, which must follow each other.
    private func commits(of feed: ChangeFeed, upTo count: Int) async throws -> [Int64] {
        var numbers: [Int64] = []
        for try await range in feed {
            #expect(range.tables.map(\.name) == ["tick"])
            numbers += range.first.rawValue...range.last.rawValue
            if numbers.count >= count { break }
        }
        return numbers
    }
}
