import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperState
import LockkeeperStorage
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

@Suite("Recovery of one database leaves the other one alone (3, 5.8)")
struct StateRecoveryTests {
    private static let pageByteCount: Int64 = 4096

    private func path(_ test: TestWorkspace, _ name: String) -> String {
        "\(test.root)/accounts/alice/\(name)"
    }

    /// Overwrites the header, and lets the log be empty.
    private func damageHeader(_ path: String) throws {
        let connection = try openWithSQLiteAlone(path)
        _ = try connection.checkpoint(.truncate)
        try connection.close()
        let file = try FileDescriptor(opening: path, [.readWrite])
        try file.write([UInt8](repeating: 0, count: 100), at: 0)
    }

    private func value(_ path: String, _ sql: String) throws -> SQLValue? {
        let connection = try openWithSQLiteAlone(path)
        defer { try? connection.close() }
        return try connection.value(sql)
    }

    @Test(
        "damaged settings come back beside sound messages, whose file stays under the new generation"
    )
    func settings() async throws {
        try await withAlice { test, app, alice in
            let settings = try await SettingsStore(alice)
            for number in 1...50 {
                try await settings.set(
                    "value \(number)",
                    for: SettingKey(stringLiteral: "key\(number)")
                )
            }
            let before = try await alice.database.head()
            await app.close()
            let file = path(test, "settings-1.db")
            try damageHeader(file)
            let next = try await test.process("next")
            let noticed = Task { await next.damageNotices().first { _ in true } }
            let error = await expectState(.damaged) { _ = try await next.session("alice") }
            // The app is told at once, with account and path, and decides.
            #expect(error?.subject == file && error?.answer == .recover)
            #expect(error?.remedy.contains("lockkeeper repair alice") == true)
            let notice = try #require(await noticed.value)
            #expect(notice.account == "alice" && notice.path == file)
            #expect(notice.database == .settings)
            #expect(try FileSystem.status(path(test, "damaged")) == nil)

            let report = try await next.repair("alice")
            #expect(report.outcome == .repaired && report.isWhole)
            #expect(report.databases.map(\.kind) == [.settings])
            let session = try await next.session("alice")
            #expect(session.account.generation == report.generation)
            let after = try await SettingsStore(session)
            for number in 1...50 {
                let key = SettingKey<String>(stringLiteral: "key\(number)")
                #expect(try await after.value(key) == "value \(number)")
            }
            try await after.set("new", for: "key1")
            // Whoever follows the messages misses nothing and reads nothing anew.
            #expect(try await session.database.head() == before)
            #expect(try FileSystem.status(path(test, "messages-1.db")) != nil)
            #expect(try FileSystem.status(path(test, "settings-2.db")) != nil)
        }
    }

    @Test("damaged messages come back beside sound settings, whose file stays")
    func messages() async throws {
        try await withAlice { test, app, alice in
            try await (try await SettingsStore(alice)).set("kept", for: "key")
            await app.close()
            try damageHeader(path(test, "messages-1.db"))
            let next = try await test.process("next")
            let report = try await next.repair("alice")
            #expect(report.databases.map(\.kind) == [.messages] && report.isWhole)
            let settings = try await SettingsStore(try await next.session("alice"))
            #expect(try await settings.value("key" as SettingKey<String>) == "kept")
            #expect(try FileSystem.status(path(test, "settings-1.db")) != nil)
            let status = try #require(try await next.status().accounts.first)
            #expect(status.recovery == nil && status.problem == nil)
        }
    }

    @Test("both at once come back in one recovery")
    func both() async throws {
        try await withAlice { test, app, alice in
            try await (try await SettingsStore(alice)).set("kept", for: "key")
            await app.close()
            for name in ["messages-1.db", "settings-1.db"] { try damageHeader(path(test, name)) }
            let next = try await test.process("next")
            let report = try await next.repair("alice")
            #expect(report.databases.map(\.kind) == [.settings, .messages] && report.isWhole)
            let settings = try await SettingsStore(try await next.session("alice"))
            #expect(try await settings.value("key" as SettingKey<String>) == "kept")
            let folder = try FileSystem.list(try #require(report.folder))
            #expect(Set(folder).isSuperset(of: ["messages-1.db", "settings-1.db", "report.txt"]))
        }
    }

    @Test(
        "what is no damage begins nothing: a newer schema, another account's file, one that is gone"
    )
    func noDamage() async throws {
        try await withAlice { test, app, alice in
            try await (try await SettingsStore(alice)).set("kept", for: "key")
            try await app.addAccount("bob")
            _ = try await app.activate("bob")
            await app.close()
            let file = path(test, "messages-1.db")
            let connection = try openWithSQLiteAlone(file)
            try connection.execute(
                "INSERT INTO lk_migration VALUES ('lockkeeper', '999912312359_far', x'00', 0)"
            )
            _ = try connection.checkpoint(.truncate)
            try connection.close()
            let newer = try FileSystem.contents(of: file)
            let next = try await test.process("next")
            await expectState(.newerSchema) { _ = try await next.repair("alice") }
            #expect(try FileSystem.contents(of: file) == newer)

            // Without its log it would be no store at all.
            let other = try openWithSQLiteAlone("\(test.root)/accounts/bob/messages-1.db")
            _ = try other.checkpoint(.truncate)
            try other.close()
            let bobs = try FileSystem.contents(of: "\(test.root)/accounts/bob/messages-1.db")
            try FileSystem.replaceFile(at: file, with: bobs)
            for suffix in ["-wal", "-shm"] { try FileSystem.remove(file + suffix) }
            await expectState(.damaged) { _ = try await next.repair("alice") }
            #expect(try FileSystem.contents(of: file) == bobs)

            for suffix in ["", "-wal", "-shm"] { try FileSystem.remove(file + suffix) }
            await expectState(.fileMissing) { _ = try await next.repair("alice") }
            #expect(try FileSystem.status(path(test, "damaged")) == nil)
            // Put back, so that the account is sound at the end.
            try FileSystem.replaceFile(at: file, with: newer)
            let repaired = try openWithSQLiteAlone(file)
            try repaired.execute("DELETE FROM lk_migration WHERE name = '999912312359_far'")
            try repaired.close()
            // That a log was missing was written down on the way.
            #expect(try await next.acceptMissingLogs(of: "alice") == [.messages])
        }
    }
}
