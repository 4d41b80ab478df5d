import LockkeeperPlatform
import Testing

@Suite("The commands of secrets")
struct SecretsCommandTests {
    @Test("a secret comes on standard input, is printed, listed and deleted")
    func roundTrip() async throws {
        let test = try await TestWorkspace()
        let set = try await test.run(["secrets", "set", "token"], input: Array("hunter2\n".utf8))
        #expect(set.status == .exited(0) && set.lines.isEmpty, "\(set.errorText)")
        #expect(try await test.run(["secrets", "get", "token"]).lines == ["hunter2"])
        let again = try await test.run(
            ["secrets", "set", "token", "--raw", "--access", "thisDeviceOnly"],
            input: Array("new\n".utf8)
        )
        #expect(again.status == .exited(0))
        let got = try await test.run(["secrets", "get", "token", "--json"])
        let printed = try PrintedObject(try #require(got.lines.first))
        #expect(printed.string("bytes") == "6e65770a")
        #expect(printed.string("access") == "thisDeviceOnly")
        #expect(try await test.run(["secrets", "list"]).lines == ["token"])
        // What should have printed the next one has failed.
        for nothing in ["", "\n"] {
            let empty = try await test.run(["secrets", "set", "token"], input: Array(nothing.utf8))
            #expect(empty.status == .exited(65), "\(empty.errorText)")
        }
        #expect(try await test.run(["secrets", "get", "token", "--raw"]).lines == ["new"])
        #expect(try await test.run(["secrets", "delete", "token", "--yes"]).status == .exited(0))
        #expect(try await test.run(["secrets", "delete", "token", "--yes"]).status == .exited(1))
        #expect(try await test.run(["secrets", "get", "token"]).status == .exited(1))
    }

    @Test("a secret is no argument, and no status, check or error holds it")
    func silence() async throws {
        let test = try await TestWorkspace()
        let refused = try await test.run(["secrets", "set", "token", "hunter2"])
        #expect(refused.status == .exited(64))
        _ = try await test.run(["secrets", "set", "token"], input: Array("hunter2".utf8))
        for command in [
            ["status", "--json"], ["check", "--deep"], ["secrets", "list", "--json"], ["doctor"],
        ] {
            let result = try await test.run(command)
            // Who followed that advice would move the account's secrets away.
            #expect(!result.lines.joined().contains("leftover"), "\(command)")
            #expect(!(result.lines + result.errors).joined().contains("hunter2"), "\(command)")
        }
    }

    @Test("a service reads the credentials that its manager gave it")
    func systemd() async throws {
        let test = try await TestWorkspace()
        let folder = try TemporaryFolder()
        try FileDescriptor(opening: folder.path("token"), [.writeOnly, .create])
            .write(Array("from-the-manager".utf8))
        let arguments = ["secrets", "get", "token", "--store", "systemd", "--root", test.root]
        let got = try await CommandRunner.run(
            arguments,
            environment: ["CREDENTIALS_DIRECTORY": folder.path]
        )
        #expect(got.lines == ["from-the-manager"], "\(got.errorText)")
        let without = try await CommandRunner.run(arguments)
        #expect(without.status == .exited(69))
    }

    @Test("a secret without an input is refused, and none is stored as empty")
    func withoutInput() async throws {
        let workspace = try await TestWorkspace()
        let words = [CommandRunner.program, "secrets", "set", "token", "--root", workspace.root]
        let shell = try RunningCommand(
            ["-c", words.map { "'\($0)'" }.joined(separator: " ") + " <&-"],
            program: "/bin/sh"
        )
        shell.closeInput()
        let ended = await shell.end()
        #expect(ended.status == .exited(74), "\(ended.errorText)")
        #expect(try await workspace.run(["secrets", "list"]).lines == [])
    }
}
