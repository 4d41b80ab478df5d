import LockkeeperDomain
import LockkeeperTesting
import Testing

@testable import Lockkeeper

/// What a range says of an app's own tables, as another process hears it (5.3, I-7).
@Suite("Ranges of an app's tables", .serialized, .timeLimit(.minutes(10))) struct RangeTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let write: String
        /// The tables and their rows; `nil` for any row.
        let tables: [String: [ClosedRange<Int64>]?]
        var testDescription: String { write }

        init(_ write: String, _ tables: [String: [ClosedRange<Int64>]?]) {
            self.write = write
            self.tables = tables
        }
    }

    @Test(
        "it names every table that was written, by trigger and foreign key too, and rows or any row",
        arguments: [
            Case("INSERT INTO a VALUES (7, 'x'), (8, 'y')", ["a": [7...8]]),
            Case("INSERT OR REPLACE INTO a VALUES (1, 'x')", ["a": nil, "child": nil]),
            Case("DELETE FROM a", ["a": [1...2], "child": [1...2]]),
            Case("DELETE FROM a WHERE id = 2", ["a": [2...2], "child": [2...2]]),
            Case("UPDATE a SET text = 'fires' WHERE id = 1", ["a": [1...1], "log": [1...1]]),
            Case("UPDATE child SET rowid = rowid + 5", ["child": nil]),
            Case("UPDATE w SET text = 'z'", ["w": nil]),
            Case("DELETE FROM w", ["w": nil]),
            Case("INSERT INTO f VALUES ('three')", ["f": nil]),
            Case("DELETE FROM f", ["f": nil]),
            Case("CREATE TABLE made (x)", ["made": nil]),
            Case("DROP TABLE log", ["log": nil]),
        ]
    )
    func named(_ sample: Case) async throws {
        try await withAppTables { test, alice in
            let start = try await alice.database.head()
            let feed = alice.changes(after: start).makeAsyncIterator()
            let helper = try await test.process("helper").session("alice")
            try await helper.database.write { try $0.execute(sample.write) }
            let range = try #require(try await feed.next())
            #expect(range.origins == ["helper"] && range.topics == nil)
            #expect(range.predecessor == start.commit)
            for (name, rows) in sample.tables {
                let change = try #require(range.tables.first { $0.name == name }, "\(range.tables)")
                // A range covers at least what happened: any row is true of everything.
                #expect(change.rows == nil || change.rows?.ranges == rows, "\(change)")
                #expect((change.rows == nil) == (rows == nil), "\(change)")
            }
        }
    }

    @Test("a commit that changed nothing makes no range, and gives its receipt no number")
    func nothing() async throws {
        try await withAppTables { test, alice in
            let start = try await alice.database.head()
            let feed = alice.changes(after: start).makeAsyncIterator()
            let helper = try await test.process("helper").session("alice")
            let (_, receipt) = try await helper.database.write { transaction in
                try transaction.execute("UPDATE a SET text = 'x' WHERE id = 99")
            }
            #expect(receipt.commit == nil)
            let next = try await helper.database.write { try $0.execute("DELETE FROM a") }.receipt
            #expect(try await feed.next()?.first == next.commit)
            #expect(next.commit == start.commit.next)
        }
    }

    // B109, I-15
    @Test("commits are told in their order whatever the wall clock says, also at 1970 and 2100")
    func wallClock() async throws {
        try await withAppTables { test, alice in
            let start = try await alice.database.head()
            let feed = alice.changes(after: start).makeAsyncIterator()
            let helper = try await test.process("helper").session("alice")
            var last = start.commit
            for milliseconds: Int64 in [0, 4_102_444_800_000, 1_796_000_000_000] {
                test.wallClock.set(milliseconds: milliseconds)
                try await helper.database.write { try $0.execute("INSERT INTO log VALUES ('x')") }
                let range = try #require(try await feed.next())
                #expect(range.predecessor == last && range.first == last.next)
                last = range.last
            }
        }
    }

    // B43
    @Test(
        "a helper that knows fewer schemas opens, writes and closes without changing the database's"
    )
    func fewerFeatures() async throws {
        try await TestWorkspace.with { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            try await alice.database.write { try $0.execute("CREATE TABLE note (text TEXT)") }
            let before = try await Self.schema(of: alice)
            let plain = try await Workspace.openApart(at: test.root, name: "plain")
            let helper = try await plain.session("alice")
            try await helper.note("from a helper")
            await plain.close()
            #expect(try await Self.schema(of: alice) == before)
            #expect(try await alice.notes() == ["from a helper"])
        }
    }

    /// Everything that the file's schema is, and its own numbers for it.
    private static func schema(of session: Session) async throws -> [String] {
        try await session.database.read { transaction in
            let query = """
                SELECT type || name || ifnull(sql, '') FROM sqlite_schema UNION ALL
                SELECT schema_version FROM pragma_schema_version UNION ALL
                SELECT user_version FROM pragma_user_version UNION ALL
                SELECT owner || name || hex(checksum) FROM lk_migration
                """
            return try transaction.query(query) { $0.text(0) }
        }
    }
}
