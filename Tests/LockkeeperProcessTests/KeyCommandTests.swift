import Lockkeeper
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

@Suite("The command key change, and what every command says of keys (R-52)")
struct KeyCommandTests {
    private static let line =
        #"{"conversation":"c","id":"m1","seq":1,"sender":"bob","sent_at":"2026-11-30T09:00:00Z","body":"hello"}"#

    @Test(
        "a program without encryption takes no place for keys, and makes nothing plain instead",
        .enabled(if: !Workspace.canEncrypt, "a build with encryption takes it")
    )
    func withoutEncryption() async throws {
        let test = try await TestWorkspace()
        let keys = test.folder.path("keys")
        for command in [["key", "change"], ["account", "add", "bob"], ["timeline", "c"]] {
            let result = try await test.run(command + ["--keys", keys])
            #expect(result.status == .exited(69), "\(command)")
            #expect(result.errorText.contains("built without encryption"), "\(result.errorText)")
        }
        #expect(try FileSystem.status(keys) == nil)
        #expect(try await test.run(["account", "list"]).lines.count == 1)
        // Without a place there is nothing to change.
        let nowhere = try await test.run(["key", "change"])
        #expect(nowhere.status == .exited(64) && nowhere.errorText.contains("--keys PLACE"))
        try await test.expectSound()
    }

    @Test(
        "an account is made with keys, and each wrong way to open it says what is wrong",
        .enabled(if: Workspace.canEncrypt, "a build without the package trait Encryption")
    )
    func withKeys() async throws {
        let folder = try TemporaryFolder()
        let (root, keys) = (folder.path("w"), folder.path("keys"))
        func run(
            _ words: [String],
            keys: String?,
            input: String = ""
        ) async throws -> CommandRunner.Result {
            try await CommandRunner.run(
                words + ["--root", root] + (keys.map { ["--keys", $0] } ?? []),
                input: input
            )
        }
        let added = try await run(["account", "add", "alice", "--activate"], keys: keys)
        #expect(added.status == .exited(0), "\(added.errorText)")
        let stored = try await run(["ingest"], keys: keys, input: Self.line + "\n")
        #expect(stored.status == .exited(0), "\(stored.errorText)")
        func expectHello(_ keys: String?) async throws {
            let shown = try await run(["timeline", "c"], keys: keys)
            #expect(shown.lines.contains { $0.contains("hello") }, "\(shown.errorText)")
        }
        try await expectHello(keys)

        // No key, keys of somebody else, a key that others may read.
        let none = try await run(["timeline", "c"], keys: nil)
        #expect(none.status == .exited(77) && none.errorText.contains("key"), "\(none.errorText)")
        let others = folder.path("others")
        let elsewhere = try await CommandRunner.run(
            [
                "account", "add", "alice", "--activate", "--root", folder.path("w2"), "--keys",
                others,
            ]
        )
        #expect(elsewhere.status == .exited(0), "\(elsewhere.errorText)")
        for words in [["timeline", "c"], ["repair"], ["key", "change"]] {
            let wrong = try await run(words, keys: others)
            #expect(wrong.status == .exited(77), "\(words)")
            #expect(wrong.errorText.contains("Put the key back"), "\(wrong.errorText)")
        }
        try await expectHello(keys)

        let changed = try await run(["key", "change", "--json"], keys: keys)
        let printed = try PrintedObject(try #require(changed.lines.first))
        #expect(printed.string("key")?.count == 16 && printed.int("generation") != nil)
        #expect(try FileSystem.list("\(keys)/alice").count == 2)
        try await expectHello(keys)
        let checked = try await run(["check", "--deep"], keys: keys)
        #expect(checked.status == .exited(0), "\(checked.lines)")

        let plain = try await run(["key", "change", "--plain"], keys: keys)
        #expect(plain.status == .exited(0) && plain.lines.first?.contains("plain") == true)
        try await expectHello(nil)
        let refused = try await run(["timeline", "c"], keys: keys)
        #expect(refused.status == .exited(69), "\(refused.errorText)")
        #expect(refused.errorText.contains("key change"))
        // The environment can say it as well.
        let again = try await CommandRunner.run(
            ["key", "change", "--root", root],
            environment: ["LOCKKEEPER_KEYS": keys]
        )
        #expect(again.status == .exited(0), "\(again.errorText)")
        try await expectHello(keys)
        #expect(try filesHolding("hello", below: root) == [])
    }

    @Test(
        "keys are listed with the files that need them, and one that nothing needs is removed",
        .enabled(if: Workspace.canEncrypt, "a build without the package trait Encryption")
    )
    func listAndRemove() async throws {
        let folder = try TemporaryFolder()
        let (root, keys, backups) = (folder.path("w"), folder.path("keys"), folder.path("backups"))
        try FileSystem.makeDirectory(backups)
        func run(_ words: [String]) async throws -> CommandRunner.Result {
            try await CommandRunner.run(words + ["--root", root, "--keys", keys])
        }
        _ = try await run(["account", "add", "alice", "--activate"])
        let saved = try await run(["backup", "\(backups)/one"])
        #expect(saved.status == .exited(0), "\(saved.errorText)")
        let first = try PrintedObject(
            try #require(try await run(["key", "list", "--json"]).lines.first)
        )
        let old = try #require(first.string("key"))
        #expect(try await run(["key", "change"]).status == .exited(0))
        let listed = try await run(["key", "list", backups])
        // The backup, and both databases that were replaced.
        #expect(listed.lines.contains("\(old)  kept  needed by 3"), "\(listed.lines)")
        #expect(listed.lines.contains("  \(backups)/one"))
        #expect(listed.lines.filter { $0.contains("kept") }.count == 2)

        let discarded = try await run(["repair", "--discard-damaged", "--yes"])
        #expect(discarded.status == .exited(0), "\(discarded.errorText)")
        let asked = try await run(["key", "remove", old, backups])
        #expect(asked.status == .exited(64) && asked.errorText.contains("--yes"))
        let needed = try await run(["key", "remove", old, backups, "--yes"])
        #expect(needed.status == .exited(69) && needed.errorText.contains("backups/one"))
        try FileSystem.remove("\(backups)/one")
        let removed = try await run(["key", "remove", old.uppercased(), backups, "--yes"])
        #expect(removed.status == .exited(0), "\(removed.errorText)")
        #expect(try await run(["key", "remove", old, "--yes"]).status == .exited(1))
        #expect(try await run(["key", "list"]).lines.filter { $0.contains("kept") }.count == 1)
        #expect(try await run(["check", "--deep"]).status == .exited(0))
    }
}
