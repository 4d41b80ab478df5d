import CLockkeeperSQLite
import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperTesting
import Testing

@Suite("Beside an app's own tables: one transaction for both, and SQLite's handle as an escape")
struct BesideAppTablesTests {
    @Test("an app's rows and messages commit together, or neither")
    func together() async throws {
        try await withAccount { account in
            let (messages, database) = (account.messages, account.session.database)
            try await database.write { try $0.execute("CREATE TABLE poll (votes INTEGER)") }
            try await database.write { transaction in
                try transaction.execute("INSERT INTO poll VALUES (1)")
                let outcomes = try messages.apply([message("m1", seq: 1)], in: transaction)
                #expect(outcomes.inserted == 1)
            }
            struct Abandoned: Error {}
            await #expect(throws: Abandoned.self) {
                try await database.write { transaction in
                    try transaction.execute("INSERT INTO poll VALUES (2)")
                    _ = try messages.apply([message("m2", seq: 2)], in: transaction)
                    throw Abandoned()
                }
            }
            let votes = try await database.read { transaction in
                try transaction.query("SELECT votes FROM poll") { $0.integer(0) }
            }
            let shown = try await messages.shown()
            #expect(votes == [1] && shown == ["m1:text"])
        }
    }

    @Test("what is written with the handle is fenced, committed with the rest, and announced")
    func handle() async throws {
        try await withAccount { account in
            let (messages, database) = (account.messages, account.session.database)
            try await database.write { try $0.execute("CREATE TABLE poll (votes INTEGER)") }
            let start = try await database.head()
            try await database.write { transaction in
                try transaction.withConnection { handle in
                    #expect(run("INSERT INTO poll VALUES (1), (2)", handle) == SQLITE_OK)
                    // The package's own statements may come in between.
                    _ = try messages.apply([message("m1", seq: 1)], in: transaction)
                    #expect(run("UPDATE poll SET votes = 7 WHERE votes = 1", handle) == SQLITE_OK)
                    #expect(run("CREATE TABLE option (name TEXT)", handle) == SQLITE_OK)
                    for refused in ["COMMIT", "ATTACH ':memory:' AS a", "PRAGMA synchronous = OFF"]
                    {
                        #expect(run(refused, handle) == SQLITE_AUTH)
                    }
                }
            }
            let votes = try await database.read { transaction in
                try transaction.withConnection { handle in
                    #expect(run("INSERT INTO poll VALUES (3)", handle) == SQLITE_READONLY)
                    #expect(run("SELECT count(*) FROM poll", handle) == SQLITE_OK)
                }
                return try transaction.query("SELECT votes FROM poll ORDER BY votes") {
                    $0.integer(0)
                }
            }
            #expect(votes == [2, 7])
            let range = try #require(
                try await account.session.ranges(after: start, commitCount: 1).first
            )
            let tables = Dictionary(uniqueKeysWithValues: range.tables.map { ($0.name, $0.rows) })
            #expect(tables["poll"] == .some(nil) && tables["option"] == .some(nil))
            #expect(tables["lk_message"] != nil)
        }
    }

    @Test("a live query that reads with the handle hears of what it read")
    func observed() async throws {
        try await withAccount { account in
            let database = account.session.database
            try await database.write { try $0.execute("CREATE TABLE poll (votes INTEGER)") }
            let query = database.observe { transaction in
                try transaction.withConnection { count("SELECT count(*) FROM poll", $0) }
            }
            let values = query.makeAsyncIterator()
            #expect(try await values.next() == 0)
            try await database.write { try $0.execute("INSERT INTO poll VALUES (1)") }
            #expect(try await values.next() == 1)
        }
    }
}

/// Runs a statement as a program does that speaks to SQLite itself.
private func run(_ sql: String, _ handle: OpaquePointer) -> Int32 {
    sqlite3_exec(handle, sql, nil, nil, nil)
}

/// A number that a query gives.
private func count(_ sql: String, _ handle: OpaquePointer) -> Int32 {
    var statement: OpaquePointer?
    sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    defer { sqlite3_finalize(statement) }
    return sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int(statement, 0) : -1
}
