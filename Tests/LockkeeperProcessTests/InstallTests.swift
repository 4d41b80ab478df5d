import Foundation
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

/// The package's own folder, found from this file.
private let repository = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

@Suite("Installing, in a clean folder, by a user that is not root", .serialized)
struct InstallTests {
    private let folder: TemporaryFolder
    private var target: String { folder.path("target") }
    private var program: String { "\(target)/opt/lk/bin/lockkeeper" }

    /// The script and the program where another user can read them; nothing else of the package.
    init() async throws {
        folder = try TemporaryFolder()
        try FileSystem.makeDirectory(folder.path("target"))
        try FileSystem.makeDirectory(folder.path("home"))
        // By another process: a descriptor that this one writes with may be open in a child that
        // another test is just starting, and a program that is open for writing cannot be run.
        for (source, target) in [
            (repository.appending(path: "Scripts").path, folder.path("Scripts")),
            (CommandRunner.program, folder.path("program")),
        ] {
            let copied = try ChildProcess(program: "cp", arguments: ["-rL", source, target])
            #expect(try copied.wait() == .exited(0))
        }
        let opened = try ChildProcess(
            program: "chmod",
            arguments: ["-R", "a+rwX", folder.path]
        )
        #expect(try opened.wait() == .exited(0))
    }

    /// Runs a program as a user that is not root; where the tests are not, as theirs.
    private func run(
        _ program: String,
        _ arguments: [String],
        destination: String? = nil
    ) async throws -> CommandRunner.Result {
        let isRoot = Environment.userID == 0
        let other = ["--reuid=65534", "--regid=65534", "--clear-groups", program]
        let command = try RunningCommand(
            (isRoot ? other : []) + arguments,
            program: isRoot ? "setpriv" : program,
            environment: [
                "DESTDIR": destination ?? target, "HOME": folder.path("home"),
                "XDG_STATE_HOME": "",
            ]
        )
        command.closeInput()
        return await command.end()
    }

    private func install(_ options: [String] = []) async throws -> CommandRunner.Result {
        try await run(
            folder.path("Scripts/install"),
            ["--prefix", "/opt/lk", "--binary", folder.path("program")] + options
        )
    }

    private func files() -> [String] {
        let found = FileManager.default.enumerator(atPath: target)?.allObjects as? [String] ?? []
        var isFolder: ObjCBool = false
        return found.filter {
            FileManager.default.fileExists(atPath: "\(target)/\($0)", isDirectory: &isFolder)
                && !isFolder.boolValue
        }.sorted()
    }

    @Test("what is installed runs from there, with units, completions and manual; twice is as once")
    func installed() async throws {
        for _ in 1...2 {
            let result = try await install()
            #expect(result.status == .exited(0), "\(result.errorText)")
            #expect(result.lines.last?.hasSuffix(" in \(target)/opt/lk") == true)
        }
        #expect(
            files() == [
                "opt/lk/bin/lockkeeper",
                "opt/lk/lib/systemd/user/lockkeeper-helper@.service",
                "opt/lk/lib/systemd/user/lockkeeper.service",
                "opt/lk/lib/systemd/user/lockkeeper.socket",
                "opt/lk/share/bash-completion/completions/lockkeeper",
                "opt/lk/share/man/man1/lockkeeper.1",
                "opt/lk/share/zsh/site-functions/_lockkeeper",
            ]
        )
        let add = ["account", "add", "alice", "--own-id", "u1", "--activate"]
        let added = try await run(program, add)
        #expect(added.status == .exited(0), "\(added.errorText)")
        let sent = try await run(program, ["send", "c", "hello"])
        #expect(sent.status == .exited(0), "\(sent.errorText)")
        let status = try await run(program, ["status"])
        #expect(status.lines.first == "workspace \(folder.path("home"))/.local/state/lockkeeper")
        for (unit, line) in [
            ("lockkeeper.service", "ExecStart=/usr/bin/env /opt/lk/bin/lockkeeper host "),
            ("lockkeeper-helper@.service", "exec /opt/lk/bin/lockkeeper ingest "),
        ] {
            let text = try String(
                contentsOfFile: "\(target)/opt/lk/lib/systemd/user/\(unit)",
                encoding: .utf8
            )
            #expect(text.contains(line), "\(text)")
        }
    }

    @Test("uninstalling leaves nothing of it, and everything else")
    func uninstalled() async throws {
        #expect(try await install().status == .exited(0))
        let other = "\(target)/opt/lk/share/man/man1/other.1"
        try FileSystem.replaceFile(at: other, with: [1])
        let result = try await install(["--uninstall"])
        #expect(result.status == .exited(0), "\(result.errorText)")
        #expect(files() == ["opt/lk/share/man/man1/other.1"])
    }

    @Test("a program that does not run is not installed, and what is wrong is said")
    func refused() async throws {
        try FileSystem.replaceFile(at: folder.path("program"), with: [1, 2, 3])
        #expect(try await install().status != .exited(0))
        #expect(files().isEmpty)
        let wrong = try await run(folder.path("Scripts/install"), ["--prefix", "here"])
        #expect(wrong.status == .exited(64) && wrong.errorText.contains("absolute"))
        let unknown = try await run(folder.path("Scripts/install"), ["--frobnicate"])
        #expect(unknown.status == .exited(64) && unknown.errorText.hasPrefix("usage: "))
    }
}
