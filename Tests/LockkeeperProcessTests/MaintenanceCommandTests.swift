import LockkeeperPlatform
import LockkeeperSimulation
import Testing

@Suite("The commands migrate, backup, restore, check and doctor")
struct MaintenanceCommandTests {
    private func line(_ number: Int) -> [UInt8] {
        Array(
            (#"{"conversation":"c","id":"m-\#(number)","seq":\#(number),"sender":"s","#
                + #""sent_at":"2026-01-01T00:00:00Z","body":"b"}"# + "\n").utf8
        )
    }

    @Test("a backup says up to which commit it is complete, and restoring it brings that back")
    func backupAndRestore() async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.run(["ingest"], input: line(1))
        let path = workspace.folder.path("backup.db")
        let made = try await workspace.run(["backup", path, "--json"])
        try #require(made.status == .exited(0), "\(made.errorText)")
        let report = try PrintedObject(try #require(made.lines.first))
        #expect(report.string("path") == path && report.string("position")?.hasSuffix(":1") == true)
        #expect(try await workspace.run(["backup", path]).status == .exited(64))
        _ = try await workspace.run(["ingest"], input: line(2))
        #expect(try await workspace.run(["restore", path]).status == .exited(64))
        let restored = try await workspace.run(["restore", path, "--yes"])
        #expect(restored.status == .exited(0), "\(restored.errorText)")
        #expect(restored.lines.first?.contains("messages are those of commit 1") == true)
        let aside = "\(workspace.root)/accounts/alice/damaged"
        #expect(
            restored.lines.contains {
                $0.contains("settings are what they were, in a new file")
                    && $0.contains("\(aside)/settings-1.db")
            },
            "\(restored.lines)"
        )
        #expect(
            restored.lines.contains { $0.contains("is kept: \(aside)/messages-1.db") },
            "\(restored.lines)"
        )
        #expect(try await workspace.run(["export"]).lines.count == 1)
        _ = try await workspace.run(["ingest"], input: line(2))
        let kept = try await workspace.run(["backup", "--keep", "1", "--retain", "30d"])
        #expect(kept.status == .exited(0), "\(kept.errorText)")
        #expect(kept.lines.first?.contains("/accounts/alice/backups/messages-2-") == true)
        for wrong in [["--retain", "30"], ["--keep", "0"], ["x.db", "--keep", "2"]] {
            #expect(try await workspace.run(["backup"] + wrong).status == .exited(64), "\(wrong)")
        }
        #expect(try await workspace.run(["migrate"]).lines == [])
        try await workspace.expectSound()
    }

    @Test(
        "a backup into a folder that is not there is refused with one sentence, and nothing is left"
    )
    func noFolder() async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.run(["ingest"], input: line(1))
        let folder = workspace.folder.path("none")
        let refused = try await workspace.run(["backup", "\(folder)/backup.db"])
        #expect(refused.status == .exited(74), "\(refused.errorText)")
        #expect(
            refused.errorText.contains("\(folder): there is no such folder for the backup"),
            "\(refused.errorText)"
        )
        #expect(!refused.errorText.contains("ENOENT") && !refused.errorText.contains("tmp:"))
    }

    @Test(
        "doctor says how things are and ends with 1 where something is found; status has the levels"
    )
    func doctor() async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.run(["ingest"], input: line(1))
        let sound = try await workspace.run(["doctor", "--deep"])
        #expect(sound.status == .exited(0), "\(sound.lines)")
        #expect(sound.lines == [])
        #expect(sound.errorText.contains("file-system: "), "\(sound.errorText)")
        #expect(sound.errorText.contains("sees-lost-writes: no"), "\(sound.errorText)")
        let file = "\(workspace.root)/accounts/alice/leftover.tmp"
        try FileSystem.replaceFile(at: file, with: [1])
        let found = try await workspace.run(["doctor", "--json"])
        #expect(found.status == .exited(1))
        let facts = try PrintedObject(found.lines[0]).object("facts")
        for name in ["lockkeeper", "sqlite", "schema-messages-messages", "free-bytes"] {
            #expect(facts.has(name), "\(name)")
        }
        let finding = try PrintedObject(try #require(found.lines.dropFirst().first))
        #expect(finding.string("code") == "leftover" && finding.string("subject") == file)
        let status = try await workspace.run(["status", "--json"])
        let account = try PrintedObject(try #require(status.lines.first)).objects("accounts")[0]
        let levels = account.objects("inspections").map {
            "\($0.string("database") ?? "") \($0.string("level") ?? "") \($0.int("found") ?? -1)"
        }
        #expect(
            levels == [
                "messages open 0", "messages quick 0", "messages deep 0", "settings open 0",
                "settings quick 0", "settings deep 0",
            ]
        )
    }

    // B27
    @Test("a root that is reached through a symbolic link is the same workspace, with one host")
    func linkedRoot() async throws {
        let workspace = try await TestWorkspace()
        let link = workspace.folder.path("link")
        let made = try ChildProcess(program: "ln", arguments: ["-s", workspace.root, link])
        #expect(try made.wait() == .exited(0))
        let host = try workspace.start(["host"])
        #expect(await host.nextLine() != nil)
        let refused = try await CommandRunner.run(["host", "--root", link])
        #expect(refused.status == .exited(69), "\(refused.errorText)")
        #expect(refused.errorText.contains("\(host.process.pid)"), "\(refused.errorText)")
        let stored = try await CommandRunner.run(["ingest", "--root", link], input: line(1))
        #expect(stored.status == .exited(0), "\(stored.errorText)")
        #expect(try await workspace.run(["export"]).lines.count == 1)
        try host.process.signal(.terminate)
        _ = await host.end()
        try await workspace.expectSound()
    }

    @Test("an account whose folder is gone is restored from a backup, with nothing said to be kept")
    func folderGone() async throws {
        let workspace = try await TestWorkspace()
        let backup = workspace.folder.path("b.db")
        _ = try await workspace.run(["ingest"], input: line(1))
        #expect(try await workspace.run(["backup", backup]).status == .exited(0))
        try FileSystem.removeTree("\(workspace.root)/accounts/alice")
        let arguments = ["restore", backup, "--account", "alice", "--yes"]
        let restored = try await workspace.run(arguments)
        #expect(restored.status == .exited(0), "\(restored.errorText)")
        #expect(!restored.lines.contains { $0.contains("is kept") }, "\(restored.lines)")
        #expect(try await workspace.run(["export"]).lines.count == 1)
        // The settings have no backup, and their loss is told.
        let check = try await workspace.run(["check"])
        #expect(check.lines.count == 1 && check.lines[0].contains("settings-"), "\(check.lines)")
    }

    // B28
    @Test(
        "a process in another mount namespace that has the folder elsewhere meets the same locks",
        .enabled(if: Environment.userID == 0, "mounting takes root")
    )
    func namespaces() async throws {
        let workspace = try await TestWorkspace()
        let elsewhere = workspace.folder.path("elsewhere")
        try FileSystem.makeDirectory(elsewhere)
        func inside(_ arguments: [String], _ input: [UInt8]) async throws -> CommandRunner.Result {
            let script = #"mount --bind "$1" "$2" && shift 2 && exec "$0" "$@""#
            let command = try RunningCommand(
                ["-m", "sh", "-c", script, CommandRunner.program, workspace.root, elsewhere]
                    + arguments + ["--root", elsewhere],
                program: "unshare"
            )
            command.send(input, lineCount: 0)
            command.closeInput()
            return await command.end()
        }
        let host = try workspace.start(["host"])
        #expect(await host.nextLine() != nil)
        let refused = try await inside(["host"], [])
        #expect(refused.status == .exited(69), "\(refused.errorText)")
        #expect(refused.errorText.contains("\(host.process.pid)"), "\(refused.errorText)")
        #expect(try await inside(["ingest"], line(1)).status == .exited(0))
        #expect(try await workspace.run(["ingest"], input: line(2)).status == .exited(0))
        #expect(try await inside(["export"], []).lines.count == 2)
        try host.process.signal(.terminate)
        _ = await host.end()
        try await workspace.expectSound()
    }

    // B29
    @Test(
        "another user's command is refused before it makes a file, and the owner goes on",
        .enabled(if: Environment.userID == 0, "being another user takes root")
    )
    func otherUser() async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.run(["ingest"], input: line(1))
        // Readable by everybody, as a careless owner leaves it.
        let opened = try ChildProcess(
            program: "chmod",
            arguments: ["-R", "a+rX", workspace.folder.path]
        )
        try opened.wait()
        let before = try FileSystem.list("\(workspace.root)/accounts/alice").sorted()
        for command in ["status", "export", "check"] {
            let process = try RunningCommand(
                [
                    "--reuid=65534", "--clear-groups", CommandRunner.program, command, "--root",
                    workspace.root,
                ],
                program: "setpriv"
            )
            process.closeInput()
            let refused = await process.end()
            #expect(refused.status == .exited(77), "\(command): \(refused.errorText)")
        }
        #expect(try FileSystem.list("\(workspace.root)/accounts/alice").sorted() == before)
        #expect(try await workspace.run(["ingest"], input: line(2)).status == .exited(0))
        let doctor = try await workspace.run(["doctor"])
        #expect(doctor.status == .exited(1))
        #expect(doctor.lines.allSatisfy { $0.hasPrefix("file-mode: ") } && !doctor.lines.isEmpty)
    }
}
