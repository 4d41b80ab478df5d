import LockkeeperPlatform
import Testing

@testable import LockkeeperCommand

@Suite("What destroys asks on a terminal, and needs --yes elsewhere")
struct DestroyingTests {
    /// The commands that take away what nobody can give back, with a command line of each.
    private static let destroying: [String: [String]] = [
        "account remove": ["alice"],
        "inbox drop": ["packet"],
        "key remove": ["a74c498eb751489d", "--keys", "/nowhere"],
        "quarantine drop": ["1"],
        "repair": ["alice", "--discard-damaged"],
        "restore": ["file"],
        "secrets delete": ["token"],
    ]

    /// Commands whose names sound like it, and why they do not ask.
    private static let sparing: [String: String] = [
        "clear": "an act of the account, which goes to the outbox like any other",
        "delete": "an act of the account",
        "recall": "an act of the account",
        "effects drop": "the message stays; nobody is notified of it",
        "outbox cancel": "takes back what the same user put there and nobody was told",
        "purge": "removes ids and places of what was cleared; content is gone already",
        "settings unset": "programs' defaults count again",
        "react": "an act of the account",
    ]

    @Test("the table of commands that destroy is whole: a new one is in it, or says why not")
    func table() {
        let marked = CommandList.all.filter { $0.destroys != nil }.map { $0.name }
        #expect(marked.sorted() == Self.destroying.keys.sorted())
        let words = [
            "remove", "drop", "delete", "restore", "purge", "clear", "cancel", "unset", "erase",
            "reset", "wipe", "recall",
        ]
        for command in CommandList.all {
            let name = command.name
            let sounds = name.split(separator: " ").contains { words.contains(String($0)) }
            guard sounds, command.destroys == nil else { continue }
            #expect(Self.sparing[name] != nil, "\(name) destroys nothing? Say so here.")
        }
        for command in CommandList.all where command.destroys != nil {
            #expect(command.destroys?.hasSuffix(".") == true)
            #expect(command.allOptions.contains { $0.name == "yes" })
        }
    }

    @Test("without a terminal it is refused before anything is opened", arguments: destroying.keys)
    func refused(name: String) async throws {
        let words = name.split(separator: " ").map(String.init)
        let line = words + (Self.destroying[name] ?? []) + ["--root", "/nowhere"]
        let refused = try await CommandRunner.run(line)
        #expect(refused.status == .exited(64), "\(refused.errorText)")
        #expect(refused.errorText.contains("Give --yes if that is meant."))
        let json = try await CommandRunner.run(line + ["--json"])
        let error = try PrintedObject(try #require(json.errors.first)).object("error")
        #expect(error.string("code") == "usage" && error.int("exit") == 64)
        // With it the command gets as far as the workspace that is not there.
        let meant = try await CommandRunner.run(line + ["--yes"])
        #expect(meant.status != .exited(64), "\(meant.errorText)")
    }

    @Test("on a terminal it asks: no changes nothing, yes does it, --json is never asked")
    func asked() async throws {
        let workspace = try await TestWorkspace()
        let remove = ["account", "remove", "alice", "--root", workspace.root]
        let no = try await TerminalRunner.run(
            remove,
            answers: [.init(expected: "Really? [y/N]", typed: "n\\n")]
        )
        #expect(no.status == .exited(64) && no.screen.contains("Nothing was changed"))
        let silence = try await TerminalRunner.run(
            remove,
            answers: [.init(expected: "Really? [y/N]", typed: "\\x04")]
        )
        #expect(silence.status == .exited(64))
        let program = try await TerminalRunner.run(remove + ["--json"])
        #expect(program.status == .exited(64) && !program.screen.contains("Really?"))
        #expect(try await workspace.run(["account", "list"]).lines.count == 1)
        let yes = try await TerminalRunner.run(
            remove,
            answers: [.init(expected: "Really? [y/N]", typed: "yes\\n")]
        )
        #expect(yes.status == .exited(0), "\(yes.screen)")
        #expect(try await workspace.run(["account", "list"]).lines.isEmpty)
    }
}
