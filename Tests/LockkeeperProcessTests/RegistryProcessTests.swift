import Glibc
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

/// The registry of a workspace is lost while the program's processes have it open, and while none does.
@Suite("A lost registry is made anew by whichever command comes first, and running ones go on")
struct RegistryProcessTests {
    private static let line =
        #"{"conversation":"c","id":"ID","seq":1,"sender":"s","sent_at":"2026-01-01T00:00:00Z","#
        + #""body":"b"}"# + "\n"

    private func line(_ number: Int) -> String {
        Self.line.replacing("ID", with: "m\(number)").replacing(
            #""seq":1"#,
            with: #""seq":\#(number)"#
        )
    }

    /// How it is lost: removed, or overwritten in place, as a broken disk or program does it.
    private func lose(_ path: String, byRemoving: Bool) throws {
        if byRemoving { return _ = try FileSystem.remove(path) }
        let file = try FileDescriptor(opening: path, [.writeOnly, .truncate])
        try file.write(Array(repeating: UInt8(0x5a), count: 5000))
    }

    @Test(
        "with the accounts, their states, own ids and contracts as they were",
        arguments: [true, false]
    )
    func nobodyThere(byRemoving: Bool) async throws {
        let workspace = try await TestWorkspace(
            accountOptions: ["--own-id", "u1", "--retention", "drops", "--order", "ties"]
        )
        _ = try await workspace.run(["account", "add", "bob", "--own-id", "é"])
        _ = try await workspace.ingest(line(1))
        // A new workspace has lost none.
        let fresh = try await workspace.run(["status"])
        #expect(fresh.errors == [] && !fresh.lines.contains { $0.hasPrefix("registry:") })
        let before = try await workspace.run(["account", "list", "--json"]).lines
        try lose("\(workspace.root)/workspace.db", byRemoving: byRemoving)
        let after = try await workspace.run(["account", "list", "--json"])
        #expect(after.status == .exited(0), "\(after.errorText)")
        #expect(after.lines == before)
        // It is said once by who did it, and by every status from then on.
        #expect(after.errors.count { $0.contains("was lost and has been made anew") } == 1)
        let later = try await workspace.run(["status"])
        #expect(later.errors == [])
        let said = "registry: was lost, and made anew of the accounts' own files at 2"
        #expect(later.lines.contains { $0.hasPrefix(said) }, "\(later.lines)")
        let again = try await workspace.ingest(line(1))
        #expect(try again.summary.int("duplicate") == 1)
        let isKept = try FileSystem.status("\(workspace.root)/damaged/workspace-1.db") != nil
        #expect(isKept == !byRemoving)
        try await workspace.expectSound()
    }

    @Test(
        "a host and a helper that have it open go on, and a switch afterwards reaches them",
        arguments: [true, false]
    )
    func processesThere(byRemoving: Bool) async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.run(["account", "add", "bob"])
        let host = try workspace.start(["host"])
        #expect(await host.nextLine()?.contains("ready") == true)
        let helper = try workspace.start(["ingest", "--name", "helper"])
        helper.send(Array(line(1).utf8))
        #expect(await helper.nextLine()?.contains(#""inserted":1"#) == true)
        try lose("\(workspace.root)/workspace.db", byRemoving: byRemoving)
        helper.send(Array(line(2).utf8))
        #expect(await helper.nextLine()?.contains(#""inserted":1"#) == true)
        let status = try await workspace.run(["status", "--json"])
        #expect(status.status == .exited(0), "\(status.errorText)")
        let switched = try await workspace.run(["switch", "bob"])
        #expect(switched.status == .exited(0), "\(switched.errorText)")
        helper.send(Array(line(3).utf8))
        #expect(await helper.end().status == .exited(76))
        let list = try await workspace.run(["account", "list"]).lines
        #expect(list.map { $0.split(separator: " ")[1] } == ["retired", "active"])
        try host.process.signal(.terminate)
        #expect(await host.end().status == .exited(0))
        try await workspace.expectSound()
    }

    @Test("by one of many commands that start at once")
    func manyAtOnce() async throws {
        let workspace = try await TestWorkspace()
        try lose("\(workspace.root)/workspace.db", byRemoving: false)
        let lists = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<8 {
                group.addTask { try await workspace.run(["account", "list"]).lines }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(lists == Array(repeating: ["alice  active  generation 2"], count: 8))
        let kept = try FileSystem.list("\(workspace.root)/damaged")
        #expect(kept.filter { $0.hasSuffix(".db") } == ["workspace-1.db"])
    }
}

@Suite("account remove")
struct AccountRemovalProcessTests {
    private static let line =
        #"{"conversation":"c","id":"m1","seq":1,"sender":"s","sent_at":"2026-01-01T00:00:00Z","#
        + #""body":"the text that must go"}"# + "\n"

    @Test("is refused without --yes; with it the account's files are gone, and no other account's")
    func remove() async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.run(["account", "add", "bob", "--activate"])
        for account in ["alice", "bob"] {
            let stored = try await workspace.ingest(Self.line, ["--account", account])
            #expect(stored.status == .exited(0))
        }
        let refused = try await workspace.run(["account", "remove", "alice"])
        #expect(refused.status == .exited(64))
        #expect(refused.errorText.contains("--yes"))
        #expect(try await workspace.run(["account", "list"]).lines.count == 2)
        let removed = try await workspace.run(["account", "remove", "alice", "--yes", "--json"])
        #expect(removed.status == .exited(0), "\(removed.errorText)")
        #expect(removed.lines == [#"{"v":1,"account":"alice","removed":true}"#])
        #expect(try FileSystem.list("\(workspace.root)/accounts/alice") == ["account.locks"])
        #expect(try await workspace.run(["account", "list"]).lines.count == 1)
        let unknown = try await workspace.run(["account", "remove", "alice", "--yes"])
        #expect(unknown.status == .exited(67))
        try await workspace.expectSound(account: "bob")
        let again = try await workspace.run(["account", "add", "alice", "--activate"])
        #expect(again.status == .exited(0), "\(again.errorText)")
        let stored = try await workspace.ingest(Self.line, ["--account", "alice"])
        #expect(try stored.summary.int("inserted") == 1)
    }

    @Test(
        "a host, a helper and a follower that have the account open are told, and make nothing anew"
    )
    func openElsewhere() async throws {
        let workspace = try await TestWorkspace()
        let host = try workspace.start(["host"])
        #expect(await host.nextLine()?.contains("ready") == true)
        let helper = try workspace.start(["ingest", "--name", "helper"])
        helper.send(Array(Self.line.utf8))
        #expect(await helper.nextLine()?.contains(#""inserted":1"#) == true)
        let follower = try workspace.start(["tail"])
        let removed = try await workspace.run(["account", "remove", "alice", "--yes"])
        #expect(removed.status == .exited(0), "\(removed.errorText)")
        helper.send(Array(Self.line.utf8))
        let end = await helper.end()
        #expect(end.status == .exited(67), "\(end.errorText)")
        #expect(end.errorText.contains("was removed"))
        #expect(await follower.end().status == .exited(67))
        #expect(try FileSystem.list("\(workspace.root)/accounts/alice") == ["account.locks"])
        let next = try await workspace.run(["account", "list"])
        #expect(next.status == .exited(0) && next.lines == [])
        try host.process.signal(.terminate)
        #expect(await host.end().status == .exited(0))
        #expect(try FileSystem.list("\(workspace.root)/accounts/alice") == ["account.locks"])
    }

    @Test("a stopped helper is named with its state, and nothing was removed")
    func stopped() async throws {
        let workspace = try await TestWorkspace()
        let helper = try workspace.start(["ingest", "--name", "helper"])
        helper.send(Array(Self.line.utf8))
        #expect(await helper.nextLine()?.contains(#""inserted":1"#) == true)
        try helper.process.signal(.stop)
        let refused = try await workspace.run(["account", "remove", "alice", "--yes"])
        #expect(refused.status == .exited(75))
        #expect(refused.errorText.contains("pid \(helper.process.pid)"), "\(refused.errorText)")
        #expect(refused.errorText.contains("stopped"), "\(refused.errorText)")
        try helper.process.signal(.resume)
        helper.send(Array(Self.line.utf8))
        #expect(await helper.nextLine()?.contains(#""duplicate":1"#) == true)
        helper.closeInput()
        #expect(await helper.end().status == .exited(0))
        try await workspace.expectSound()
    }
}
