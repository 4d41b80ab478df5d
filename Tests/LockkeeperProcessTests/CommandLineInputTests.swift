import Lockkeeper
import Testing

@testable import LockkeeperCommand

@Suite("Understanding a command line")
struct CommandLineInputTests {
    private func options(
        _ words: [String],
        _ environment: [String: String] = [:]
    ) throws -> GlobalOptions {
        let input = try CommandLineInput(words, environment: { environment[$0] })
        guard case .run(_, let options) = input else {
            throw UsageError("no command: \(words)")
        }
        return options
    }

    @Test("options of every command may stand before and behind it")
    func position() throws {
        for words in [
            ["--root", "r", "--json", "account", "list"],
            ["account", "list", "--root=r", "--json"],
            ["--json", "account", "list", "--root", "r"],
        ] {
            let options = try options(words)
            #expect(options.root == "r" && options.isJSON, "\(words)")
        }
    }

    @Test("the command line comes before the environment, and an empty variable is none")
    func environment() throws {
        let all = [
            "LOCKKEEPER_ROOT": "e", "XDG_STATE_HOME": "/x", "HOME": "/h",
            "LOCKKEEPER_ACCOUNT": "alice",
        ]
        #expect(try options(["status", "--root", "r"], all).root == "r")
        #expect(try options(["status"], all).root == "e")
        #expect(try options(["status"], all).account == "alice")
        #expect(try options(["status", "--account", "bob"], all).account == "bob")
        var rest = all
        rest["LOCKKEEPER_ROOT"] = ""
        rest["LOCKKEEPER_ACCOUNT"] = ""
        #expect(try options(["status"], rest).root == "/x/lockkeeper")
        #expect(try options(["status"], rest).account == nil)
        rest["XDG_STATE_HOME"] = nil
        #expect(try options(["status"], rest).root == "/h/.local/state/lockkeeper")
        rest["HOME"] = nil
        #expect(try options(["status"], rest).root == nil)
        // A demo must not happen in a workspace that only the environment names.
        #expect(try options(["demo"], all).namedRoot == nil)
    }

    @Test("every command says what it does, with an example of itself")
    func help() throws {
        for command in CommandList.all {
            let words = command.name.split(separator: " ").map(String.init) + ["--help"]
            guard case .print(let text) = try CommandLineInput(words, environment: { _ in nil })
            else {
                Issue.record("\(command.name) --help prints nothing")
                continue
            }
            #expect(text.hasPrefix("usage: lockkeeper \(command.name)"))
            #expect(text.contains("\n  lockkeeper \(command.name)"), "\(command.name)")
            #expect(text.split(separator: "\n").allSatisfy { $0.count <= 100 }, "\(command.name)")
            for option in command.options { #expect(text.contains(option.usage)) }
            #expect(Help.overview.contains("  \(command.name)  ") != command.isHidden)
        }
    }

    @Test(
        "a wrong command is an error that names the right one",
        arguments: [
            ([], "A command is missing"), (["ingets"], "Did you mean 'ingest'?"),
            (["account"], "account add"), (["frobnicate"], "--help"), (["--json"], "missing"),
            (["unread", "a", "b"], "one argument too many"), (["timeline"], "CONVERSATION"),
            (["tail", "--after", "7"], "STORE:N"), (["account", "add", ""], "1 to 512 bytes"),
            (["status", "--account", ""], "1 to 512 bytes"),
        ]
    )
    func errors(words: [String], sentence: String) {
        let error = #expect(throws: UsageError.self) {
            try CommandLineInput(words, environment: { _ in nil })
        }
        #expect(error?.description.contains(sentence) == true, "\(error as Any)")
    }

    @Test("each error code has an exit code, and those that scripts rely on have theirs")
    func exitCodes() {
        for code in LockkeeperError.Code.allCases {
            #expect(ExitCode(code) != .success)
            // As with grep: nothing of that name is an answer, and no fault.
            #expect((ExitCode(code) == .found) == (code == .notFound))
        }
        #expect(ExitCode(.superseded).rawValue == 76)
        #expect(ExitCode(.busy).rawValue == 75)
        #expect(ExitCode(.diskFull).rawValue == 74)
        #expect(ExitCode(.permissionDenied).rawValue == 77)
        #expect(ExitCode(.unknownAccount).rawValue == 67)
        #expect(ExitCode(.newerSchema).rawValue == 69)
    }

    @Test("what a terminal would obey is shown as an escape, and nothing else is")
    func terminal() {
        #expect(terminalText("a\u{1B}[2Jb\n\t\u{8}") == "a\\u{1b}[2Jb\\n\\t\\u{8}")
        #expect(terminalText("\u{202E}abc\u{9B}") == "\\u{202e}abc\\u{9b}")
        // Ids are bytes: what is not seen is spelt out, and only that.
        #expect(terminalID("ali\u{200B}ce") == "ali\\u{200b}ce")
        #expect(terminalID("a\u{A0}b\u{FEFF}\u{AD}") == "a\\u{a0}b\\u{feff}\\u{ad}")
        #expect(terminalID("ali\\u{200b}ce") == "ali\\\\u{200b}ce")
        #expect(terminalID("zoë 重跑 c1/x") == "zoë 重跑 c1/x")
        #expect(terminalText("重跑gen 👩‍👩‍👧‍👦 c'est noté מה") == "重跑gen 👩‍👩‍👧‍👦 c'est noté מה")
    }
}
