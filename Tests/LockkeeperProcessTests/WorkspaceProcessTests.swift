import LockkeeperPlatform
import Testing

@Suite("Places and names that cannot be, and what the program says of them")
struct WorkspaceProcessTests {
    private func add(_ root: String, _ id: String = "alice") async throws -> CommandRunner.Result {
        try await CommandRunner.run(["account", "add", "--root", root, "--activate", "--", id])
    }

    @Test("a root that is a file is refused, and the file stays as it is")
    func rootIsFile() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("file")
        try FileDescriptor(opening: path, [.writeOnly, .create]).write(Array("mine".utf8))
        let result = try await add(path)
        #expect(result.status == .exited(64), "\(result.errorText)")
        #expect(result.errorText.contains("Name a folder"))
        #expect(try FileSystem.contents(of: path) == Array("mine".utf8))
    }

    @Test("a root that belongs to another user is refused with both users")
    func rootOfAnother() async throws {
        let folder = try TemporaryFolder()
        var path = "/"
        if Environment.userID == 0 {
            path = folder.path("theirs")
            try FileSystem.makeDirectory(path)
            let chown = try ChildProcess(program: "chown", arguments: ["12345", path])
            try #require(try chown.wait() == .exited(0))
        }
        let result = try await add(path)
        #expect(result.status == .exited(77), "\(result.errorText)")
        #expect(result.errorText.contains("uid"))
    }

    @Test("a root that cannot be written is refused", .enabled(if: Environment.userID != 0))
    func rootNotWritable() async throws {
        let folder = try TemporaryFolder()
        try FileSystem.makeDirectory(folder.path("parent"), mode: 0o500)
        let result = try await add(folder.path("parent") + "/w")
        #expect(result.status == .exited(77), "\(result.errorText)")
    }

    @Test("a root whose socket's path would be too long says by how much")
    func rootTooLong() async throws {
        let folder = try TemporaryFolder()
        let root = folder.path(String(repeating: "r", count: 100))
        let result = try await add(root)
        #expect(result.status == .exited(64))
        #expect(result.errorText.contains("107"))
        #expect(result.errorText.contains("shorter"))
    }

    @Test("a root that is missing is made by adding an account and by nothing else")
    func rootMissing() async throws {
        let folder = try TemporaryFolder()
        let root = folder.path("w")
        for command in [["status"], ["ingest"], ["timeline", "c"], ["host"], ["switch", "bob"]] {
            let result = try await CommandRunner.run(command + ["--root", root])
            #expect(result.status == .exited(69), "\(command): \(result.errorText)")
            #expect(result.errorText.contains("account add"))
        }
        #expect(try FileSystem.status(root) == nil)
        #expect(try await add(root).status == .exited(0))
    }

    @Test(
        "an account id may be anything that is 1 to 512 bytes",
        arguments: [
            "a/../../b", ".", "..", "/", " ", "~x", "é", "e\u{301}", "名前 👩‍👩‍👧‍👦", "a\nb", "--help",
            String(repeating: "x", count: 512),
        ]
    )
    func strangeIDs(id: String) async throws {
        let folder = try TemporaryFolder()
        let root = folder.path("w")
        let added = try await add(root, id)
        #expect(added.status == .exited(0), "\(added.errorText)")
        let again = try await add(root, id)
        #expect(again.status == .exited(73))
        let line =
            #"{"conversation":"c","id":"a","seq":1,"sender":"s","#
            + #""sent_at":"2026-01-01T00:00:00Z","body":"b"}"#
        let stored = try await CommandRunner.run(
            ["ingest", "--root", root, "--account=\(id)"],
            input: line
        )
        #expect(stored.status == .exited(0), "\(stored.errorText)")
        // Whatever the id, everything of the account lies inside its own folder.
        #expect(try FileSystem.list(folder.path) == ["w"])
        #expect(try FileSystem.list(root + "/accounts").count == 1)
    }

    @Test("two ids that look the same and differ in bytes are two accounts (B-10)")
    func normalForms() async throws {
        let folder = try TemporaryFolder()
        #expect(try await add(folder.path("w"), "é").status == .exited(0))
        #expect(try await add(folder.path("w"), "e\u{301}").status == .exited(0))
        let list = try await CommandRunner.run(
            ["account", "list", "--json", "--root", folder.path("w")])
        #expect(list.lines.count == 2)
    }

    @Test("an account id that is empty, too long or no text is refused with the rule")
    func impossibleIDs() async throws {
        let folder = try TemporaryFolder()
        for id in ["", String(repeating: "x", count: 1000)] {
            let result = try await add(folder.path("w"), id)
            #expect(result.status == .exited(64))
            #expect(result.errorText.contains("1 to 512 bytes"))
        }
        let shell = try RunningCommand(
            ["-c", #"exec "$0" account add "$(printf '\377')" --root "$1""#, CommandRunner.program]
                + [folder.path("w")],
            program: "/bin/sh"
        )
        let result = await shell.end()
        #expect(result.status == .exited(64) && result.errorText.contains("not UTF-8"))
        #expect(try FileSystem.status(folder.path("w")) == nil)
    }

    @Test("an account that does not exist, is not active or is one of several is said to be so")
    func accounts() async throws {
        let workspace = try await TestWorkspace()
        let unknown = try await workspace.run(["ingest", "--account", "carol"])
        #expect(unknown.status == .exited(67))
        #expect(unknown.errorText.contains("account add"))
        _ = try await workspace.run(["account", "add", "bob"])
        let inactive = try await workspace.run(["ingest", "--account", "bob"])
        #expect(inactive.status == .exited(69))
        #expect(inactive.errorText.contains("account activate"))
        _ = try await workspace.run(["account", "activate", "bob"])
        let several = try await workspace.run(["ingest"])
        #expect(several.status == .exited(64))
        #expect(several.errorText.contains("alice, bob") && several.errorText.contains("--account"))
        _ = try await workspace.run(["account", "sign-out", "alice"])
        _ = try await workspace.run(["account", "sign-out", "bob"])
        let none = try await workspace.run(["ingest"])
        #expect(none.status == .exited(67) && none.errorText.contains("No account is active"))
    }

    @Test("a reader that closes the pipe ends a command quietly, a full disk does not")
    func outputs() async throws {
        let workspace = try await TestWorkspace()
        let lines = (1...2000).map {
            #"{"conversation":"c","id":"\#($0)","seq":\#($0),"sender":"s","#
                + #""sent_at":"2026-01-01T00:00:00Z","body":"\#(String(repeating: "b", count: 99))"}"#
        }.joined(separator: "\n")
        _ = try await workspace.ingest(lines)
        let words = [CommandRunner.program, workspace.root]
        let head = try RunningCommand(
            ["-c", #"set -o pipefail; "$0" export --root "$1" | head -n 1"#] + words,
            program: "/bin/bash"
        )
        let quiet = await head.end()
        #expect(quiet.status == .exited(0) && quiet.lines.count == 1)
        #expect(quiet.errors.isEmpty, "\(quiet.errorText)")
        let full = try RunningCommand(
            ["-c", #"exec "$0" export --root "$1" >/dev/full"#] + words,
            program: "/bin/sh"
        )
        let loud = await full.end()
        #expect(loud.status == .exited(74) && loud.errorText.contains("ENOSPC"))
        // Without an output its number must not go to a file of the store's.
        let closed = try RunningCommand(
            ["-c", #"exec "$0" ingest - --root "$1" >&- <&-"#] + words,
            program: "/bin/sh"
        )
        _ = await closed.end()
        try await workspace.expectSound()
    }

    @Test("usage errors name the command's help, and the versions name SQLite's")
    func usage() async throws {
        let wrong = try await CommandRunner.run(["ingest", "--durabilty", "durable"])
        #expect(wrong.status == .exited(64) && wrong.lines.isEmpty)
        #expect(wrong.errorText.contains("Did you mean --durability?"))
        #expect(wrong.errorText.contains("lockkeeper ingest --help"))
        let version = try await CommandRunner.run(["--version"])
        #expect(version.lines.first?.contains("SQLite 3.") == true)
        let help = try await CommandRunner.run(["tail", "--help"])
        #expect(help.status == .exited(0) && help.errors.isEmpty)
    }
}
