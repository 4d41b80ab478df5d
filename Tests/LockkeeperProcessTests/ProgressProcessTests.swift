import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import LockkeeperTestSupport
import Testing

@Suite("Progress and ^C, at a real terminal and through pipes")
struct ProgressProcessTests {
    /// A feed that takes the program longer than a second, on any machine that is no faster than
    /// a million events in a second.
    private func feed(_ workspace: TestWorkspace, count: Int) throws -> String {
        let path = workspace.folder.path("feed")
        let body = String(repeating: "some text ", count: 20)
        var content: [UInt8] = []
        for number in 1...count {
            content += Array(
                (#"{"conversation":"c\#(number % 50)","id":"m\#(number)","seq":\#(number),"#
                    + #""sender":"s","sent_at":"2026-01-01T00:00:00Z","body":"\#(body)"}"# + "\n")
                    .utf8
            )
        }
        try FileSystem.replaceFile(at: path, with: content)
        return path
    }

    /// Runs the program at a terminal, with its output in a file.
    private func atTerminal(
        _ workspace: TestWorkspace,
        _ arguments: [String],
        answers: [TerminalRunner.Answer] = []
    ) async throws -> TerminalRunner.Result {
        let line = ([CommandRunner.program] + arguments + ["--root", workspace.root])
            .map { "'\($0)'" }.joined(separator: " ")
        return try await TerminalRunner.run(
            program: "sh",
            ["-c", "exec \(line) > '\(workspace.folder.path("output"))'"],
            answers: answers
        )
    }

    /// Keeps SQLite's writer's lock, as any program can, until a line comes.
    private static let foreignWriter = """
        import sqlite3, sys
        database = sqlite3.connect(sys.argv[1], isolation_level=None)
        database.execute("BEGIN IMMEDIATE")
        print("ready", flush=True)
        sys.stdin.readline()
        database.execute("ROLLBACK")
        """

    /// Waits until a process of Lockkeeper's has stood at the door for so many milliseconds.
    private func awaitWriter(_ workspace: TestWorkspace, lasting milliseconds: Double) async throws
    {
        let deadline = patience()
        while !deadline.hasPassed(at: SystemClock().now()) {
            let status = try await workspace.run(["status", "--json"])
            let processes = try PrintedObject(status.lines[0]).objects("accounts")
                .flatMap { $0.objects("processes") }
            if processes.contains(where: {
                $0.string("activity") == "writing" && $0.double("activity_ms") ?? 0 > milliseconds
            }) {
                return
            }
        }
        Issue.record("nobody came to write")
    }

    private func output(_ workspace: TestWorkspace) throws -> [String] {
        let bytes = try FileSystem.contents(of: workspace.folder.path("output"))
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test("^C ends an ingest in order: what was read is stored and told, the rest can follow")
    func interrupted() async throws {
        let workspace = try await TestWorkspace()
        let count = 50_000
        let path = try feed(workspace, count: count)
        // What holds it up for the first second is another program, and not the size of the feed.
        let foreign = try RunningCommand(
            ["-c", Self.foreignWriter, "\(workspace.root)/accounts/alice/messages-1.db"],
            program: "python3"
        )
        #expect(await foreign.nextLine() == "ready")
        async let running = atTerminal(
            workspace,
            ["ingest", path],
            answers: [.init(expected: "%, ", typed: "\\x03")]
        )
        try await awaitWriter(workspace, lasting: 1_200)
        foreign.send(Array("\n".utf8))
        _ = await foreign.end()
        let stopped = try await running
        #expect(stopped.status == .exited(130), "\(stopped.screen.suffix(500))")
        #expect(stopped.screen.contains("lockkeeper: ingest ["), "\(stopped.screen.suffix(500))")
        #expect(stopped.screen.contains("MB/s, ") && stopped.screen.contains(" left"))
        #expect(stopped.screen.contains("Interrupted. "), "\(stopped.screen.suffix(500))")
        let summary = try PrintedObject(try #require(try output(workspace).last)).object("summary")
        let stored = try #require(summary.int("inserted"))
        #expect(stored > 0 && stored < count)
        #expect(try await workspace.run(["export"]).lines.count >= stored)
        let rest = try await workspace.run(["ingest", path])
        #expect(rest.status == .exited(0), "\(rest.errorText)")
        let restSummary = try rest.summary
        #expect(restSummary.int("inserted") == count - stored)
        #expect(restSummary.int("duplicate") == stored)
        try await workspace.expectSound()
    }

    @Test("a log gets lines and no bar, a script that reads JSON gets objects")
    func lines() async throws {
        let workspace = try await TestWorkspace()
        let path = try feed(workspace, count: 15_000)
        let people = try await workspace.run(["ingest", path])
        #expect(people.status == .exited(0), "\(people.errorText)")
        #expect(!people.errorText.contains("\u{1b}") && !people.errorText.contains("[#"))
        // Whether it took a second is the machine's affair; what is said has one form.
        for line in people.errors where line.contains("%") {
            #expect(
                line.firstMatch(of: #/^lockkeeper: ingest: \d+ %, \d+\.\d MB\/s/#) != nil,
                "\(line)"
            )
        }
        let other = try await TestWorkspace()
        let program = try await other.run(["ingest", path, "--json"])
        for line in program.errors where line.hasPrefix("{") {
            let progress = try PrintedObject(line).object("progress")
            #expect(progress.string("what") == "ingest" && progress.string("unit") == "bytes")
            #expect(progress.int("done") ?? 0 <= progress.int("count") ?? 0)
        }
    }

    @Test("^C while a backup is made leaves no file, and the account as it is")
    func backup() async throws {
        let workspace = try await TestWorkspace()
        #expect(try await workspace.ingest(try text(workspace)).status == .exited(0))
        let target = workspace.folder.path("copy.db")
        let command = try workspace.start(["backup", target])
        // Whether it comes before the first page or behind the last: a file is whole or not there.
        try command.process.signal(.interrupt)
        command.closeInput()
        let result = await command.end()
        let isThere = try FileSystem.status(target) != nil
        switch result.status {
        case .exited(0): #expect(isThere)
        case .exited(130):
            #expect(!isThere)
            #expect(result.errorText.contains("No backup was made."), "\(result.errorText)")
        default:
            // It came before the program was ready for it, which is like a kill.
            #expect(!isThere, "\(result.status)")
        }
        try await workspace.expectSound()
    }

    private func text(_ workspace: TestWorkspace) throws -> String {
        let path = try feed(workspace, count: 5_000)
        return String(decoding: try FileSystem.contents(of: path), as: UTF8.self)
    }
}
