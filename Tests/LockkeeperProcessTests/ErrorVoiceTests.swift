import LockkeeperPlatform
import Testing

@Suite("Errors have one voice: what happened, to what, what to do; the code is for programs")
struct ErrorVoiceTests {
    /// Runs a command that must fail, for people and for programs, and looks at what it says.
    private func expectVoice(
        _ workspace: TestWorkspace,
        _ arguments: [String],
        _ exitCode: Int32,
        input: [UInt8] = []
    ) async throws {
        let people = try await workspace.run(arguments, input: input)
        let program = try await workspace.run(arguments + ["--json"], input: input)
        let what = "\(arguments): \(people.errorText)"
        #expect(people.status == .exited(exitCode), "\(what)")
        #expect(program.status == .exited(exitCode), "\(what)")
        let sentence = try #require(people.errors.last, "\(what)")
        #expect(sentence.hasPrefix("lockkeeper: ") && sentence.hasSuffix("."), "\(what)")
        expectNoJargon(people.errorText, what)
        expectNoJargon(people.lines.joined(separator: "\n"), what)
        let line = try #require(program.errors.last, "\(what)")
        let error = try PrintedObject(line).object("error")
        #expect(error.int("exit") == Int(exitCode), "\(line)")
        #expect(error.string("code")?.isEmpty == false, "\(line)")
        expectNoJargon(error.string("message") ?? "SQLITE_ nothing is said", line)
    }

    /// Expects that a text has neither codes of SQLite nor what only Swift programmers know.
    private func expectNoJargon(_ text: String, _ what: String) {
        #expect(!text.contains("SQLITE_"), "\(what)")
        #expect(text.firstMatch(of: /[A-Z][A-Za-z]+Error\b/) == nil, "\(what)")
        #expect(text.firstMatch(of: /Optional\(|Lockkeeper[A-Z]|errno|rawValue/) == nil, "\(what)")
        #expect(text.firstMatch(of: #/\((code|path|reason):/#) == nil, "\(what)")
        #expect(text.firstMatch(of: #/\b(SELECT|INSERT|UPDATE|PRAGMA|BEGIN)\s/#) == nil, "\(what)")
    }

    private static let line = Array(
        (#"{"conversation":"c","id":"m","seq":1,"sender":"s","#
            + #""sent_at":"2026-01-01T00:00:00Z","body":"b"}"# + "\n").utf8
    )

    @Test("what is asked for and is not there is named, with a way to find out what is")
    func missing() async throws {
        let workspace = try await TestWorkspace()
        let cases: [([String], Int32)] = [
            (["timeline", "c", "--account", "nobody"], 67),
            (["message", "nowhere", "m"], 64),
            (["ingest", "/nowhere/feed"], 74),
            (["ingest", "/tmp"], 74),
            (["inbox", "show", "nothing"], 64),
            (["quarantine", "show", "99"], 64),
            (["outbox", "cancel", "99"], 64),
            (["effects", "retry", "99"], 64),
            (["restore", "/nowhere/file", "--yes"], 74),
            (["backup", "/nowhere/file"], 74),
            (["account", "add", "alice"], 73),
            (["account", "remove", "nobody", "--yes"], 67),
            (["switch", "nobody"], 67),
            (["tail", "--after", "7"], 64),
            (["frobnicate"], 64),
        ]
        for (arguments, exitCode) in cases {
            try await expectVoice(workspace, arguments, exitCode)
        }
    }

    @Test("an account that takes no writes, and a folder that is no workspace")
    func unavailable() async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.run(["account", "sign-out", "alice"])
        try await expectVoice(workspace, ["ingest", "--account", "alice"], 69, input: Self.line)
        try await expectVoice(workspace, ["send", "c", "x"], 67)
        let file = workspace.folder.path("file")
        try FileSystem.replaceFile(at: file, with: [1])
        for root in [file, workspace.folder.path("nowhere")] {
            let result = try await CommandRunner.run(["status", "--root", root])
            #expect(result.status != .exited(0))
            expectNoJargon(result.errorText, result.errorText)
        }
    }

    @Test("damaged, foreign and missing files are told in words, and repair is named")
    func damaged() async throws {
        let workspace = try await TestWorkspace()
        #expect(try await workspace.run(["ingest"], input: Self.line).status == .exited(0))
        let database = "\(workspace.root)/accounts/alice/messages-1.db"
        let whole = try FileSystem.contents(of: database)
        let garbage = Array("this is no database, whatever it is called. ".utf8)
        let torn = Array(whole.prefix(4096) + [UInt8](repeating: 0xA5, count: whole.count - 4096))
        for content in [Array(repeating: garbage, count: 500).flatMap { $0 }, torn] {
            try FileSystem.replaceFile(at: database, with: content)
            for suffix in ["-wal", "-shm"] { _ = try FileSystem.remove(database + suffix) }
            for command in [["ingest"], ["timeline", "c"], ["export"], ["search", "b"]] {
                let input = command == ["ingest"] ? Self.line : []
                let result = try await workspace.run(command, input: input)
                #expect(result.status != .exited(0), "\(command)")
                expectNoJargon(result.errorText, "\(command): \(result.errorText)")
            }
            for command in [["status"], ["check"], ["doctor"]] {
                let result = try await workspace.run(command)
                let text = (result.lines + result.errors).joined(separator: "\n")
                expectNoJargon(text, "\(command): \(text)")
            }
        }
        try FileSystem.rename(database, to: database + ".away")
        try await expectVoice(workspace, ["ingest"], 74, input: Self.line)
    }
}
