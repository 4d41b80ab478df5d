import Glibc
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import LockkeeperTestSupport
import Testing

@Suite("Readers, foreign programs and large logs, between real processes")
struct LogProcessTests {
    /// Prints the pid of an export whose output nobody takes, so that it stands inside its read
    /// transaction until a line comes.
    private static let heldExport = """
        import subprocess, sys
        export = subprocess.Popen(
            [sys.argv[1], "export", "--root", sys.argv[2]], stdout=subprocess.PIPE)
        export.stdout.read(1)
        print(export.pid, flush=True)
        sys.stdin.readline()
        export.stdout.read()
        """

    /// Holds a read transaction as any program can.
    private static let foreignReader = """
        import sqlite3, sys
        database = sqlite3.connect(sys.argv[1], isolation_level=None)
        database.execute("BEGIN")
        database.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        print("ready", flush=True)
        sys.stdin.readline()
        """

    private func python(_ script: String, _ arguments: [String]) throws -> RunningCommand {
        try RunningCommand(["-c", script] + arguments, program: "python3")
    }

    private func messages(_ numbers: ClosedRange<Int>, bodyByteCount: Int = 200) -> String {
        let body = String(repeating: "b", count: bodyByteCount)
        return numbers.map {
            #"{"conversation":"c","id":"m-\#($0)","seq":\#($0),"sender":"s","#
                + #""sent_at":"2026-01-01T00:00:00Z","body":"\#(body)"}"#
        }.joined(separator: "\n")
    }

    private func account(_ workspace: TestWorkspace) async throws -> PrintedObject {
        let status = try await workspace.run(["status", "--json"])
        #expect(status.status == .exited(0), "\(status.errorText)")
        return try #require(try PrintedObject(status.lines[0]).objects("accounts").first)
    }

    private func database(_ workspace: TestWorkspace) -> String {
        "\(workspace.root)/accounts/alice/messages-1.db"
    }

    @Test(
        "status names a process that pins the log by what it reads and since when, also a stopped one"
    )
    func pins() async throws {
        let workspace = try await TestWorkspace()
        #expect(try await workspace.ingest(messages(1...2_000)).status == .exited(0))
        let holder = try python(Self.heldExport, [CommandRunner.program, workspace.root])
        let pid = try #require(Int32(await holder.nextLine() ?? ""))
        var pin: PrintedObject?
        let deadline = patience()
        while pin?.string("reads") == nil, !deadline.hasPassed(at: SystemClock().now()) {
            pin = try await account(workspace).objects("pins").first
        }
        #expect(pin?.int("pid") == Int(pid) && pin?.string("reads") == "export")
        #expect(pin?.string("role") == "tool" && pin?.has("age_ms") == true)
        #expect(kill(pid, Signal.stop.rawValue) == 0)
        var condition: String?
        while condition != "stopped", !deadline.hasPassed(at: SystemClock().now()) {
            condition = try await account(workspace).objects("pins").first?.string("condition")
        }
        #expect(condition == "stopped")
        let people = try await workspace.run(["status"])
        #expect(
            people.lines.contains {
                $0.contains("log pinned by pid \(pid)") && $0.contains("export for")
                    && $0.contains("stopped")
            },
            "\(people.lines)"
        )
        #expect(kill(pid, Signal.resume.rawValue) == 0)
        holder.send(Array("\n".utf8))
        #expect(await holder.end().status == .exited(0))
        #expect(try await account(workspace).objects("pins").isEmpty)
    }

    @Test(
        "a program that has the database open without Lockkeeper is named by status and check (I-10)"
    )
    func foreign() async throws {
        let workspace = try await TestWorkspace()
        #expect(try await workspace.ingest(messages(1...10)).status == .exited(0))
        try await workspace.expectSound()
        let program = try python(Self.foreignReader, [database(workspace)])
        #expect(await program.nextLine() == "ready")
        let account = try await account(workspace)
        let found = try #require(account.objects("foreign_processes").first)
        #expect(found.int("pid") == Int(program.process.pid))
        #expect(found.string("program")?.hasPrefix("python") == true)
        let status = try await workspace.run(["status"])
        #expect(status.lines.contains { $0.contains("I-10 is not guaranteed") })
        #expect(status.lines.contains { $0.contains("the exclusion of checkpoints is on") })
        let check = try await workspace.run(["check", "--json"])
        #expect(check.status == .exited(1), "\(check.errorText)")
        #expect(check.lines.count == 1)
        let finding = try PrintedObject(try #require(check.lines.first))
        #expect(finding.string("code") == "foreign-process")
        #expect(finding.string("subject") == "pid \(program.process.pid)")
        #expect(check.errorText.contains("the exclusion of checkpoints is on"))
        program.send(Array("\n".utf8))
        _ = await program.end()
        // It was the last to close, and took the log away. That nothing was lost with it nobody can
        // see, so it is said until a person says it.
        let after = try await workspace.run(["check", "--json"])
        #expect(after.status == .exited(1), "\(after.errorText)")
        let codes = try after.lines.map { try PrintedObject($0).string("code") }
        #expect(codes == ["log-missing"])
        #expect(try await workspace.ingest(messages(11...11)).status == .exited(0))
        #expect(try await workspace.run(["check"]).status == .exited(1))
        let accepted = try await workspace.run(["repair", "alice", "--accept-log"])
        #expect(accepted.status == .exited(0), "\(accepted.errorText)")
        #expect(
            accepted.lines == ["account alice: the missing log of messages is no finding any more"]
        )
        try await workspace.expectSound()
    }

    @Test("check finds a missing file, whichever it is, and is no error of permission")
    func missing() async throws {
        let workspace = try await TestWorkspace()
        #expect(try await workspace.ingest(messages(1...10)).status == .exited(0))
        for kind in ["settings", "messages"] {
            let path = "\(workspace.root)/accounts/alice/\(kind)-1.db"
            try FileSystem.rename(path, to: path + ".away")
            let check = try await workspace.run(["check", "--json"])
            #expect(check.status == .exited(1), "\(check.errorText)")
            let finding = try PrintedObject(try #require(check.lines.first))
            #expect(finding.string("code") == "file-missing")
            #expect(finding.string("subject") == path)
            let ingest = try await workspace.ingest(messages(11...11))
            #expect(ingest.status == .exited(74), "\(ingest.errorText)")
            #expect(ingest.errorText.contains("is not there"))
            try FileSystem.rename(path + ".away", to: path)
        }
        try await workspace.expectSound()
    }

    // B19: a log that was left behind large, and the next start that is killed over it again and
    // again.
    @Test(
        "B19: a large log that a killed process left is opened soon, and starts that are killed converge"
    )
    func leftLog() async throws {
        let workspace = try await TestWorkspace()
        let isLong = Environment.variable("LOCKKEEPER_TEST_ALL") == "1"
        let messageCount = isLong ? 200_000 : 20_000
        // A reader that was there first keeps the log from being copied.
        let reader = try python(Self.foreignReader, [database(workspace)])
        #expect(await reader.nextLine() == "ready")
        let writer = try workspace.start(["ingest", "--json"])
        writer.send(Array(messages(1...messageCount).utf8) + [UInt8(ascii: "\n")])
        var storedCount = 0
        while storedCount < messageCount, let line = await writer.nextLine() {
            storedCount += try PrintedObject(line).int("events") ?? 0
        }
        try writer.process.signal(.kill)
        _ = await writer.end()
        try reader.process.signal(.kill)
        _ = await reader.end()
        let log = database(workspace) + "-wal"
        let byteCount = try #require(try FileSystem.status(log)).size
        #expect(byteCount > Int64(messageCount) * 400, "\(byteCount)")
        // Reading the log once is what SQLite must do; a start that copied it on the way would be
        // stopped at any of these points and begin anew.
        let clock = SystemClock()
        for round in 1...5 {
            let start = try workspace.start(["ingest", "--json"])
            clock.sleep(until: Deadline(after: .milliseconds(20 * round), from: clock.now()))
            try start.process.signal(.kill)
            _ = await start.end()
        }
        let began = clock.now()
        let next = try await workspace.ingest(messages((messageCount + 1)...(messageCount + 1)))
        let duration = clock.now().duration(since: began)
        #expect(next.status == .exited(0), "\(next.errorText)")
        // The bound that opening states: Limits.openWaitMax.
        #expect(duration < .seconds(30))
        print("B19: \(byteCount) bytes of log, the next start and commit took \(duration)")
        let export = try await workspace.run(["export"])
        #expect(export.lines.count == messageCount + 1)
        try await workspace.expectSound()
        // A host that has nothing else to do makes the log short.
        let host = try workspace.start(["host"])
        _ = await host.nextLine()
        #expect(
            try await becomesTrue { try (FileSystem.status(log)?.size ?? 0) == 0 }
        )
        try host.process.signal(.terminate)
        #expect(await host.end().status == .exited(0))
    }

    private func becomesTrue(_ condition: () throws -> Bool) async throws -> Bool {
        let deadline = Deadline(after: .seconds(60), from: SystemClock().now())
        while !deadline.hasPassed(at: SystemClock().now()) {
            if try condition() { return true }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }
}
