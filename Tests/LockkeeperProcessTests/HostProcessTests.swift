import LockkeeperPlatform
import LockkeeperSimulation
import Testing

@Suite("Host, follower and switch as processes")
struct HostProcessTests {
    private func message(_ number: Int) -> [UInt8] {
        Array(
            (#"{"conversation":"c","id":"m-\#(number)","seq":\#(number),"sender":"s","#
                + #""sent_at":"2026-01-01T00:00:00Z","body":"b"}"# + "\n").utf8
        )
    }

    @Test("a host says that it serves, refuses a second one with its pid, and ends when asked to")
    func host() async throws {
        let folder = try TemporaryFolder()
        let root = folder.path("w")
        let host = try RunningCommand(["host", "--account", "alice", "--create", "--root", root])
        let ready = try PrintedObject(try #require(await host.nextLine())).object("ready")
        #expect(ready.int("pid") == Int(host.process.pid))
        #expect(ready.string("root") == root && ready.string("account") == "alice")

        let second = try await CommandRunner.run(["host", "--root", root])
        #expect(second.status == .exited(69))
        #expect(second.errorText.contains("pid \(host.process.pid)"))

        try host.process.signal(.terminate)
        let end = await host.end()
        #expect(end.status == .exited(0), "\(end.errorText)")
        // Its locks went with it: the next one serves.
        let next = try RunningCommand(["host", "--root", root])
        #expect(await next.nextLine()?.contains("ready") == true)
        try next.process.signal(.interrupt)
        #expect(await next.end().status == .exited(0))
    }

    @Test(
        "^Z stops a host with no file of the workspace open, and SIGCONT lets it serve again (B10)"
    )
    func suspension() async throws {
        let workspace = try await TestWorkspace()
        let host = try workspace.start(["host"])
        _ = await host.nextLine()
        _ = try await workspace.run(["ingest"], input: message(1))
        let pid = host.process.pid
        let open = {
            try FileSystem.list("/proc/\(pid)/fd").filter { number in
                let target = try? FileSystem.canonicalPath("/proc/\(pid)/fd/\(number)")
                return target?.hasPrefix(workspace.root) == true
            }
        }
        #expect(try !open().isEmpty)
        try host.process.signal(.terminalStop)
        let identity = try #require(try ProcessIdentity.read(pid: pid))
        while try identity.condition() != .stopped { await Task.yield() }
        #expect(try open() == [])
        let meanwhile = try await workspace.run(["ingest"], input: message(2))
        #expect(meanwhile.status == .exited(0), "\(meanwhile.errorText)")
        try host.process.signal(.resume)
        // It is the host again once it holds HOST.
        var server: Int?
        while server != Int(pid) {
            let status = try await workspace.run(["status", "--json"])
            server = try PrintedObject(status.lines.joined()).int("host_pid")
        }
        let second = try await workspace.run(["host"])
        #expect(second.status == .exited(69))
        try host.process.signal(.terminate)
        #expect(await host.end().status == .exited(0))
    }

    @Test(
        "a follower sees every commit once, with and without a host, and ends with the switch (I-7)"
    )
    func tail() async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.run(["ingest"], input: message(1))
        let first = try await workspace.run(["export"])
        #expect(first.lines.count == 1)

        let helper = try workspace.start(["ingest", "--account", "alice", "--name", "push"])
        let tail = try workspace.start(["tail"])
        // A follower without a position begins at the head that it finds; a commit that it reports
        // says that it has begun.
        var number = 2
        var ranges: [PrintedObject] = []
        helper.send(message(number))
        _ = await helper.nextLine()
        let host = try workspace.start(["host"])
        _ = await host.nextLine()
        while ranges.count < 3 {
            number += 1
            helper.send(message(number))
            _ = await helper.nextLine()
            let line = try #require(await tail.nextLine())
            ranges.append(try PrintedObject(line))
        }
        let range = try #require(ranges.last)
        #expect(range.string("account") == "alice")
        let position = try #require(range.string("position"))
        let switched = try await workspace.run(["switch", "bob", "--create"])
        #expect(switched.status == .exited(0), "\(switched.errorText)")
        let end = await tail.end()
        #expect(end.status == .exited(76), "\(end.errorText)")
        helper.closeInput()
        _ = await helper.end()
        try host.process.signal(.terminate)
        #expect(await host.end().status == .exited(0))

        // The position belongs to alice's store; in bob's it means nothing.
        let other = try await workspace.run(["tail", "--after", position])
        #expect(other.status == .exited(75), "\(other.errorText)")
    }

    // B37: nothing but the kernel's locks says that a host or a helper lives.
    @Test(
        "after SIGKILL of the host a helper ingests as always, and after its own a host serves at once"
    )
    func killed() async throws {
        let workspace = try await TestWorkspace()
        let host = try workspace.start(["host"])
        _ = try #require(await host.nextLine())
        try host.process.signal(.kill)
        _ = await host.end()
        let helper = try workspace.start(["ingest", "--name", "push"])
        helper.send(message(1))
        let receipt = try PrintedObject(try #require(await helper.nextLine()))
        #expect(receipt.int("inserted") == 1)

        // In the middle of its input, whatever it holds at that moment.
        for number in 2...200 { helper.send(message(number)) }
        try helper.process.signal(.kill)
        _ = await helper.end()
        let next = try workspace.start(["host"])
        #expect(await next.nextLine()?.contains("ready") == true)
        let again = try await workspace.run(["ingest"], input: message(201))
        #expect(again.status == .exited(0), "\(again.errorText)")
        #expect(try again.summary.int("inserted") == 1)
        try next.process.signal(.terminate)
        #expect(await next.end().status == .exited(0))
        try await workspace.expectSound()
    }

    @Test("a follower that begins at a position sees all that came after it and then ends")
    func after() async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.run(["ingest"], input: message(1))
        let status = try await workspace.run(["status", "--json"])
        let account = try #require(try PrintedObject(status.lines[0]).objects("accounts").first)
        let head = try #require(account.string("head"))
        _ = try await workspace.run(["ingest"], input: message(2))
        let tail = try await workspace.run(["tail", "--count", "1", "--after", head])
        #expect(tail.status == .exited(0), "\(tail.errorText)")
        #expect(tail.lines.count == 1 && tail.lines[0].contains(#""topics":["c"]"#))
        #expect(tail.lines[0].contains(#""origins":["ingest"]"#))
    }

    @Test("switching to the active account changes nothing, signing in again supersedes")
    func switching() async throws {
        let workspace = try await TestWorkspace()
        let same = try await workspace.run(["switch", "alice"])
        #expect(same.status == .exited(0) && same.lines == ["alice  active  generation 2"])
        let anew = try await workspace.run(["account", "activate", "alice"])
        #expect(anew.lines == ["alice  active  generation 3"])
        let unknown = try await workspace.run(["switch", "bob"])
        #expect(unknown.status == .exited(67))
        #expect(try await workspace.run(["account", "list"]).lines == anew.lines)
    }

    @Test("an export is imported to the same bytes, and a retired account can still be exported")
    func export() async throws {
        let workspace = try await TestWorkspace()
        let events = """
            {"conversation":"c","id":"1","seq":1,"sender":"s","sent_at":"2026-01-01T00:00:00Z","body":"a"}
            {"type":"edit","conversation":"c","id":"1","version":2,"body":"b","x":[1, 2]}
            {"conversation":"c","id":"2","seq":2,"sender":"s","sent_at":"2026-01-01T00:00:00Z","body":"z"}
            {"type":"recall","conversation":"c","id":"2","version":2}
            {"type":"edit","conversation":"c","id":"3","version":2,"body":"waits"}
            {"type":"read","conversation":"c","seq":1}
            {"type":"page","stream":"inbox","after":null,"next":"k"}
            """
        #expect(try await workspace.ingest(events).status == .exited(0))
        #expect(try await workspace.run(["unread", "c"]).lines == ["0\tc"])
        #expect(try await workspace.run(["read", "c", "2"]).status == .exited(0))
        #expect(try await workspace.run(["switch", "bob", "--create"]).status == .exited(0))
        let alice = try await workspace.run(["export", "--cursors", "--account", "alice"])
        #expect(alice.status == .exited(0) && alice.lines.count == 6, "\(alice.lines)")
        let imported = try await workspace.ingest(alice.lines.joined(separator: "\n"))
        #expect(imported.status == .exited(0), "\(imported.errorText)")
        let bob = try await workspace.run(["export", "--cursors"])
        #expect(bob.lines == alice.lines)
        try await workspace.expectSound(account: "bob")
    }
}
