import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

@Suite("What a person decides about damaged and missing files, by command (5.8, I-11)")
struct RepairChoicesTests {
    private func line(_ number: Int) -> [UInt8] {
        Array(
            (#"{"conversation":"c","id":"m-\#(number)","seq":\#(number),"sender":"s","#
                + #""sent_at":"2026-01-01T00:00:00Z","body":"b"}"# + "\n").utf8
        )
    }

    private func folder(_ workspace: TestWorkspace) -> String { "\(workspace.root)/accounts/alice" }

    @Test(
        "a database that is gone without a backup is begun anew where a person says so, and the loss is told",
        arguments: ["messages", "settings"]
    )
    func beginAnew(kind: String) async throws {
        let workspace = try await TestWorkspace()
        #expect(try await workspace.run(["ingest"], input: line(1)).status == .exited(0))
        #expect(
            try await workspace.run(["settings", "set", "theme", "dark"]).status == .exited(0)
        )
        for suffix in ["", "-wal", "-shm"] {
            try FileSystem.remove("\(folder(workspace))/\(kind)-1.db\(suffix)")
        }
        let repair = try await workspace.run(["repair", "alice"])
        #expect(repair.status == .exited(74))
        #expect(repair.errorText.contains("--begin-anew"), "\(repair.errorText)")
        let check = try await workspace.run(["check"])
        #expect(check.lines.contains { $0.contains("repair alice --begin-anew --yes") })
        #expect(try await workspace.run(["repair", "alice", "--begin-anew"]).status == .exited(64))
        let began = try await workspace.run(["repair", "alice", "--begin-anew", "--yes"])
        #expect(began.status == .exited(1), "\(began.errorText)")
        #expect(began.lines.contains("\(kind): what could be read was copied"), "\(began.lines)")
        #expect(began.lines.contains("  nothing of the file could be read"), "\(began.lines)")
        // The other database is as it was.
        let theme = try await workspace.run(["settings", "get", "theme"])
        #expect((theme.status == .exited(0)) == (kind == "messages"), "\(theme.errorText)")
        let count = try await workspace.run(["export"]).lines.count
        #expect(count == (kind == "messages" ? 0 : 1))
        #expect(try await workspace.run(["ingest"], input: line(2)).status == .exited(0))
        try await workspace.expectSound()
    }

    @Test("where only a log is left of a database, beginning anew saves what it holds")
    func logAlone() async throws {
        let workspace = try await TestWorkspace()
        #expect(try await workspace.run(["ingest"], input: line(1)).status == .exited(0))
        try FileSystem.remove("\(folder(workspace))/messages-1.db")
        #expect(try await workspace.run(["export"]).status == .exited(74))
        let began = try await workspace.run(["repair", "alice", "--begin-anew", "--yes"])
        #expect(began.status == .exited(0), "\(began.lines) \(began.errorText)")
        #expect(try await workspace.run(["export"]).lines.count == 1)
        try await workspace.expectSound()
    }

    @Test("a database without bytes is named by backup, and a restore takes its place")
    func emptiedAndRestored() async throws {
        let workspace = try await TestWorkspace()
        #expect(try await workspace.run(["ingest"], input: line(1)).status == .exited(0))
        let backup = workspace.folder.path("backup.db")
        #expect(try await workspace.run(["backup", backup]).status == .exited(0))
        let path = "\(folder(workspace))/messages-1.db"
        let log = try FileSystem.contents(of: path + "-wal")
        try FileDescriptor(opening: path, [.readWrite]).truncate(to: 0)
        let again = try await workspace.run(["backup", workspace.folder.path("again.db")])
        #expect(again.status == .exited(74), "\(again.errorText)")
        #expect(again.errorText.contains("\(path) has no bytes any more"), "\(again.errorText)")
        let restored = try await workspace.run(["restore", backup, "--yes"])
        #expect(restored.status == .exited(0), "\(restored.errorText)")
        #expect(try await workspace.run(["export"]).lines.count == 1)
        let aside = "\(folder(workspace))/damaged/messages-1.db-wal"
        #expect(try FileSystem.contents(of: aside) == log)
        try await workspace.expectSound()
    }

    @Test("restore says of each path that is no backup what it is, and waits for no pipe")
    func noBackups() async throws {
        let workspace = try await TestWorkspace()
        #expect(try await workspace.run(["ingest"], input: line(1)).status == .exited(0))
        let pipe = workspace.folder.path("pipe")
        #expect(try ChildProcess(program: "mkfifo", arguments: [pipe]).wait() == .exited(0))
        let empty = workspace.folder.path("empty")
        try FileSystem.replaceFile(at: empty, with: [])
        let own = "\(folder(workspace))/messages-1.db"
        for (path, reason) in [
            (pipe, "it is no regular file"), (workspace.root, "it is a folder"),
            (empty, "it has no bytes"), (own, "it is the account's own database"),
            (workspace.folder.path("none"), "there is no such backup"),
        ] {
            let restored = try await workspace.run(["restore", path, "--yes"])
            #expect(restored.status != .exited(0) && restored.status != .exited(1), "\(path)")
            #expect(restored.errorText.contains("\(path): \(reason)"), "\(restored.errorText)")
            #expect(restored.errorText.contains("The account is as it was."))
        }
        #expect(try await workspace.run(["export"]).lines.count == 1)
        try await workspace.expectSound()
    }

    @Test("what lies in the folder 'damaged' is told by doctor and removed by a command alone")
    func discard() async throws {
        let workspace = try await TestWorkspace()
        #expect(try await workspace.run(["ingest"], input: line(1)).status == .exited(0))
        let path = "\(folder(workspace))/messages-1.db"
        try FileDescriptor(opening: path, [.readWrite]).truncate(to: 0)
        let repaired = try await workspace.run(["repair", "alice"])
        #expect(repaired.status == .exited(0), "\(repaired.errorText) \(repaired.lines)")
        let doctor = try await workspace.run(["doctor"])
        #expect(doctor.status == .exited(0), "\(doctor.lines)")
        #expect(doctor.errorText.contains("repair alice --discard-damaged --yes"))
        let damaged = "\(folder(workspace))/damaged"
        #expect(
            try await workspace.run(["repair", "alice", "--discard-damaged"]).status == .exited(64)
        )
        #expect(try FileSystem.status(damaged) != nil)
        let command = ["repair", "alice", "--discard-damaged", "--yes"]
        let discarded = try await workspace.run(command)
        #expect(discarded.status == .exited(0), "\(discarded.errorText)")
        #expect(discarded.lines.first?.hasSuffix("bytes removed") == true, "\(discarded.lines)")
        #expect(try FileSystem.status(damaged) == nil)
        #expect(
            try await workspace.run(command).lines
                == ["account alice: 0 files with 0 bytes removed"]
        )
        #expect(try await workspace.run(["export"]).lines.count == 1)
    }

    @Test(
        "doctor lists all that it can find where a database cannot be opened, and modes that are too narrow"
    )
    func doctor() async throws {
        let workspace = try await TestWorkspace()
        #expect(try await workspace.run(["ingest"], input: line(1)).status == .exited(0))
        let path = "\(folder(workspace))/messages-1.db"
        try FileDescriptor(opening: path, [.readWrite]).write(
            [UInt8](repeating: 0xa5, count: 4096),
            at: 0
        )
        try FileDescriptor(opening: path + "-wal", [.readWrite]).truncate(to: 0)
        let settings = "\(folder(workspace))/settings-1.db"
        #expect(
            try ChildProcess(program: "chmod", arguments: ["400", settings]).wait() == .exited(0)
        )
        let leftover = "\(folder(workspace))/leftover.tmp"
        try FileSystem.replaceFile(at: leftover, with: [1])
        let doctor = try await workspace.run(["doctor"])
        #expect(doctor.status == .exited(1), "\(doctor.errorText)")
        for start in ["not-a-store: \(path)", "file-mode: \(settings)", "leftover: \(leftover)"] {
            #expect(doctor.lines.contains { $0.hasPrefix(start) }, "\(start): \(doctor.lines)")
        }
    }
}
