import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

/// A file system in memory of 8 MiB. Making one takes root.
private final class SmallDisk {
    private let folder: TemporaryFolder
    /// Where it is mounted.
    var path: String { folder.path("m") }

    init() throws {
        folder = try TemporaryFolder()
        try FileSystem.makeDirectory(folder.path("m"))
        try Self.run("mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs", path)
    }

    deinit { try? Self.run("umount", "-l", path) }

    func remount(_ mode: String) throws { try Self.run("mount", "-o", "remount,\(mode)", path) }

    private struct Failed: Error {}

    private static func run(_ program: String, _ arguments: String...) throws {
        let child = try ChildProcess(program: program, arguments: arguments)
        guard try child.wait() == .exited(0) else { throw Failed() }
    }

    static let isPossible: Bool = {
        guard Environment.userID == 0, (try? SmallDisk()) != nil else {
            print("No small disk: that takes root.")
            return false
        }
        return true
    }()
}

@Suite(
    "A small disk that takes no more (5.8)",
    .enabled(if: SmallDisk.isPossible)
)
struct FullDiskTests {
    @Test(
        "a disk that is read-only, and too few open files, are told as that, and nothing is damaged"
    )
    func otherRefusals() async throws {
        let disk = try SmallDisk()
        let root = disk.path + "/w"
        let arguments = ["--root", root, "--account", "alice"]
        let added = try await CommandRunner.run(
            ["account", "add", "alice", "--activate", "--root", root]
        )
        try #require(added.status == .exited(0), "\(added.errorText)")
        let line =
            #"{"conversation":"c","id":"m","seq":1,"sender":"s","sent_at":"2026-01-01T00:00:00Z","#
            + #""body":"b"}"# + "\n"
        try disk.remount("ro")
        let refused = try await CommandRunner.run(["ingest"] + arguments, input: line)
        #expect(refused.status == .exited(77), "\(refused.errorText)")
        try disk.remount("rw")
        let limited = try await CommandRunner.limited(["ingest"] + arguments, input: line)
        #expect(limited.status == .exited(74), "\(limited.errorText)")
        #expect(limited.errorText.contains("open files"), "\(limited.errorText)")
        let stored = try await CommandRunner.run(["ingest"] + arguments, input: line)
        #expect(stored.status == .exited(0), "\(stored.errorText)")
        let check = try await CommandRunner.run(["check", "--deep"] + arguments)
        #expect(check.status == .exited(0), "\(check.lines)")
    }
}

extension CommandRunner {
    /// Runs the program with hardly any descriptors.
    fileprivate static func limited(
        _ arguments: [String],
        input: String
    ) async throws -> Result {
        let command = try RunningCommand(
            ["-c", "ulimit -n 9; exec \"$0\" \"$@\"", program] + arguments,
            program: "/bin/sh"
        )
        command.send(Array(input.utf8), lineCount: 0)
        command.closeInput()
        return await command.end()
    }
}
