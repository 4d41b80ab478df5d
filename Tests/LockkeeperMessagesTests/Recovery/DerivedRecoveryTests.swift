import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
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
        let connection = try AccountAtRest.open(path)
        try connection.execute(
            """
            CREATE TABLE extra (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
            INSERT INTO extra (text) VALUES ('one'), ('two'), ('three')
            """
        )
        try connection.close()
    }
}
