import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import LockkeeperTesting
import Testing

@testable import LockkeeperState

@Suite("Files of the other kind: each build says what it cannot do (R-52)")
struct OtherBuildTests {
    @Test(
        "an encrypted file in a build without encryption is told from damage, and is left as it is",
        .enabled(if: !SQLiteLibrary.canEncrypt, "a build with encryption opens it")
    )
    func encryptedFile() async throws {
        let test = try TestWorkspace(schemas: [.state])
        let app = try await test.process("app")
        try await app.addAccount("alice")
        await (try await app.activate("alice")).close()
        await app.close()
        // As SQLCipher's files begin that Lockkeeper makes.
        let folder = "\(test.root)/accounts/alice"
        for name in ["messages-1.db", "settings-1.db"] {
            let head = Array("LKCIPHER".utf8) + [1, 2, 3, 4, 5, 6, 7, 8]
            let bytes = try FileSystem.contents(of: "\(folder)/\(name)")
            try FileSystem.replaceFile(
                at: "\(folder)/\(name)",
                with: head + bytes.dropFirst(head.count)
            )
        }
        let before = try FileSystem.list(folder).sorted()
        let next = try await test.process("next")
        await expectState(.encrypted) { _ = try await next.session("alice") }
        await expectState(.encrypted) { _ = try await next.signOut("alice") }
        let after = try FileSystem.list(folder).sorted()
        #expect(after.filter { !$0.hasSuffix("-shm") } == before.filter { !$0.hasSuffix("-shm") })
        #expect(try await next.inspect("alice").map(\.code) == ["encrypted", "encrypted"])
        await next.close()
        await expectState(.encrypted) {
            _ = try await Workspace.open(at: test.root, name: "app", keys: TestKeys())
        }
        try FileSystem.removeTree(test.root)
    }

    @Test("a library that is no SQLCipher, or an old one, is refused with a sentence")
    func library() {
        #expect(SQLiteLibrary.cipherShortcoming(of: nil)?.contains("has none") == true)
        for old in ["3.4.1", "", "community"] {
            #expect(SQLiteLibrary.cipherShortcoming(of: old)?.contains("too old") == true)
        }
        for new in ["4.6.1 community", "10.0"] {
            #expect(SQLiteLibrary.cipherShortcoming(of: new) == nil)
        }
        #expect((SQLiteLibrary.cipherVersion != nil) == SQLiteLibrary.canEncrypt)
    }
}

@Suite(
    "Encryption: one key per account, told apart, changed; no plain text in any file (R-52)",
    .enabled(if: SQLiteLibrary.canEncrypt, "a build without the package trait Encryption")
)
struct EncryptionTests {
    private static let needle = "needle-in-the-haystack"
    private static let content = Array(String(repeating: needle, count: 5000).utf8)

    private struct Note: Document {
        static let kind = "note"
        static let version = 1
        var text: String
    }

    /// A workspace with an encrypted account "alice" in which something is stored in every place.
    private func withEncrypted(
        _ body: (_ test: TestWorkspace, _ keys: TestKeys, _ app: Workspace) async throws -> Void
    ) async throws {
        let keys = TestKeys()
        try await TestWorkspace.with(schemas: [.state], keys: keys) { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            try await alice.database.write { transaction in
                try transaction.execute("CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT)")
                try transaction.execute("CREATE VIRTUAL TABLE found USING fts5(text)")
                for number in 1...200 {
                    let text = SQLValue("\(Self.needle) \(number)")
                    try transaction.execute(
                        "INSERT INTO entry VALUES (?1, ?2)",
                        SQLValue(number),
                        text
                    )
                    try transaction.execute("INSERT INTO found VALUES (?1)", text)
                }
            }
            try await SettingsStore(alice).set(Self.needle, for: "setting")
            try await DocumentStore(alice).save(Note(text: Self.needle), as: "note")
            let media = try await MediaStore(alice)
            try await media.add("large", .bytes(Self.content))
            try await body(test, keys, app)
        }
    }

    private func expectWhole(_ session: Session) async throws {
        let (count, found) = try await session.database.read { transaction in
            (
                try transaction.query("SELECT count(*) FROM entry") { $0.integer(0) },
                try transaction.query("SELECT count(*) FROM found WHERE found MATCH 'needle'") {
                    $0.integer(0)
                }
            )
        }
        #expect(count == [200] && found == [200])
        let setting: SettingKey<String> = "setting"
        #expect(try await SettingsStore(session).stored(setting) == Self.needle)
        let documents = try await DocumentStore(session)
        #expect(try await documents.load(Note.self, from: "note").text == Self.needle)
        #expect(try await documents.names() == ["note"])
        #expect(try await documents.unreadableFiles() == [])
        let media = try await MediaStore(session)
        #expect(try await media.content(of: "large") == Self.content)
        #expect(try await media.audit(deep: true).isClean)
    }

    /// The files below a folder that hold the known text.
    private func filesWithNeedle(_ folder: String) throws -> [String] {
        try FileSystem.list(folder).flatMap { name -> [String] in
            let path = "\(folder)/\(name)"
            switch try FileSystem.status(path)?.kind {
            case .directory: return try filesWithNeedle(path)
            case .regular:
                let text = try FileSystem.contents(of: path)
                return text.firstRange(of: Array(Self.needle.utf8)) == nil ? [] : [path]
            default: return []
            }
        }
    }

    @Test("another process reads what was written, and no file of the workspace holds it in plain")
    func roundTrip() async throws {
        try await withEncrypted { test, keys, app in
            try await expectWhole(try await test.process("other").session("alice"))
            _ = try await app.backUp("alice")
            _ = try await app.backUp("alice", .settings)
            #expect(keys.names(of: "alice").count == 1)
            // Logs, indexes and backups too.
            #expect(try filesWithNeedle(test.root) == [])
            let surroundings = try await app.surroundings(of: "alice")
            let named = surroundings.facts.filter { $0.name.hasPrefix("key-") }.map(\.value)
            #expect(named == keys.names(of: "alice") + keys.names(of: "alice"))
        }
    }

    @Test(
        "missing key, wrong key, locked keys, a plain file and damage are five answers, and none changes a file"
    )
    func toldApart() async throws {
        try await withEncrypted { test, keys, app in
            await app.close()
            let folder = "\(test.root)/accounts/alice"
            let before = try FileSystem.list(folder).sorted()
            let key = try keys.keys(of: "alice")[0]
            let name = keys.names(of: "alice")[0]
            func expect(_ code: LockkeeperError.Code) async throws {
                let next = try await test.process("next")
                await expectState(code) { _ = try await next.session("alice") }
                await expectState(code) { _ = try await next.activate("alice") }
                await next.close()
                #expect(try FileSystem.list(folder).sorted() == before, "\(code)")
            }
            keys.isLocked = true
            try await expect(.keyLocked)
            keys.isLocked = false
            keys.remove(of: "alice")
            try await expect(.keyMissing)
            try keys.add(Secret(Array(repeating: 7, count: 32)), named: "0", of: "alice")
            try await expect(.wrongKey)
            try keys.add(key, named: name, of: "alice")
            try await expectWhole(try await test.process("again").session("alice"))
            // Plain where it has to be encrypted.
            let plain = try await Workspace.openApart(
                at: test.root,
                name: "plain",
                schemas: [.state]
            )
            await expectState(.keyMissing) { _ = try await plain.session("alice") }
            await plain.close()
        }
        // A page of which some bytes were changed.
        let keys = TestKeys()
        let test = try TestWorkspace(schemas: [.state], keys: keys)
        let app = try await test.process("app")
        try await app.addAccount("alice")
        _ = try await app.activate("alice")
        let backup = "\(test.root)/backup.db"
        _ = try await app.backUp("alice", to: backup)
        var bytes = try FileSystem.contents(of: backup)
        bytes[200] ^= 1
        try FileSystem.replaceFile(at: backup, with: bytes)
        await expectState(.damaged) { _ = try await app.restore("alice", from: backup) }
        // What is not even the head of one.
        bytes[3] ^= 1
        try FileSystem.replaceFile(at: backup, with: bytes)
        await expectState(.damaged) { _ = try await app.restore("alice", from: backup) }
        try await test.finish()
    }

    @Test("a key that is left from an earlier installation is not used for a new store")
    func leftKey() async throws {
        let keys = TestKeys()
        let old = Secret(Array(repeating: 7, count: 32))
        try keys.add(old, named: "0", of: "alice")
        try await TestWorkspace.with(schemas: [.state], keys: keys) { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            _ = try await app.activate("alice")
            #expect(keys.names(of: "alice").count == 2)
            // Without the old one everything is there.
            keys.remove("0", of: "alice")
            _ = try await test.process("other").session("alice")
        }
    }

    @Test(
        "the key is changed while others have the account open, and the old one opens nothing any more"
    )
    func change() async throws {
        try await withEncrypted { test, keys, app in
            let other = try await test.process("other").session("alice")
            try await expectWhole(other)
            let backup = "\(test.root)/backup.db"
            _ = try await app.backUp("alice", to: backup)
            let (first, report) = (keys.names(of: "alice")[0], try await app.changeKey(of: "alice"))
            #expect(keys.names(of: "alice") == [first, report.key])
            await expectState(.superseded) { try await expectWhole(other) }
            try await expectWhole(try await app.session("alice"))
            // A backup has the key that it was made with.
            _ = try await app.restore("alice", from: backup)
            try await expectWhole(try await app.session("alice"))
            let again = try await app.changeKey(of: "alice")
            keys.remove(first, of: "alice")
            let next = try await test.process("next")
            try await expectWhole(try await next.session("alice"))
            #expect(keys.names(of: "alice").last == again.key)
            await expectState(.wrongKey) { _ = try await next.restore("alice", from: backup) }
            #expect(try filesWithNeedle(test.root) == [])
        }
    }

    @Test("a plain account is encrypted, and an encrypted one made plain, with all that is in it")
    func conversion() async throws {
        try await withEncrypted { test, keys, app in
            #expect(try await app.changeKey(of: "alice", to: .plain).key == nil)
            await expectState(.notEncrypted) { _ = try await app.session("alice") }
            await app.close()
            let plain = try await Workspace.openApart(
                at: test.root,
                name: "plain",
                schemas: [.state]
            )
            let alice = try await plain.session("alice")
            try await expectWhole(alice)
            #expect(try await alice.inspect().isEmpty)
            await expectState(.invalidInput) { _ = try await plain.changeKey(of: "alice") }
            try await MediaStore(alice).add("file", .bytes(Self.content + [1]))
            let backup = "\(test.root)/plain.db"
            _ = try await plain.backUp("alice", to: backup)
            await plain.close()
            let next = try await test.process("next")
            _ = try await next.changeKey(of: "alice")
            try await expectWhole(try await next.session("alice"))
            // Media that had a file of its own comes into the database with a sweep.
            try await MediaStore(try await next.session("alice")).sweep()
            // Nothing of the plain files is left; the backup is its owner's.
            #expect(try filesWithNeedle("\(test.root)/accounts") == [])
            // What is restored of a plain backup is encrypted.
            _ = try await next.restore("alice", from: backup)
            try await expectWhole(try await next.session("alice"))
            #expect(try filesWithNeedle("\(test.root)/accounts") == [])
            _ = keys
        }
    }

    @Test(
        "a packet that comes while the keys are locked is kept sealed, and applied once they are not; before the account was ever opened it is refused"
    )
    func lockedInbox() async throws {
        try await withEncrypted { test, keys, app in
            let folder = "\(test.root)/accounts/alice/inbox"
            await app.close()
            keys.isLocked = true
            let helper = try await test.process("helper")
            await expectState(.keyLocked) { _ = try await helper.session("alice") }
            let packet = Packet(Array(Self.needle.utf8), format: .eventLines, page: nil)
            let kept = try await helper.keep(packet, for: "alice", because: .keyLocked)
            #expect(try filesWithNeedle(test.root) == [])
            #expect(try FileSystem.list("\(folder)/waiting") == [kept.name])
            // Nobody reads it without the key.
            await expectState(.keyLocked) { _ = try await helper.packet(kept.name, of: "alice") }
            keys.isLocked = false
            _ = try await helper.changeKey(of: "alice")
            #expect(try await helper.packet(kept.name, of: "alice") == Array(Self.needle.utf8))
            #expect(try filesWithNeedle(test.root) == [])
            try await helper.addAccount("bob")
            await expectState(.keyLocked) {
                _ = try await helper.keep(packet, for: "bob", because: .busy)
            }
            _ = try await helper.dropPacket(kept.name, of: "alice")
        }
    }
}
