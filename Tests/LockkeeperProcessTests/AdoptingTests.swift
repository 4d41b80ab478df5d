import Foundation
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

/// The way in that Docs/ADOPTING.md describes, and the mappings of Docs/MAPPING.md, with the programs in
/// Docs/Examples and the real `lockkeeper`.
@Suite("Moving in, and mapping what servers send", .serialized, .timeLimit(.minutes(10)))
struct AdoptingTests {
    private static let examples = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Docs/Examples").path

    private static func start(_ example: String, _ arguments: [String]) throws -> RunningCommand {
        try RunningCommand(
            // No folders of compiled modules are left among the documents.
            ["python3", "-B", "\(examples)/\(example)"] + arguments,
            program: "/usr/bin/env"
        )
    }

    private static func run(
        _ example: String,
        _ arguments: [String]
    ) async throws -> CommandRunner.Result {
        let command = try start(example, arguments)
        command.closeInput()
        return await command.end()
    }

    // I-5
    @Test("six servers' deliveries make the same store forwards, and backwards with all twice")
    func mappings() async throws {
        let folder = try TemporaryFolder()
        let result = try await Self.run("mapping/run.py", [folder.path, CommandRunner.program])
        #expect(result.status == .exited(0), "\(result.lines) \(result.errorText)")
        #expect(
            result.lines
                == ["matrix", "xmpp", "slack", "telegram", "signal", "irc"]
                .map { "\($0)\tthe same in both orders" }
        )
    }

    /// An old app's database, a workspace, and what moves from one to the other.
    private struct Move {
        let workspace: TestWorkspace
        var database: String { workspace.folder.path("old.db") }

        init(messageCount: Int) async throws {
            workspace = try await TestWorkspace(accountOptions: ["--own-id", "u1"])
            let made = try await AdoptingTests.run(
                "adopting/old_app.py",
                [database, "make", "\(messageCount)"]
            )
            try #require(made.status == .exited(0), "\(made.errorText)")
        }

        func arguments(_ act: String) -> [String] {
            [act, database, workspace.root, "alice", CommandRunner.program]
        }

        func run(_ act: String) async throws -> CommandRunner.Result {
            try await AdoptingTests.run("adopting/adopt.py", arguments(act))
        }

        /// Compares; how many things differ.
        func differences() async throws -> Int? {
            let result = try await run("compare")
            let count = try PrintedObject(try #require(result.lines.last)).int("different")
            #expect(result.status == .exited(count == 0 ? 0 : 1), "\(result.errorText)")
            return count
        }

        /// The last row that was moved.
        func cursor() async throws -> String? {
            try await workspace.run(["cursors", "--json"]).lines
                .map { try PrintedObject($0) }
                .first { $0.string("stream") == "import" }?.string("cursor")
        }
    }

    /// Starts an import and kills a process of it once a page is stored: the one that stores, or the
    /// one that reads the old database.
    private func interrupt(_ move: Move, killingIngest: Bool) async throws {
        let importing = try Self.start("adopting/adopt.py", move.arguments("import"))
        importing.closeInput()
        let first = try PrintedObject(try #require(await importing.nextLine()))
        let pid = try #require(try first.object("ingest").int("pid"))
        while let line = await importing.nextLine() {
            if try PrintedObject(line).string("moved") != nil { break }
        }
        if killingIngest {
            #expect(kill(pid_t(pid), SIGKILL) == 0)
            #expect(await importing.end().status == .exited(75))
        } else {
            try importing.process.signal(.kill)
            _ = await importing.end()
        }
    }

    //
    @Test("an old app moves in: killed, resumed, compared, run beside, cut over, nobody notified")
    func movingIn() async throws {
        let move = try await Move(messageCount: 3000)
        let workspace = move.workspace
        try await interrupt(move, killingIngest: true)
        let first = Int(try await move.cursor() ?? "") ?? 0
        #expect(first >= 500 && first < 3000)
        try await interrupt(move, killingIngest: false)
        #expect(try await move.run("import").status == .exited(0))
        #expect(try await move.cursor() == "3000")
        #expect(try await move.differences() == 0)
        #expect(try await workspace.run(["effects", "list"]).lines == [])
        #expect(try await workspace.run(["quarantine", "list"]).lines == [])

        // Both run: the server tells both, and the old app has a message more.
        let later = try await Self.run("adopting/old_app.py", [move.database, "later"])
        #expect(later.status == .exited(0), "\(later.errorText)")
        #expect(try await move.differences() == 5)
        let events = try await Self.run("adopting/old_app.py", ["events"])
        let live = try await workspace.ingest(events.lines.map { $0 + "\n" }.joined())
        #expect(live.status == .exited(0), "\(live.errorText)")
        #expect(try await move.differences() == 2)

        let cutOver = try await move.run("cut-over")
        #expect(cutOver.status == .exited(0), "\(cutOver.lines) \(cutOver.errorText)")
        #expect(try await move.cursor() == "done")
        #expect(try await move.differences() == 0)
        // What came live notified, what was imported did not.
        let effects = try await workspace.run(["effects", "list"])
        #expect(effects.lines.count == 1 && effects.lines[0].contains("new-1"))
        #expect(try await move.run("import").status == .exited(1))
        for _ in 1...2 { #expect(try await move.run("unsent").status == .exited(0)) }
        #expect(try await workspace.run(["outbox", "list"]).lines.count == 1)
        try await workspace.expectSound()
    }
}
