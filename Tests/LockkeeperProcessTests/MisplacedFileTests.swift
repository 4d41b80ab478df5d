import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

/// What people do to the files of a workspace with `cp` and `mv`.
@Suite("Files that lie where they do not belong are told, and nothing is done to them (5.8, I-11)")
struct MisplacedFileTests {
    private func line(_ number: Int) -> [UInt8] {
        Array(
            (#"{"conversation":"c","id":"m-\#(number)","seq":\#(number),"sender":"s","#
                + #""sent_at":"2026-01-01T00:00:00Z","body":"b"}"# + "\n").utf8
        )
    }

    private func folder(_ workspace: TestWorkspace, _ account: String = "alice") -> String {
        "\(workspace.root)/accounts/\(account)"
    }

    /// Copies a database with its log over another one, as `cp` does.
    private func copy(_ source: String, over target: String) throws {
        for suffix in ["", "-wal", "-shm"] {
            try FileSystem.replaceFile(
                at: target + suffix,
                with: try FileSystem.contents(of: source + suffix)
            )
        }
    }

    private func makeWorkspace() async throws -> TestWorkspace {
        let workspace = try await TestWorkspace()
        #expect(try await workspace.run(["ingest"], input: line(1)).status == .exited(0))
        return workspace
    }

    private enum Stranger: String, CaseIterable {
        case otherAccount
        case otherDatabase
    }

    @Test(
        "another account's database, and the account's other one: each command says whose it is",
        arguments: Stranger.allCases
    )
    private func strangers(_ stranger: Stranger) async throws {
        let workspace = try await makeWorkspace()
        let added = try await workspace.run(["account", "add", "bob", "--activate"])
        #expect(added.status == .exited(0), "\(added.errorText)")
        let own = "\(folder(workspace))/messages-1.db"
        let sources = [
            Stranger.otherAccount: "\(folder(workspace, "bob"))/messages-1.db",
            .otherDatabase: "\(folder(workspace))/settings-1.db",
        ]
        let source = try #require(sources[stranger])
        let backup = workspace.folder.path("backup.db")
        let made = try await workspace.run(["backup", backup, "--account", "alice"])
        #expect(made.status == .exited(0), "\(made.errorText)")
        try copy(source, over: own)
        let bytes = try FileSystem.contents(of: own)
        let whose =
            stranger == .otherAccount
            ? "belongs to account bob" : "is the account's database of settings"
        let remedy = "--begin-anew --yes"
        for command in [["check"], ["check", "--deep"], ["doctor"]] {
            let told = try await workspace.run(command + ["--account", "alice"])
            #expect(told.status == .exited(1), "\(told.errorText)")
            let finding = told.lines.first { $0.hasPrefix("misplaced-file: \(own)") }
            #expect(
                finding?.contains(whose) == true && finding?.contains(remedy) == true,
                "\(told.lines)"
            )
        }
        for command in [
            ["repair", "alice"], ["repair", "alice", "--begin-anew", "--yes"],
            ["migrate", "--account", "alice"], ["ingest", "--account", "alice"],
        ] {
            let refused = try await workspace.run(command, input: line(2))
            #expect(refused.status == .exited(74), "\(command) \(refused.lines)")
            #expect(
                refused.errorText.contains(whose) && refused.errorText.contains(remedy),
                "\(command): \(refused.errorText)"
            )
            let left = try FileSystem.list(folder(workspace))
            #expect(left.contains("messages-1.db") && !left.contains("messages-2.db"), "\(left)")
            #expect(try FileSystem.contents(of: own) == bytes, "\(command)")
        }
        let restored = try await workspace.run(["restore", backup, "--account", "alice", "--yes"])
        #expect(restored.status == .exited(0), "\(restored.errorText)")
        #expect(try await workspace.run(["export", "--account", "alice"]).lines.count == 1)
        let aside = "\(folder(workspace))/damaged/messages-1.db"
        #expect(try FileSystem.contents(of: aside) == bytes)
        try await workspace.expectSound(account: "alice")
        try await workspace.expectSound(account: "bob")
    }

    @Test(
        "where the account's own database is gone for good, the stranger is moved away and it begins anew"
    )
    func beginAnew() async throws {
        let workspace = try await makeWorkspace()
        let own = "\(folder(workspace))/messages-1.db"
        try copy("\(folder(workspace))/settings-1.db", over: own)
        for suffix in ["", "-wal", "-shm"] { try FileSystem.remove(own + suffix) }
        let began = try await workspace.run(["repair", "alice", "--begin-anew", "--yes"])
        #expect(began.status == .exited(1), "\(began.errorText)")
        try await workspace.expectSound()
    }

    /// A workspace whose messages have a second file, and the registry of before.
    private func withOldRegistry() async throws -> (TestWorkspace, old: [UInt8]) {
        let workspace = try await makeWorkspace()
        let old = try FileSystem.contents(of: "\(workspace.root)/workspace.db")
        let first = "\(folder(workspace))/messages-1.db"
        try FileDescriptor(opening: first, [.readWrite]).truncate(to: 0)
        #expect(try await workspace.run(["repair", "alice"]).status == .exited(0))
        #expect(try await workspace.run(["ingest"], input: line(2)).status == .exited(0))
        return (workspace, old)
    }

    @Test(
        "an old workspace.db put back is told, nothing is done to newer files, and repair makes it anew",
        arguments: [true, false]
    )
    func oldRegistry(hasCharter: Bool) async throws {
        let (workspace, old) = try await withOldRegistry()
        let added = try await workspace.run(["account", "add", "bob", "--activate"])
        #expect(added.status == .exited(0), "\(added.errorText)")
        try FileSystem.replaceFile(at: "\(workspace.root)/workspace.db", with: old)
        let charter = "\(folder(workspace))/account.json"
        if !hasCharter { try FileSystem.replaceFile(at: charter, with: []) }
        let newer = "\(folder(workspace))/messages-2.db"
        let remedy = "'lockkeeper repair alice'"
        let backup = workspace.folder.path("backup.db")
        for command in [
            ["check"], ["doctor"], ["migrate"], ["ingest"], ["export"], ["backup", backup],
            ["account", "activate", "alice"], ["account", "remove", "alice", "--yes"],
        ] {
            let options = command[0] == "account" ? [] : ["--account", "alice"]
            let told = try await workspace.run(command + options, input: line(3))
            #expect(told.status != .exited(0), "\(command)")
            let text = told.lines.joined() + told.errorText
            #expect(text.contains(newer) && text.contains(remedy), "\(command): \(text)")
            #expect(!text.contains("--begin-anew"), "\(command): \(text)")
            let left = try FileSystem.list(folder(workspace))
            #expect(left.contains("messages-2.db") && !left.contains("messages-3.db"), "\(left)")
        }
        let repaired = try await workspace.run(["repair", "alice", "--begin-anew", "--yes"])
        #expect(repaired.status == .exited(0), "\(repaired.lines) \(repaired.errorText)")
        #expect(repaired.lines.first?.hasPrefix("'workspace.db' was older") == true)
        #expect(repaired.lines.dropFirst() == ["account alice: nothing is damaged"])
        #expect(try FileSystem.status("\(workspace.root)/damaged/workspace-1.db") != nil)
        #expect(try await workspace.run(["export", "--account", "alice"]).lines.count == 2)
        try await workspace.expectSound(account: "alice")
        try await workspace.expectSound(account: "bob")
    }

    @Test(
        "a copy that nobody came to publish is no newer file, and does not keep a person from beginning anew"
    )
    func unpublished() async throws {
        let workspace = try await makeWorkspace()
        let own = "\(folder(workspace))/messages-1.db"
        try copy(own, over: "\(folder(workspace))/messages-2.db")
        for suffix in ["", "-wal", "-shm"] { try FileSystem.remove(own + suffix) }
        let began = try await workspace.run(["repair", "alice", "--begin-anew", "--yes"])
        #expect(began.status == .exited(1), "\(began.lines) \(began.errorText)")
        let aside = "\(folder(workspace))/damaged/messages-2.db"
        #expect(try FileSystem.status(aside) != nil)
        try await workspace.expectSound()
    }
}
