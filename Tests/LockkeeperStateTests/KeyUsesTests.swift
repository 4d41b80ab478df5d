import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

@testable import LockkeeperState

@Suite(
    "What keys are needed for, and removing one that nothing needs (R-52)",
    .enabled(if: SQLiteLibrary.canEncrypt, "a build without the package trait Encryption")
)
struct KeyUsesTests {
    private struct Note: Document {
        static let kind = "note"
        static let version = 1
        var text: String
    }

    /// A workspace with an encrypted account "alice" of two databases, a document and a packet, and a
    /// folder outside of it.
    private func withEncrypted(
        _ body: (
            _ test: TestWorkspace, _ keys: TestKeys, _ app: Workspace, _ elsewhere: String
        ) async throws -> Void
    ) async throws {
        let keys = TestKeys()
        let elsewhere = try TemporaryDirectory()
        try await TestWorkspace.with(schemas: [.state], keys: keys) { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            try await SettingsStore(alice).set("value", for: "setting")
            try await DocumentStore(alice).save(Note(text: "text"), as: "note")
            try await body(test, keys, app, elsewhere.path)
        }
    }

    private func files(_ uses: StoreKeyUses, _ name: String) -> [String] {
        (uses.keys.first { $0.name == name }?.files ?? []).map { path in
            path.split(separator: "/").last.map(String.init) ?? ""
        }
    }

    private func locks() throws -> [KernelLock] {
        let pid = try ProcessIdentity.current().pid
        return try KernelLock.all().filter { $0.kind == .process && $0.pid == pid }
    }

    @Test("a key is removed once no database, replaced file, backup, document or packet needs it")
    func removal() async throws {
        try await withEncrypted { test, keys, app, elsewhere in
            let first = keys.names(of: "alice")[0]
            let uses = try await app.keyUses(of: "alice")
            #expect(uses.keys.map(\.name) == [first] && uses.keys[0].isKept && uses.unknown == [])
            #expect(
                files(uses, first).filter { !$0.hasPrefix("note") }
                    == ["messages-1.db", "sealing.key", "settings-1.db"]
            )
            #expect(files(uses, first).count == 4)
            await expectState(.keyNeeded) { try await app.removeKey(first, of: "alice") }

            _ = try await app.backUp("alice", to: "\(elsewhere)/backup")
            let second = try #require(try await app.changeKey(of: "alice").key)
            let after = try await app.keyUses(of: "alice", alsoIn: [elsewhere])
            #expect(after.keys.map(\.name) == [first, second])
            #expect(Set(files(after, first)) == ["backup", "messages-1.db", "settings-1.db"])
            #expect(files(after, second).count == 4)
            await expectState(.keyNeeded) { try await app.removeKey(first, of: "alice") }
            _ = try await app.discardDamaged(of: "alice")
            for place in [elsewhere, "\(elsewhere)/backup"] {
                let error = await expectState(.keyNeeded) {
                    try await app.removeKey(first, of: "alice", alsoIn: [place])
                }
                #expect(error?.explanation.contains("/backup cannot be read") == true)
            }
            await expectState(.fileMissing) {
                try await app.removeKey(first, of: "alice", alsoIn: ["\(elsewhere)/bakcup"])
            }
            #expect(keys.names(of: "alice") == [first, second])

            try FileSystem.remove("\(elsewhere)/backup")
            try await app.removeKey(first, of: "alice", alsoIn: [elsewhere])
            #expect(keys.names(of: "alice") == [second])
            await expectState(.notFound) { try await app.removeKey(first, of: "alice") }
            let alice = try await test.process("next").session("alice")
            #expect(try await DocumentStore(alice).load(Note.self, from: "note").text == "text")
        }
    }

    @Test(
        "a packet that is sealed with a key, and what does not say its key, keep keys from being removed"
    )
    func sealedAndUnknown() async throws {
        try await withEncrypted { test, keys, app, elsewhere in
            let first = keys.names(of: "alice")[0]
            let folder = "\(test.root)/accounts/alice"
            // Sealed before the key is changed, and not found by that: somebody put it there since.
            let packet = Packet(Array("{}".utf8), format: .eventLines, page: nil)
            let kept = try await app.keep(packet, for: "alice", because: .busy)
            let sealed = try FileSystem.contents(of: "\(folder)/inbox/waiting/\(kept.name)")
            _ = try await app.changeKey(of: "alice")
            _ = try await app.dropPacket(kept.name, of: "alice")
            _ = try await app.discardDamaged(of: "alice")
            try FileSystem.replaceFile(at: "\(elsewhere)/packet", with: sealed)
            let uses = try await app.keyUses(of: "alice", alsoIn: [elsewhere])
            #expect(files(uses, first) == ["packet"])
            try FileSystem.remove("\(elsewhere)/packet")

            // The first page of a replaced file is gone: `repair` would try every key on it.
            try FileSystem.makeDirectory("\(folder)/damaged")
            let damaged = "\(folder)/damaged/messages-1.db"
            try FileSystem.replaceFile(at: damaged, with: Array(repeating: 7, count: 8192))
            #expect(try await app.keyUses(of: "alice").unknown.count == 1)
            let error = await expectState(.keyNeeded) {
                try await app.removeKey(first, of: "alice")
            }
            #expect(error?.explanation.contains("perhaps cannot") == true)
            try FileSystem.remove(damaged)
            try await app.removeKey(first, of: "alice")
        }
    }

    @Test(
        "a key that is lost is told, an account that was removed has its keys still, a locked store says so"
    )
    func lostAndLocked() async throws {
        try await withEncrypted { test, keys, app, elsewhere in
            let first = keys.names(of: "alice")[0]
            _ = try await app.backUp("alice", to: "\(elsewhere)/backup")
            _ = try await app.changeKey(of: "alice")
            keys.remove(first, of: "alice")
            let uses = try await app.keyUses(of: "alice", alsoIn: [elsewhere])
            #expect(uses.keys.last?.name == first && uses.keys.last?.isKept == false)
            await expectState(.notFound) { try await app.removeKey(first, of: "alice") }
            keys.isLocked = true
            await expectState(.locked) { _ = try await app.keyUses(of: "alice") }
            keys.isLocked = false
            try await app.removeAccount("alice")
            let left = keys.names(of: "alice")
            #expect(try await app.keyUses(of: "alice").keys.map(\.files) == [[]] && left.count == 1)
            try await app.removeKey(left[0], of: "alice")
            #expect(keys.names(of: "alice") == [])
        }
    }

    // A process that closes any descriptor of a file loses its locks in it, and SQLite's are such locks.
    @Test("looking at files that this process has open takes none of its locks away")
    func locksStay() async throws {
        try await withEncrypted { test, _, app, _ in
            let alice = try await app.session("alice")
            _ = try await alice.database.read { try $0.query("SELECT 1") { $0.integer(0) } }
            let inodes = try Set(
                ["messages-1.db", "messages-1.db-shm"].map { name in
                    let path = "\(test.root)/accounts/alice/\(name)"
                    return try #require(try FileSystem.status(path)).identity.inode
                }
            )
            func held() throws -> Set<UInt64> {
                Set(try locks().map(\.file.inode)).intersection(inodes)
            }
            #expect(try held() == inodes)
            _ = try await app.keyUses(of: "alice", alsoIn: [test.root])
            #expect(try held() == inodes)
        }
    }
}
