import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperSimulation
import LockkeeperTestSupport
import Testing

private let isWholeRun = Environment.variable("LOCKKEEPER_TEST_ALL") != nil

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

    /// Takes space until so many bytes are left.
    func fill(leaving byteCount: Int64) throws {
        let free = try FileSystem.freeBytes(at: path)
        try Self.run("fallocate", "-l", String(max(4096, free - byteCount)), path + "/ballast")
    }

    func free() throws { try FileSystem.remove(path + "/ballast") }

    /// Mounts the workspace over itself, read-only: what is open stays as it is.
    func bindReadOnly() throws {
        try Self.run("mount", "--bind", path + "/w", path + "/w")
        try Self.run("mount", "-o", "remount,ro,bind", path + "/w")
    }

    func unbind() throws { try Self.run("umount", "-l", path + "/w") }

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
    "A small disk that fills up: nothing lost, nothing doubled (5.8, I-6)",
    .enabled(if: SmallDisk.isPossible)
)
struct FullDiskTests {
    private static let text = String(repeating: "x", count: 40_000)

    private func insert(_ rows: Range<Int>, _ session: Session) async throws {
        try await session.database.write(durability: .durable) { transaction in
            for row in rows {
                try transaction.execute(
                    "INSERT INTO entry VALUES (?1, ?2)",
                    SQLValue(row),
                    SQLValue(Self.text)
                )
            }
        }
    }

    private func rows(_ session: Session) async throws -> Set<Int> {
        try await session.database.read { transaction in
            Set(try transaction.query("SELECT id FROM entry") { Int($0.integer(0)) })
        }
    }

    // B82, B84
    @Test(
        "rounds of fill, fail, free, retry: a full disk is told as that, reading and deleting work, the same batch succeeds"
    )
    func rounds() async throws {
        // A database's file does not become smaller, so that each disk is good for a few rounds.
        for _ in 0..<(isWholeRun ? 100 : 1) { try await fillAndFree(roundCount: 10) }
    }

    private func fillAndFree(roundCount: Int) async throws {
        let disk = try SmallDisk()
        var limits = Limits()
        // The log stays shorter than the reserve, as it is on a disk of the usual size.
        (limits.checkpointFrameCount, limits.checkpointFrameCountWithoutHost) = (32, 32)
        limits.logByteCountDegraded = 128 * 1024
        let workspace = try await Workspace.openApart(
            at: disk.path + "/w",
            name: "app",
            limits: limits
        )
        try await workspace.addAccount("alice")
        let alice = try await workspace.activate("alice")
        try await alice.database.write { transaction in
            try transaction.execute("CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT)")
        }
        var (expected, next): (Set<Int>, Int) = ([], 0)
        for round in 1...roundCount {
            // Space comes back from outside; in the last round only by deleting, with the reserve.
            let isLast = round == roundCount
            try await waitUntilLogIsShort(workspace)
            try disk.fill(leaving: isLast ? 150_000 : 400_000)
            var failed: Range<Int>?
            while failed == nil {
                let batch = next..<(next + 3)
                let before = try await alice.database.head()
                do {
                    try await insert(batch, alice)
                    expected.formUnion(batch)
                    next = batch.upperBound
                } catch let error as LockkeeperError {
                    #expect(error.code == .diskFull, "round \(round): \(error)")
                    failed = batch
                    #expect(try await rows(alice) == expected)
                    #expect(try await alice.database.head() == before)
                }
            }
            let batch = try #require(failed)
            // Whoever comes now can open and read.
            let helper = try await Workspace.openApart(at: disk.path + "/w", name: "helper")
            #expect(try await rows(helper.session("alice")) == expected)
            await helper.close()
            if !isLast { try disk.free() }
            let least = expected.sorted().prefix(expected.count / 2)
            if let last = least.last, isLast || expected.count > 40 {
                try await delete(through: last, alice)
                expected.subtract(least)
            }
            try await retrying { try await insert(batch, alice) }
            expected.formUnion(batch)
            next = batch.upperBound
            #expect(try await rows(alice) == expected, "round \(round)")
        }
        await workspace.close()
        let after = try await Workspace.openApart(at: disk.path + "/w", name: "after")
        #expect(try await rows(after.session("alice")) == expected)
        #expect(try await after.inspect("alice").isEmpty)
        await after.close()
    }

    /// The reserve is enough for a log that is shorter. A writer that never rests can be faster than the
    /// copying of its log; nothing tells when that has come to its end.
    private func waitUntilLogIsShort(_ workspace: Workspace) async throws {
        let deadline = Deadline(after: .seconds(60), from: SystemClock().now())
        while try await workspace.status().accounts[0].logByteCount > 256 * 1024 {
            try #require(!deadline.hasPassed(at: SystemClock().now()), "the log stays long")
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Deletes a few rows at a time: what is deleted is overwritten, which takes room in the log.
    private func delete(through last: Int, _ session: Session) async throws {
        var isDone = false
        while !isDone {
            isDone = try await retrying {
                try await session.database.write(usesReserve: true) { transaction in
                    try transaction.execute(
                        """
                        DELETE FROM entry WHERE id IN (
                            SELECT id FROM entry WHERE id <= ?1 ORDER BY id LIMIT 3)
                        """,
                        SQLValue(last)
                    )
                    return transaction.changes == 0
                }.value
            }
        }
    }

    /// The same again, as soon as the log was copied, which goes on beside.
    private func retrying<Value>(_ body: () async throws -> Value) async throws -> Value {
        let deadline = Deadline(after: .seconds(60), from: SystemClock().now())
        while true {
            do {
                return try await body()
            } catch let error as LockkeeperError where error.code == .diskFull {
                guard !deadline.hasPassed(at: SystemClock().now()) else { throw error }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    private func line(_ number: Int, byteCount: Int) -> [UInt8] {
        let text = String(repeating: "word ", count: byteCount / 5)
        return Array(
            (#"{"conversation":"c","id":"m-\#(number)","seq":\#(number),"sender":"s","#
                + #""sent_at":"2026-01-01T00:00:00Z","body":"\#(text)"}"# + "\n").utf8
        )
    }

    // B84
    @Test(
        "programs that start on a full disk read, search and say so; a push is kept as a file, deleting works, and later the same lines are stored"
    )
    func programs() async throws {
        let disk = try SmallDisk()
        let root = disk.path + "/w"
        func run(_ arguments: [String], _ input: [UInt8] = []) async throws -> CommandRunner.Result
        {
            try await CommandRunner.run(arguments + ["--root", root], input: input)
        }
        let alice = ["--account", "alice"]
        let added = try await run(["account", "add", "alice", "--activate"])
        try #require(added.status == .exited(0), "\(added.errorText)")
        let first = (1...100).flatMap { line($0, byteCount: 2000) }
        #expect(try await run(["ingest"] + alice, first).status == .exited(0))
        try disk.fill(leaving: 0)
        let large = line(101, byteCount: 400_000)
        let refused = try await run(["ingest", "--json"] + alice, large)
        #expect(refused.status == .exited(74))
        #expect(refused.errorText.contains(#""code":"diskFull""#), "\(refused.errorText)")
        for (command, count) in [
            (["export"], 100), (["timeline", "c", "--limit", "10"], 10),
            (["search", "word", "--limit", "5"], 5),
        ] {
            let read = try await run(command + alice)
            #expect(read.status == .exited(0), "\(command): \(read.errorText)")
            #expect(read.lines.count == count, "\(command): \(read.lines.count)")
        }
        let doctor = try await run(["doctor"] + alice)
        #expect(doctor.status == .exited(1))
        #expect(doctor.lines.contains { $0.hasPrefix("disk-low: ") }, "\(doctor.lines)")
        let push = try await run(["ingest", "--deliver"] + alice, large)
        #expect(push.status == .exited(0), "\(push.errorText)")
        #expect(try push.summary.int("kept") == 1)
        for number in 1...3 {
            let deleted = try await run(["delete", "c", "m-\(number)"] + alice)
            #expect(deleted.status == .exited(0), "\(deleted.errorText)")
        }
        try disk.free()
        #expect(try await run(["ingest"] + alice, large).status == .exited(0))
        #expect(try await run(["inbox", "list"] + alice).lines == [])
        #expect(try await run(["timeline", "c", "--limit", "200"] + alice).lines.count == 98)
        let check = try await run(["check", "--deep"] + alice)
        #expect(check.status == .exited(0), "\(check.lines)")
    }

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
        #expect(refused.errorText.contains("mounted read-only"), "\(refused.errorText)")
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

extension FullDiskTests {
    /// A workspace on a small disk whose messages have a page of rubbish.
    private func damaged(_ disk: SmallDisk) async throws -> (root: String, path: String) {
        let root = disk.path + "/w"
        let added = try await CommandRunner.run(
            ["account", "add", "alice", "--activate", "--root", root]
        )
        try #require(added.status == .exited(0), "\(added.errorText)")
        let lines = (1...200).flatMap { line($0, byteCount: 500) }
        let stored = try await CommandRunner.run(["ingest", "--root", root], input: lines)
        try #require(stored.status == .exited(0), "\(stored.errorText)")
        let path = root + "/accounts/alice/messages-1.db"
        let connection = try openWithSQLiteAlone(path)
        _ = try connection.checkpoint(.truncate)
        let count = try connection.value("PRAGMA page_count")?.integer ?? 0
        try connection.close()
        let rubbish = [UInt8](repeating: 0xa5, count: 4096)
        try FileDescriptor(opening: path, [.readWrite]).write(rubbish, at: (count / 2) * 4096)
        return (root, path)
    }

    /// Everything in the account's folder that a repair may touch.
    private func files(_ root: String) throws -> [String: [UInt8]] {
        let folder = root + "/accounts/alice"
        let names = try FileSystem.list(folder).filter { name in
            (name.contains(".db") && !name.hasSuffix("-shm")) || name == "damaged"
        }
        return try Dictionary(
            uniqueKeysWithValues: names.map { name in
                (name, name == "damaged" ? [] : try FileSystem.contents(of: "\(folder)/\(name)"))
            }
        )
    }

    // B84
    @Test("a repair on a full disk says so and moves nothing")
    func repairOnFullDisk() async throws {
        let disk = try SmallDisk()
        let (root, _) = try await damaged(disk)
        let before = try files(root)
        try disk.fill(leaving: 100_000)
        let repair = try await CommandRunner.run(["repair", "alice", "--root", root])
        #expect(repair.status == .exited(74), "\(repair.lines)")
        #expect(repair.errorText.contains("Nothing was changed. Free space"), "\(repair.errorText)")
        #expect(try files(root) == before)
    }

    // B84
    @Test(
        "a repair without descriptors or rights says so and changes nothing, or is gone on with",
        .enabled(if: Self.hasOtherUser)
    )
    func repairRefused() async throws {
        let folder = try TemporaryFolder()
        let disk = try SmallDisk()
        let (source, _) = try await damaged(disk)
        // An 8 MiB disk has no room for a repair.
        let root = folder.path("w")
        #expect(
            try ChildProcess(program: "cp", arguments: ["-a", source, root]).wait() == .exited(0)
        )
        let before = try files(root)
        let refused = try await CommandRunner.asOther(["repair", "alice", "--root", root])
        #expect(refused.status == .exited(77), "\(refused.errorText) \(refused.lines)")
        #expect(try files(root) == before)
        var refusedCount = 0
        for limit in stride(from: 8, through: 44, by: 4) {
            let repair = try await CommandRunner.limited(
                ["repair", "alice", "--root", root],
                input: "",
                descriptorCount: limit
            )
            if [.exited(0), .exited(1)].contains(repair.status) { break }
            refusedCount += 1
            #expect(repair.status == .exited(74), "\(limit): \(repair.errorText)")
            #expect(repair.errorText.contains("open files"), "\(limit): \(repair.errorText)")
        }
        #expect(refusedCount > 0)
        let export = try await CommandRunner.run(["export", "--root", root])
        #expect(export.status == .exited(0), "\(export.errorText)")
        #expect(export.lines.count > 150 && export.lines.count <= 200)
        let check = try await CommandRunner.run(["check", "--deep", "--root", root])
        #expect(check.status == .exited(0), "\(check.lines)")
    }

    private static var hasOtherUser: Bool {
        (try? FileSystem.status("/usr/bin/setpriv")) != nil
    }

    @Test(
        "a mount that becomes read-only under an open session stops nothing that is open, and is told to who comes"
    )
    func readOnlyBind() async throws {
        let disk = try SmallDisk()
        let root = disk.path + "/w"
        let app = try await Workspace.openApart(at: root, name: "app")
        try await app.addAccount("alice")
        let alice = try await app.activate("alice")
        try await alice.database.write {
            try $0.execute("CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT)")
        }
        try await insert(0..<3, alice)
        try disk.bindReadOnly()
        defer { try? disk.unbind() }
        let refused = try await CommandRunner.run(["export", "--account", "alice", "--root", root])
        #expect(refused.status == .exited(77), "\(refused.errorText)")
        #expect(refused.errorText.contains("mounted read-only"), "\(refused.errorText)")
        var stored = 3
        do {
            try await insert(3..<6, alice)
            stored = 6
        } catch let error as LockkeeperError {
            #expect([.permissionDenied, .ioFailed].contains(error.code), "\(error)")
        }
        try disk.unbind()
        await app.close()
        let after = try await Workspace.openApart(at: root, name: "after")
        #expect(try await rows(after.session("alice")) == Set(0..<stored))
        #expect(try await after.inspect("alice").isEmpty)
        await after.close()
    }
}

extension CommandRunner {
    /// Runs the program as a user to whom nothing belongs.
    fileprivate static func asOther(_ arguments: [String]) async throws -> Result {
        let command = try RunningCommand(
            ["--reuid=65534", "--clear-groups", program] + arguments,
            program: "/usr/bin/setpriv"
        )
        command.closeInput()
        return await command.end()
    }

    /// Runs the program with hardly any descriptors.
    fileprivate static func limited(
        _ arguments: [String],
        input: String,
        descriptorCount: Int = 9
    ) async throws -> Result {
        let command = try RunningCommand(
            ["-c", "ulimit -n \(descriptorCount); exec \"$0\" \"$@\"", program] + arguments,
            program: "/bin/sh"
        )
        command.send(Array(input.utf8), lineCount: 0)
        command.closeInput()
        return await command.end()
    }
}
