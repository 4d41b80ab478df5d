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

    /// A database with a log and tables that are none of ours.
    private func makeForeignDatabase(at path: String) throws {
        let program = """
            import os, sqlite3, sys
            database = sqlite3.connect(sys.argv[1], isolation_level=None)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url TEXT)")
            os._exit(0)
            """
        let made = try ChildProcess(program: "python3", arguments: ["-c", program, path]).wait()
        try #require(made == .exited(0))
    }

    private func makeWorkspace() async throws -> TestWorkspace {
        let workspace = try await TestWorkspace()
        #expect(try await workspace.run(["ingest"], input: line(1)).status == .exited(0))
        return workspace
    }

    private enum Stranger: String, CaseIterable {
        case otherAccount
        case otherDatabase
        case otherProgram
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
        let foreign = workspace.folder.path("foreign.db")
        if stranger == .otherProgram { try makeForeignDatabase(at: foreign) }
        let source = sources[stranger] ?? foreign
        let backup = workspace.folder.path("backup.db")
        let made = try await workspace.run(["backup", backup, "--account", "alice"])
        #expect(made.status == .exited(0), "\(made.errorText)")
        try copy(source, over: own)
        let bytes = try FileSystem.contents(of: own)
        let whose =
            switch stranger {
            case .otherAccount: "belongs to account bob"
            case .otherDatabase: "is the account's database of settings"
            case .otherProgram: "is the database of another program"
            }
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

    @Test("an old workspace.db that knows the files, and an older generation, is told and mended")
    func oldGeneration() async throws {
        let workspace = try await makeWorkspace()
        let old = try FileSystem.contents(of: "\(workspace.root)/workspace.db")
        for command in ["sign-out", "activate"] {
            let changed = try await workspace.run(["account", command, "alice"])
            #expect(changed.status == .exited(0), "\(changed.errorText)")
        }
        let before = try await workspace.run(["account", "list"]).lines
        try FileSystem.replaceFile(at: "\(workspace.root)/workspace.db", with: old)
        for command in ["check", "doctor"] {
            let told = try await workspace.run([command])
            #expect(told.status == .exited(1), "\(told.errorText)")
            #expect(told.lines.contains { $0.hasPrefix("old-registry: ") }, "\(told.lines)")
        }
        let repaired = try await workspace.run(["repair", "alice"])
        #expect(repaired.status == .exited(0), "\(repaired.errorText)")
        #expect(repaired.lines.first?.hasPrefix("'workspace.db' was older") == true)
        #expect(try await workspace.run(["account", "list"]).lines == before)
        #expect(try await workspace.run(["ingest"], input: line(2)).status == .exited(0))
        try await workspace.expectSound()
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

    @Test(
        "an account.json that is empty, gone or another account's is told, and the next opening writes it anew",
        arguments: ["empty", "gone", "other"]
    )
    func charter(state: String) async throws {
        let workspace = try await makeWorkspace()
        #expect(try await workspace.run(["account", "add", "bob"]).status == .exited(0))
        let charter = "\(folder(workspace))/account.json"
        let bytes = try FileSystem.contents(of: charter)
        try lose(charter, state, in: workspace)
        for command in ["check", "doctor"] {
            let told = try await workspace.run([command])
            #expect(told.status == .exited(1), "\(told.errorText)")
            #expect(told.lines.contains { $0.hasPrefix("charter: \(charter)") }, "\(told.lines)")
        }
        #expect(try await workspace.run(["migrate"]).status == .exited(0))
        #expect(try FileSystem.contents(of: charter) == bytes)
        try await workspace.expectSound()
    }

    private func lose(_ charter: String, _ state: String, in workspace: TestWorkspace) throws {
        switch state {
        case "gone": try FileSystem.remove(charter)
        case "empty": try FileSystem.replaceFile(at: charter, with: [])
        default:
            let other = try FileSystem.contents(of: "\(folder(workspace, "bob"))/account.json")
            try FileSystem.replaceFile(at: charter, with: other)
        }
    }

    @Test(
        "where registry and account.json are lost, adding the account takes its databases over, and packets",
        arguments: ["empty", "gone", "other"]
    )
    func adopted(state: String) async throws {
        let workspace = try await makeWorkspace()
        #expect(try await workspace.run(["account", "add", "bob"]).status == .exited(0))
        #expect(try await workspace.run(["account", "sign-out", "alice"]).status == .exited(0))
        let kept = try await workspace.run(
            ["ingest", "--deliver", "--account", "alice"],
            input: line(2)
        )
        #expect(kept.status == .exited(0), "\(kept.errorText)")
        #expect(try await workspace.run(["account", "activate", "bob"]).status == .exited(0))
        try lose("\(folder(workspace))/account.json", state, in: workspace)
        try FileSystem.remove("\(workspace.root)/workspace.db")
        let listed = try await workspace.run(["account", "list"])
        #expect(listed.lines.count == 1, "\(listed.lines)")
        let added = try await workspace.run(["account", "add", "alice", "--activate"])
        #expect(added.status == .exited(0), "\(added.errorText)")
        #expect(try await workspace.run(["account", "list"]).lines.count == 2)
        let rows = try await workspace.run(["export", "--account", "alice"]).lines
        #expect(rows.count == 2, "\(rows)")
        try await workspace.expectSound(account: "alice")
        try await workspace.expectSound(account: "bob")
    }

    @Test(
        "adding an account of which only workspace.db is lost makes that anew, and says that it is there"
    )
    func unknownToTheRegistry() async throws {
        let workspace = try await makeWorkspace()
        let old = try FileSystem.contents(of: "\(workspace.root)/workspace.db")
        let made = try await workspace.run([
            "account", "add", "bob", "--own-id", "u2", "--activate",
        ])
        #expect(made.status == .exited(0), "\(made.errorText)")
        let stored = try await workspace.run(["ingest", "--account", "bob"], input: line(1))
        #expect(stored.status == .exited(0), "\(stored.errorText)")
        let before = try await workspace.run(["account", "list", "--json"]).lines
        try FileSystem.replaceFile(at: "\(workspace.root)/workspace.db", with: old)
        let added = try await workspace.run(["account", "add", "bob"])
        #expect(added.errorText.contains("an account of this id was added already"))
        #expect(try await workspace.run(["account", "list", "--json"]).lines == before)
        #expect(try await workspace.run(["export", "--account", "bob"]).lines.count == 1)
        try await workspace.expectSound(account: "bob")
    }
}
