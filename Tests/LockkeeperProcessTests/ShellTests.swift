import Foundation
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

@testable import LockkeeperCommand

/// Whether a program is installed; asked once per program.
private func isInstalled(_ program: String) -> Bool {
    let folders = (Environment.variable("PATH") ?? "").split(separator: ":")
    return folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(program)") }
}

@Suite("Completions and the manual page, made of the table of the help")
struct ShellTests {
    /// Runs a script of bash behind the program's completion.
    private func bash(_ script: String, in folder: TemporaryFolder) async throws -> [String] {
        let file = folder.path("completion")
        try Data(BashCompletion.script.utf8).write(to: URL(filePath: file))
        let command = try RunningCommand(
            ["--norc", "-u", "-c", "cd '\(folder.path)'; . ./completion; \(script)"],
            program: "bash"
        )
        command.closeInput()
        let result = await command.end()
        #expect(result.status == .exited(0) && result.errors.isEmpty, "\(result.errorText)")
        return result.lines
    }

    /// What bash offers behind some words; the last one is what stands at the cursor.
    private func offered(_ words: [String], in folder: TemporaryFolder) async throws -> [String] {
        let list = (["lockkeeper"] + words).map { "'\($0)'" }.joined(separator: " ")
        return try await bash(
            """
            COMP_WORDS=(\(list)); COMP_CWORD=\(words.count); _lockkeeper
            [ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\\n' "${COMPREPLY[@]}"
            """,
            in: folder
        )
    }

    @Test("bash completes commands, second words, options, their values and files")
    func bashCompletion() async throws {
        let folder = try TemporaryFolder()
        for name in ["feed one.ndjson", "feed.two"] {
            try FileSystem.replaceFile(at: folder.path(name), with: [1])
        }
        try FileSystem.makeDirectory(folder.path("feeds"))
        let cases: [(words: [String], expected: [String])] = [
            (["acc"], ["account"]),
            (["account", ""], CompletionTable().members(of: "account").map(\.word)),
            (["--root", "/x", "account", "si"], ["sign-out"]),
            (["ingest", "--dur"], ["--durability"]),
            (["ingest", "--durability", ""], ["durable", "committed"]),
            (["ingest", "--durability", "=", "c"], ["committed"]),
            (["ingest", "--durability", "="], ["durable", "committed"]),
            (["ingest", "feed"], ["feed one.ndjson", "feed.two", "feeds"]),
            (["ingest", "--name", "x", "--deliver", "feed."], ["feed.two"]),
            (["status", "--root", "f"], ["feeds"]),
            (["timeline", "c", "--limit", ""], []),
            (["account", "add", "alice", "--acti"], ["--activate"]),
            (["frobnicate", ""], []),
        ]
        for (words, expected) in cases {
            let found = try await offered(words, in: folder)
            #expect(found.sorted() == expected.sorted(), "\(words)")
        }
        // Hidden commands are other programs' and scripts' affair.
        #expect(!(try await offered([""], in: folder)).contains("man"))
    }

    @Test("every option of every command is offered, and what is offered is understood")
    func complete() async throws {
        let folder = try TemporaryFolder()
        let entries = CompletionTable().entries
        #expect(entries.count == CommandList.all.count { !$0.isHidden })
        let script = entries.map { "echo $(_lockkeeper_words '\($0.name)')" }.joined(
            separator: "; "
        )
        let lines = try await bash(script, in: folder)
        for (entry, line) in zip(entries, lines) {
            let help = try help(of: entry.name)
            let words = line.split(separator: " ").map(String.init)
            #expect(!words.isEmpty)
            for word in words { #expect(help.contains("  \(word)"), "\(entry.name) \(word)") }
            for option in entry.options { #expect(words.contains("--\(option.name)")) }
        }
    }

    private func help(of name: String) throws -> String {
        let words = name.split(separator: " ").map(String.init) + ["--help"]
        guard case .print(let text) = try CommandLineInput(words, environment: { _ in nil }) else {
            return ""
        }
        return text
    }

    @Test(
        "zsh takes its completion without an error",
        .enabled(if: isInstalled("zsh"), "needs zsh")
    )
    func zshCompletion() async throws {
        let folder = try TemporaryFolder()
        let file = folder.path("_lockkeeper")
        try Data(ZshCompletion.script.utf8).write(to: URL(filePath: file))
        let script = """
            fpath=('\(folder.path)' $fpath); autoload -Uz compinit; compinit -D
            [[ $_comps[lockkeeper] = _lockkeeper ]] && autoload +X _lockkeeper && echo loaded
            """
        let command = try RunningCommand(["-f", "-c", script], program: "zsh")
        command.closeInput()
        let result = await command.end()
        #expect(result.lines == ["loaded"] && result.errors.isEmpty, "\(result.errorText)")
    }

    @Test("the completion of zsh has every command and option")
    func zshContent() {
        let script = ZshCompletion.script
        for entry in CompletionTable().entries {
            #expect(script.contains("'\(entry.name)') _arguments"), "\(entry.name)")
            for option in entry.options {
                #expect(script.contains("'--\(option.name)"), "\(entry.name) --\(option.name)")
            }
        }
    }

    @Test("the manual page has every command, option and exit code, and no empty request")
    func manualPage() {
        let page = ManualPage.text
        for entry in CompletionTable().entries {
            let name = entry.name.replacing("-", with: "\\-")
            #expect(page.contains("\n.SS \"lockkeeper \(name)"), "\(entry.name)")
        }
        for code in ExitCode.allCases { #expect(page.contains("\n.TP\n.B \(code.rawValue)\n")) }
        let requests: Set = ["TH", "SH", "SS", "B", "I", "TP", "PP", "nf", "fi", "br"]
        for line in page.split(separator: "\n") where line.hasPrefix(".") {
            let request = line.dropFirst().prefix { $0 != " " }
            #expect(requests.contains(String(request)), "\(line)")
        }
        #expect(page.split(separator: "\n").count { $0 == ".nf" } > 40)
        #expect(
            page.split(separator: "\n").count { $0 == ".nf" }
                == page.split(separator: "\n").count { $0 == ".fi" }
        )
    }

    @Test(
        "groff sets the manual page without a warning",
        .enabled(if: isInstalled("groff"), "needs groff")
    )
    func groff() async throws {
        let command = try RunningCommand(
            ["-man", "-Kutf8", "-Tutf8", "-P-cbou", "-ww", "-"],
            program: "groff"
        )
        command.send(Array((ManualPage.text + "\n").utf8))
        command.closeInput()
        let result = await command.end()
        #expect(result.status == .exited(0) && result.errors.isEmpty, "\(result.errorText)")
        let text = result.lines.joined(separator: "\n")
        #expect(text.contains("lockkeeper account add") && text.contains("ENVIRONMENT"))
    }
}
