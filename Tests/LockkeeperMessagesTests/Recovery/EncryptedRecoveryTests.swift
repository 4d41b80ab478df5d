import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

@Suite(
    "Recovery of encrypted accounts: what can be read is saved, encrypted as it was (R-52, 5.8)",
    .serialized,
    .enabled(if: SQLiteLibrary.canEncrypt, "a build without the package trait Encryption")
)
struct EncryptedRecoveryTests {
    /// What texts of the account at rest, and an unsent item of it, hold.
    private static let canaries = ["text text text", "unsent 3"]

    /// An encrypted copy of the account at rest, with a backup, of which nobody has anything open.
    private struct Scene {
        let test: TestWorkspace
        let keys: TestKeys
        let backup: String
        /// The database of messages.
        let path: String
        /// Where an index of messages begins, counted from 0.
        let indexPage: Int

        func files() throws -> [String] {
            try FileSystem.list(AccountAtRest.folder(in: test.root)).sorted()
        }

        /// The account as it is now, read by another process.
        func expectWhole() async throws {
            let next = try await test.process("next")
            let store = try MessageStore(try await next.session("alice"))
            #expect(try await store.exported() == AccountAtRest.shared.value.exported)
            #expect(try await next.inspect("alice").isEmpty)
            await next.close()
            try expectNoPlainText()
        }

        func expectNoPlainText() throws {
            for canary in canaries {
                #expect(try filesHolding(canary, below: test.root) == [], "\(canary)")
            }
        }
    }

    private func withEncrypted(_ body: (Scene) async throws -> Void) async throws {
        let account = try await AccountAtRest.shared.value
        let keys = TestKeys()
        try await TestWorkspace.with(keys: keys) { test in
            try account.place(in: test.root)
            #expect(try filesHolding("text text text", below: test.root).count == 1)
            let app = try await test.process("setup")
            _ = try await app.changeKey(of: "alice")
            let backup = "\(test.root)/backup.db"
            _ = try await app.backUp("alice", to: backup)
            let root = try await app.session("alice").database.read { transaction in
                try transaction.query(
                    """
                    SELECT rootpage FROM sqlite_schema
                    WHERE type = 'index' AND tbl_name = 'lk_message' ORDER BY name LIMIT 1
                    """
                ) { $0.integer(0) }
            }[0]
            await app.close()
            try await body(
                Scene(
                    test: test,
                    keys: keys,
                    backup: backup,
                    path: AccountAtRest.database(in: test.root, 2),
                    indexPage: Int(root) - 1
                )
            )
        }
    }

    @Test(
        "overwritten pages cost their rows alone, what is made is encrypted, and the rows come again"
    )
    func pages() async throws {
        try await withEncrypted { scene in
            let count = try pageCount(scene.path)
            for tenth in 4...6 { try overwrite(scene.path, page: count * tenth / 10) }
            let app = try await scene.test.process("app")
            // Damage, and nothing else, is what a look finds.
            let findings = try await app.inspect("alice")
            #expect(findings.contains { $0.code.hasPrefix("file.") }, "\(findings)")
            #expect(!findings.contains { $0.code == "file.unavailable" }, "\(findings)")
            let report = try await app.repair("alice")
            #expect(report.outcome == .repaired && !report.isWhole)
            let messages = try #require(report.databases.first { $0.kind == .messages })
            #expect(messages.structure == .own && messages.method == .salvaged)
            for (name, kept) in [("lk_outbox", 5), ("lk_inbox_packet", 3)] {
                let table = try #require(messages.tables.first { $0.name == name })
                #expect(table.keptCount == Int64(kept), "\(name)")
            }
            let stored = try #require(messages.tables.first { $0.name == "lk_message" })
            #expect(stored.keptCount > 5_000 && stored.keptCount < 10_000)
            let store = try MessageStore(try await app.session("alice"))
            for (events, page) in AccountAtRest.pages() {
                let events = events.filter { if case .delete = $0 { false } else { true } }
                try await store.ingest(events, closing: page, durability: .committed)
            }
            await app.close()
            #expect(scene.keys.names(of: "alice").count == 1)
            try await scene.expectWhole()
        }
    }

    @Test("an index that cannot be read is made anew, and nothing is lost")
    func index() async throws {
        try await withEncrypted { scene in
            try overwrite(scene.path, page: scene.indexPage)
            let app = try await scene.test.process("app")
            let report = try await app.repair("alice")
            #expect(report.outcome == .repaired && report.isWhole, "\(report)")
            await app.close()
            try await scene.expectWhole()
        }
    }

    @Test("the first sixteen bytes, which name the key, are written anew in a copy")
    func head() async throws {
        try await withEncrypted { scene in
            let file = try FileDescriptor(opening: scene.path, [.readWrite])
            try file.write(Array("sixteen rubbish.".utf8), at: 0)
            let app = try await scene.test.process("app")
            let report = try await app.repair("alice")
            #expect(report.outcome == .repaired && report.isWhole, "\(report)")
            #expect(report.databases.first { $0.kind == .messages }?.structure == .header)
            await app.close()
            try await scene.expectWhole()
        }
    }

    @Test(
        "without its first page a file is not rebuilt and nothing is changed; a backup is restored over it"
    )
    func firstPage() async throws {
        try await withEncrypted { scene in
            try overwrite(scene.path, page: 0)
            let before = try scene.files()
            let app = try await scene.test.process("app")
            let error = await #expect(throws: LockkeeperError.self) {
                _ = try await app.repair("alice")
            }
            #expect(error?.code == .damaged)
            #expect(error?.remedy.contains("Restore a backup") == true)
            await app.close()
            #expect(try scene.files() == before)
            let again = try await scene.test.process("again")
            _ = try await again.restore("alice", from: scene.backup)
            await again.close()
            try await scene.expectWhole()
        }
    }

    @Test("a key that is missing, wrong or locked begins no recovery, and changes no file")
    func keys() async throws {
        try await withEncrypted { scene in
            try overwrite(scene.path, page: try pageCount(scene.path) / 2)
            let (before, keys) = (try scene.files(), scene.keys)
            let (key, name) = (try keys.keys(of: "alice")[0], keys.names(of: "alice")[0])
            func expectRefused(_ code: LockkeeperError.Code) async throws {
                let app = try await scene.test.process("app")
                await expect(code) { _ = try await app.repair("alice") }
                await expect(code) { _ = try await app.session("alice") }
                await app.close()
                #expect(try scene.files() == before, "\(code)")
            }
            keys.isLocked = true
            try await expectRefused(.keyLocked)
            keys.isLocked = false
            keys.remove(of: "alice")
            try await expectRefused(.keyMissing)
            try keys.add(Secret(Array(repeating: 7, count: 32)), named: "0", of: "alice")
            try await expectRefused(.wrongKey)
            try keys.add(key, named: name, of: "alice")
            let app = try await scene.test.process("app")
            #expect(try await app.repair("alice").outcome == .repaired)
        }
    }
}
