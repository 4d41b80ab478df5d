import Glibc
import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperState
import LockkeeperStorage
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

/// A known text that is put into every place of an account, and looked for in every file.
private struct Canary {
    static let text = "canary-in-the-coal-mine"

    private struct Note: Document {
        static let kind = "note"
        static let version = 1
        var text: String
    }

    /// The account's folder in a workspace.
    static func folder(_ root: String) -> String { "\(root)/accounts/alice" }

    /// Makes the account, and puts the text everywhere.
    static func sing(_ app: Workspace) async throws {
        try await app.addAccount("alice", ownID: Array("me".utf8))
        let session = try await app.activate("alice")
        let messages = try MessageStore(session)
        try await messages.ingest((1...300).map { try event($0) })
        // One that is recalled, one that contradicts another, one that waits for its message.
        try await messages.ingest([
            .recall(
                RecallEvent(conversation: "c", id: "m7", version: 2, sequence: nil, sender: nil)
            ),
            try event(8, body: "\(text) another"),
            .message(
                MessageEvent(
                    conversation: "c",
                    id: "early",
                    sequence: nil,
                    sender: "bob",
                    sentAt: try Timestamp(millisecondsSince1970: 1),
                    body: text,
                    version: 0
                )
            ),
        ])
        _ = try await messages.send(
            OutgoingMessage(conversation: "c", body: text, clientID: "c1")
        )
        _ = try await messages.receive(Array("packet \(text)".utf8))
        try await messages.catchUpSearch()
        try await SettingsStore(session).set(text, for: "setting")
        try await DocumentStore(session).save(Note(text: text), as: "note")
        let media = try await MediaStore(session)
        try await media.add("small", .bytes(Array(text.utf8)))
        try await media.add("large", .bytes(Array(String(repeating: text, count: 20_000).utf8)))
        try await keepPacket(app)
    }

    /// Keeps a packet as a file.
    static func keepPacket(_ app: Workspace) async throws {
        let packet = Packet(Array("kept \(text)".utf8), format: .eventLines, page: nil)
        _ = try await app.keep(packet, for: "alice", because: .busy)
    }

    static func event(_ number: Int, body: String = text) throws -> Event {
        .message(
            MessageEvent(
                conversation: "c",
                id: try MessageID("m\(number)"),
                sequence: Int64(number),
                sender: "bob",
                sentAt: try Timestamp(millisecondsSince1970: Int64(number)),
                body: body,
                version: 1
            )
        )
    }

    /// Expects that the account holds what was put into it.
    static func expectHeard(_ session: Session, _ comment: Comment) async throws {
        let messages = try MessageStore(session)
        let page = try await messages.timeline("c", limit: 10)
        #expect(page.allSatisfy { $0.body?.contains(text) == true } && page.count == 10, comment)
        #expect(try await messages.outbox().count == 1, comment)
        let refused = try await messages.quarantine().count
        #expect(refused > 0, comment)
        #expect(try await messages.search(SearchQuery("coal"), limit: 5).count == 5, comment)
        let setting: SettingKey<String> = "setting"
        #expect(try await SettingsStore(session).stored(setting) == text, comment)
        let note = try await DocumentStore(session).load(Note.self, from: "note")
        #expect(note.text == text, comment)
        let media = try await MediaStore(session)
        #expect(try await media.content(of: "small") == Array(text.utf8), comment)
        #expect(try await media.audit(deep: true).isClean, comment)
    }
}

@Suite(
    "No plain text: every file that an encrypted account leaves is searched for a known one (R-52)"
)
struct EncryptedFilesTests {
    // The search itself: in a plain account it finds the text in every kind of file.
    @Test(
        "in a plain account the text is found in databases, logs, packets, documents, media, backups"
    )
    func control() async throws {
        try await TestWorkspace.with(schemas: [.messages, .state]) { test in
            let app = try await test.process("app")
            try await Canary.sing(app)
            _ = try await app.backUp("alice")
            let found = try filesHolding(Canary.text, below: Canary.folder(test.root))
            for kind in ["messages-1.db-wal", "inbox/", "documents/", "media/", "backups/"] {
                #expect(found.contains { $0.hasPrefix(kind) }, "\(kind) in \(found)")
            }
            try await Canary.expectHeard(try await app.session("alice"), "plain")
        }
    }

    @Test(
        "from the first message through changes of the key, a repair and a restore no file holds it",
        .enabled(if: SQLiteLibrary.canEncrypt, "a build without the package trait Encryption")
    )
    func lifetime() async throws {
        let keys = TestKeys()
        try await TestWorkspace.with(schemas: [.messages, .state], keys: keys) { test in
            func expectSilence(_ comment: Comment) throws {
                #expect(try filesHolding(Canary.text, below: test.root) == [], comment)
            }
            let app = try await test.process("app")
            try await Canary.sing(app)
            try expectSilence("as it was written")
            try await Canary.expectHeard(try await app.session("alice"), "written")
            let backup = "\(test.root)/backup.db"
            _ = try await app.backUp("alice", to: backup)
            _ = try await app.backUp("alice")
            _ = try await app.backUp("alice", .settings)
            try expectSilence("backups")
            _ = try await app.changeKey(of: "alice")
            try await Canary.expectHeard(try await app.session("alice"), "changed")
            try expectSilence("key changed, with what was replaced in damaged/")
            await app.close()

            // In the middle of the largest part: texts.
            let path = "\(Canary.folder(test.root))/messages-2.db"
            let pageCount = Int64(try #require(try FileSystem.status(path)).size / 4096)
            let file = try FileDescriptor(opening: path, [.readWrite])
            try file.write([UInt8](repeating: 0x5a, count: 4096), at: pageCount / 2 * 4096)
            let next = try await test.process("next")
            #expect(try await next.repair("alice").outcome == .repaired)
            try expectSilence("repaired, with the damaged set in damaged/")
            _ = try await next.restore("alice", from: backup)
            try await Canary.expectHeard(try await next.session("alice"), "restored")
            try expectSilence("restored")
            // Out, and in again.
            _ = try await next.changeKey(of: "alice", to: .plain)
            #expect(try !filesHolding(Canary.text, below: test.root).isEmpty)
            _ = try await next.changeKey(of: "alice")
            try await Canary.expectHeard(try await next.session("alice"), "encrypted again")
            try expectSilence("what was plain for a while is gone")
        }
    }

    @Test(
        "what is delivered while the keys are locked is kept sealed, and stored once they are not",
        .enabled(if: SQLiteLibrary.canEncrypt, "a build without the package trait Encryption")
    )
    func delivery() async throws {
        let keys = TestKeys()
        try await TestWorkspace.with(schemas: [.messages], keys: keys) { test in
            let app = try await test.process("app")
            for account in ["alice", "bob"] as [AccountID] {
                try await app.addAccount(account, ownID: Array("me".utf8))
            }
            _ = try await app.activate("alice")
            await app.close()
            keys.isLocked = true
            let helper = try await test.process("push")
            let patience = Duration.seconds(60)
            let delivery = try await helper.deliver(
                [Canary.event(1)],
                to: "alice",
                waitMax: patience
            )
            guard case .kept(let packet) = delivery else {
                Issue.record("not kept: \(delivery)")
                return
            }
            #expect(packet.reason == "keyLocked")
            #expect(try filesHolding(Canary.text, below: test.root) == [])
            // An account that was never opened with its keys has nothing to seal with.
            let error = await #expect(throws: LockkeeperError.self) {
                _ = try await helper.deliver([Canary.event(1)], to: "bob", waitMax: patience)
            }
            #expect(error?.code == .keyLocked)
            #expect(try filesHolding(Canary.text, below: test.root) == [])
            keys.isLocked = false
            let next = try await test.process("next")
            let messages = try MessageStore(try await next.session("alice"))
            #expect(try await messages.timeline("c", limit: 5).map(\.body) == [Canary.text])
            #expect(try await next.inbox(of: "alice").isEmpty)
        }
    }

    // SQLite writes what it sorts to a file without a name where it may, which no list of files shows.
    @Test("a query that sorts more than memory is meant for opens no temporary file")
    func temporaryFiles() async throws {
        try await TestWorkspace.with(schemas: [.messages]) { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            let session = try await app.activate("alice")
            let opened = try await session.database.read { transaction in
                var opened: [String]?
                _ = try transaction.query(
                    """
                    WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 40000)
                    SELECT printf('\(Canary.text) %0300d', (x * 7919) % 40009) AS text FROM n
                    ORDER BY text
                    """
                ) { _ in if opened == nil { opened = try Self.openFiles() } }
                return opened ?? []
            }
            #expect(opened.contains { $0.hasSuffix(".db") })
            #expect(!opened.contains { $0.contains("etilqs_") }, "\(opened)")
        }
    }

    /// What this process has open, as the kernel calls it.
    private static func openFiles() throws -> [String] {
        try FileSystem.list("/proc/self/fd").compactMap { name in
            var bytes = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/self/fd/\(name)", &bytes, bytes.count)
            guard count > 0 else { return nil }
            return String(decoding: bytes[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }
}
