import Foundation
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import LockkeeperTestSupport
import Testing

/// The package's own folder, found from this file.
private let repository = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

@Suite("What status says of a workspace, between real processes (I-1, I-12)")
struct StatusProcessTests {
    private func account(_ workspace: TestWorkspace) async throws -> PrintedObject {
        let status = try await workspace.run(["status", "--json"])
        #expect(status.status == .exited(0), "\(status.errorText)")
        return try #require(try PrintedObject(status.lines[0]).objects("accounts").first)
    }

    @Test("what inbox, outbox and effects hold is counted, by where each thing stands")
    func backlogs() async throws {
        let workspace = try await TestWorkspace(accountOptions: ["--own-id", "me"])
        for number in 1...3 {
            let sent = try await workspace.run(["send", "c", "text \(number)"])
            #expect(sent.status == .exited(0), "\(sent.errorText)")
        }
        let message =
            #"{"conversation":"d","id":"m","seq":1,"sender":"s","#
            + #""sent_at":"2026-01-01T00:00:00Z","body":"hello"}"#
        let stored = try await workspace.run(
            ["ingest"],
            input: Array(#"{"type":"read","conversation":"d","seq":0}"#.utf8) + [10]
                + Array(message.utf8) + [10]
        )
        #expect(stored.status == .exited(0), "\(stored.errorText)")
        let before = try await account(workspace)
        #expect(try before.object("outbox").int("waiting") == 3)
        #expect(try before.object("effects").int("waiting") == 1)
        // The server refuses the first for good.
        let relay = try await CommandRunner.run([
            "outbox", "run", "--root", workspace.root, "--", "sh", "-c",
            #"cat >/dev/null; printf '{"refused":"no"}\n'"#,
        ])
        #expect(!relay.errors.isEmpty)
        let after = try await account(workspace)
        #expect(try after.object("outbox").int("parked") ?? 0 > 0)
        let people = try await workspace.run(["status"])
        let line = people.lines.first { $0.hasPrefix("  to do: ") }
        #expect(line?.contains("inbox 0, outbox 3 (") == true, "\(people.lines)")
        #expect(line?.contains("parked)") == true && line?.contains("effects 1") == true)
    }

    /// Keeps SQLite's writer's lock, as any program can, until a line comes.
    private static let foreignWriter = """
        import sqlite3, sys
        database = sqlite3.connect(sys.argv[1], isolation_level=None)
        database.execute("BEGIN IMMEDIATE")
        print("ready", flush=True)
        sys.stdin.readline()
        database.execute("ROLLBACK")
        """

    @Test("a process that stands in the queue is told, with who writes and for how long it waits")
    func queue() async throws {
        let workspace = try await TestWorkspace()
        let helpers = [try workspace.start(["ingest"]), try workspace.start(["ingest"])]
        for (number, helper) in helpers.enumerated() {
            helper.send(Self.lines(1...1, "m\(number)"))
            #expect(await helper.nextLine() != nil)
        }
        // Whoever is admitted stands before SQLite's own lock, and the other one behind it.
        let foreign = try RunningCommand(
            ["-c", Self.foreignWriter, "\(workspace.root)/accounts/alice/messages-1.db"],
            program: "python3"
        )
        #expect(await foreign.nextLine() == "ready")
        for (number, helper) in helpers.enumerated() {
            helper.send(Self.lines(2...2, "m\(number)"))
        }
        let deadline = patience()
        var seen: PrintedObject?
        while seen == nil, !deadline.hasPassed(at: SystemClock().now()) {
            let account = try await account(workspace)
            let isWaiting = try account.object("queue").ints("waiting_pids")?.isEmpty == false
            if isWaiting, try account.object("queue").int("writer_pid") != nil { seen = account }
        }
        let queue = try #require(try seen?.object("queue"))
        let pids = Set(helpers.map { Int($0.process.pid) })
        let writer = try #require(queue.int("writer_pid"))
        #expect(pids.contains(writer), "\(writer), not \(pids)")
        #expect(Set(queue.ints("waiting_pids") ?? []).union([writer]) == pids)
        foreign.send(Array("\n".utf8))
        _ = await foreign.end()
        for helper in helpers {
            helper.closeInput()
            _ = await helper.end()
        }
        #expect(try await account(workspace).object("queue").ints("waiting_pids") == [])
    }

    private static func lines(_ numbers: ClosedRange<Int>, _ name: String) -> [UInt8] {
        numbers.flatMap {
            Array(
                (#"{"conversation":"c","id":"\#(name)-\#($0)","seq":\#($0),"sender":"s","#
                    + #""version":1,"sent_at":"2026-01-01T00:00:00Z","body":"b"}"# + "\n").utf8
            )
        }
    }

    @Test("Docs/STATUS.md names every member that status prints, and no member is made up")
    func documented() async throws {
        let workspace = try await TestWorkspace()
        let host = try workspace.start(["host"])
        #expect(await host.nextLine() != nil)
        let stored = try await workspace.run(["ingest"], input: Self.lines(1...1, "m"))
        #expect(stored.status == .exited(0), "\(stored.errorText)")
        let status = try await workspace.run(["status", "--json"])
        let value = try JSONSerialization.jsonObject(with: Data(status.lines[0].utf8))
        let page = try String(
            contentsOf: repository.appending(path: "Docs/STATUS.md"),
            encoding: .utf8
        )
        var names: Set<String> = []
        collectNames(in: value, into: &names)
        #expect(names.count > 40)
        for name in names { #expect(page.contains("`\(name)`"), "\(name) is not documented") }
        try host.process.signal(.terminate)
        _ = await host.end()
    }

    private func collectNames(in value: Any, into names: inout Set<String>) {
        if let object = value as? [String: Any] {
            for (name, member) in object {
                names.insert(name)
                collectNames(in: member, into: &names)
            }
        } else if let array = value as? [Any] {
            for element in array { collectNames(in: element, into: &names) }
        }
    }
}
