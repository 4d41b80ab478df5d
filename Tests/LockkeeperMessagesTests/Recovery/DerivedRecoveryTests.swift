import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

@testable import Lockkeeper

@Suite("Recovery with what stands elsewhere: tables that others follow from, backups (5.8, I-11)")
struct DerivedRecoveryTests {
    // B88: SQLite's own check says "ok".
    @Test(
        "a search index that is out of step is made anew by a repair, and no message is touched (B88)",
        arguments: [
            "DELETE FROM lk_search_text WHERE message = 2",
            "DELETE FROM lk_search_data WHERE id > 10",
        ]
    )
    func search(_ damage: String) async throws {
        try await withAccount { account in
            try await account.store(try messages(["alpha", "beta", "gamma"]), index: .caughtUp)
            let exported = try await account.messages.exported()
            try await account.damage(damage)
            let repairer = try await account.test.process("repairer")
            let found = try await repairer.inspect("alice")
            #expect(found.contains { $0.remedy.contains("lockkeeper repair") }, "\(found)")
            await account.app.close()
            let report = try await repairer.repair("alice")
            #expect(report.outcome == .repaired && report.isWhole && report.setBack.isEmpty)
            #expect(report.databases.map(\.method) == [.reindexed])
            let store = try MessageStore(try await repairer.session("alice"))
            #expect(try await store.exported() == exported)
            try await store.catchUpSearch()
            for (number, text) in ["alpha", "beta", "gamma"].enumerated() {
                let hits = try await store.search(SearchQuery(text, match: .words), limit: 10)
                #expect(hits.map(\.message.id.description) == ["m\(number + 1)"])
            }
            try await account.test.expectSound()
        }
    }

    // B89
    @Test("a first page of zeros is taken from a backup, which knows tables that no program does")
    func firstPage() async throws {
        let account = try await AccountAtRest.shared.value
        try await account.damaged { _ in
        } _: { test, _ in
            let path = AccountAtRest.database(in: test.root)
            try addTable(path)
            let app = try await test.process("app")
            _ = try await app.session("alice")
            _ = try await app.backUp("alice")
            await app.close()
            try AccountAtRest.checkpoint(path)
            let original = try TableContents(of: path)
            try overwrite(path, page: 0, with: [UInt8](repeating: 0, count: 4096))
            let next = try await test.process("next")
            let report = try await next.repair("alice")
            let messages = try #require(report.databases.first)
            #expect(messages.structure == .backup && messages.method == .salvaged)
            #expect(report.isWhole && report.setBack.isEmpty)
            let extra = try #require(messages.tables.first { $0.name == "extra" })
            #expect(extra.keptCount == 3 && extra.tableClass == .irreplaceable)
            try expectTrue(report, original, AccountAtRest.database(in: test.root, 2))
        }
    }

    /// Adds a table of a program that is not here any more.
    private func addTable(_ path: String) throws {
        let connection = try openWithSQLiteAlone(path)
        try connection.execute(
            """
            CREATE TABLE extra (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
            INSERT INTO extra (text) VALUES ('one'), ('two'), ('three')
            """
        )
        try connection.close()
    }

    // MARK: - An app's tables

    private static let polls = Schema(
        owner: "polls",
        migrations: [
            SchemaMigration(
                "202611300900_polls",
                sql: """
                    CREATE TABLE poll (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
                    CREATE TABLE poll_cursor (position TEXT NOT NULL);
                    CREATE TABLE vote (id INTEGER PRIMARY KEY, poll INTEGER NOT NULL);
                    CREATE TABLE poll_count (poll INTEGER PRIMARY KEY, votes INTEGER NOT NULL)
                    """
            )
        ],
        recovery: SchemaRecovery(
            classes: ["poll": .refetched, "poll_count": .derived],
            resync: { try $0.execute("DELETE FROM poll_cursor") },
            rebuild: {
                try $0.execute(
                    "INSERT INTO poll_count SELECT poll, count(*) FROM vote GROUP BY poll"
                )
            }
        )
    )

    @Test(
        "an app says what its tables are worth, and what was lost of them it fetches again",
        arguments: [true, false]
    )
    func appTables(isLosing: Bool) async throws {
        try await TestWorkspace.with(schemas: [.messages, Self.polls]) { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            try await fillPolls(try await app.activate("alice"))
            await app.close()
            let path = AccountAtRest.database(in: test.root)
            try AccountAtRest.checkpoint(path)
            if isLosing {
                try overwrite(path, page: try pages(of: "poll", path)[2])
            } else {
                let file = try FileDescriptor(opening: path, [.readWrite])
                try file.write([UInt8](repeating: 0, count: 100), at: 0)
            }
            let next = try await test.process("next")
            let report = try await next.repair("alice")
            #expect(report.isWhole == !isLosing)
            let sentence = "what 'polls' fetches is fetched again"
            #expect(report.setBack.contains(sentence) == isLosing)
            let tables = try #require(report.databases.first).tables
            let poll = try #require(tables.first { $0.name == "poll" })
            #expect(poll.tableClass == .refetched && (poll.keptCount < 500) == isLosing)
            let vote = try #require(tables.first { $0.name == "vote" })
            #expect(vote.tableClass == .irreplaceable && vote.keptCount == 3 && vote.lostCount == 0)
            let session = try await next.session("alice")
            let counts = try await session.database.read { transaction in
                try transaction.query(
                    """
                    SELECT votes FROM poll_count UNION ALL SELECT count(*) FROM poll_cursor
                    UNION ALL SELECT count(*) FROM poll
                    """
                ) { $0.integer(0) }
            }
            #expect(counts == [2, 1, isLosing ? 0 : 1, poll.keptCount])
        }
    }

    private func fillPolls(_ session: Session) async throws {
        try await session.database.write { transaction in
            try transaction.execute(
                """
                WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
                INSERT INTO poll SELECT i, hex(randomblob(60)) FROM n
                """
            )
            try transaction.execute("INSERT INTO poll_cursor VALUES ('c9')")
            try transaction.execute("INSERT INTO vote (poll) VALUES (1), (1), (2)")
            // What is wrong here is made anew all the same.
            try transaction.execute("INSERT INTO poll_count VALUES (1, 7)")
        }
    }
}
