import LockkeeperPlatform
import LockkeeperSimulation
import Testing

/// A file system on a disk that can be made to fail: ext4 in a file of a memory file system that
/// holds far less than the file claims to. Where the memory is full, the kernel's writing back of
/// what was already taken fails, as on a disk that dies: `fdatasync` answers EIO.
private final class FailingDisk {
    private let folder: TemporaryFolder
    /// Where the file system is mounted.
    var path: String { folder.path("m") }
    private var filler: String { folder.path("t/filler") }

    /// Makes and mounts it. That takes root, loop devices and the right to mount.
    init() throws {
        folder = try TemporaryFolder()
        for name in ["t", "m"] { try FileSystem.makeDirectory(folder.path(name)) }
        try Self.run("mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", folder.path("t"))
        let image = folder.path("t/image")
        try Self.run("truncate", "-s", "400m", image)
        // Without a journal, whose failure would make the whole file system read-only.
        try Self.run("mkfs.ext4", "-q", "-F", "-O", "^has_journal", image)
        try Self.run("mount", "-o", "loop", image, path)
    }

    deinit {
        try? Self.run("umount", "-l", path)
        try? Self.run("umount", "-l", folder.path("t"))
    }

    /// From now on no block can be written that was not written before.
    func breakDown() throws {
        // What is under way gets its place; then the rest is taken.
        try Self.run("sync", "-f", path)
        try? Self.run("dd", "if=/dev/zero", "of=\(filler)", "bs=64k", "status=none")
    }

    func heal() throws { try Self.run("rm", filler) }

    struct Failed: Error {}

    private static func run(_ program: String, _ arguments: String...) throws {
        let child = try ChildProcess(program: program, arguments: arguments)
        guard try child.wait() == .exited(0) else { throw Failed() }
    }

    /// Whether a disk can be made here.
    static let isPossible: Bool = {
        guard Environment.userID == 0, (try? FailingDisk()) != nil else {
            print("No failing disk: that takes root, ext4 and loop devices.")
            return false
        }
        return true
    }()
}

@Suite("A disk whose syncs really fail (5.2)", .enabled(if: FailingDisk.isPossible))
struct FailingDiskTests {
    private func message(_ number: Int, byteCount: Int) -> [UInt8] {
        let body = String(repeating: "x", count: byteCount)
        return Array(
            (#"{"conversation":"c","id":"m-\#(number)","seq":\#(number),"sender":"s","#
                + #""sent_at":"2026-01-01T00:00:00Z","body":"\#(body)"}"# + "\n").utf8
        )
    }

    /// Whether a line acknowledges a batch; the summary at the end acknowledges nothing.
    private static func isReceipt(_ line: String) -> Bool {
        line.hasPrefix("{\"account\"") && line.contains("\"durable\":true")
    }

    @Test(
        "after the first failed sync nobody acknowledges anything, a new process included, until the copy is published; what was acknowledged before is there"
    )
    func failing() async throws {
        let disk = try FailingDisk()
        let arguments = ["--root", disk.path + "/w", "--account", "alice"]
        let added = try await CommandRunner.run(
            ["account", "add", "alice", "--activate", "--root", disk.path + "/w"]
        )
        try #require(added.status == .exited(0), "\(added.errorText)")
        let before = try await CommandRunner.run(
            ["ingest"] + arguments,
            input: (1...20).flatMap { message($0, byteCount: 10) }
        )
        #expect(before.status == .exited(0), "\(before.errorText)")

        let helper = try RunningCommand(["ingest"] + arguments)
        helper.send(message(21, byteCount: 10))
        #expect(await helper.nextLine() != nil)
        try disk.breakDown()
        var acknowledged = 21
        for number in 22...60 {
            helper.send(message(number, byteCount: 400_000))
            guard let line = await helper.nextLine(), Self.isReceipt(line) else {
                break
            }
            acknowledged = number
        }
        let end = await helper.end()
        #expect(end.status != .exited(0))
        #expect(end.errorText.contains("sync"), "\(end.errorText)")
        #expect(acknowledged < 60, "the disk took everything")

        // A new process meets the word, and cannot copy while the disk is broken.
        let refused = try await CommandRunner.run(
            ["ingest"] + arguments,
            input: message(61, byteCount: 10)
        )
        #expect(refused.status != .exited(0))
        #expect(refused.lines.allSatisfy { !Self.isReceipt($0) }, "\(refused.lines)")

        try disk.heal()
        let after = try await CommandRunner.run(
            ["ingest"] + arguments,
            input: message(62, byteCount: 10)
        )
        #expect(after.status == .exited(0), "\(after.errorText)")
        let files = try FileSystem.list(disk.path + "/w/accounts/alice")
        #expect(!files.contains("messages-1.db"), "\(files)")
        let export = try await CommandRunner.run(["export"] + arguments)
        for number in Array(1...acknowledged) + [62] {
            #expect(
                export.lines.contains { $0.contains("\"m-\(number)\"") },
                "message \(number) is lost"
            )
        }
        let check = try await CommandRunner.run(["check", "--deep"] + arguments)
        #expect(check.status == .exited(0), "\(check.lines)")
    }
}
