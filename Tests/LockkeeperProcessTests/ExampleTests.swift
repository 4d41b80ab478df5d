import Foundation
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

/// The programs in Docs/Examples, against a live host: what Docs/PROTOCOL.md says is enough to write
/// a client in another language.
@Suite("Clients in Python", .serialized, .timeLimit(.minutes(10)))
struct ExampleTests {
    private static let examples = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Docs/Examples").path

    private func start(_ example: String, _ arguments: [String]) throws -> RunningCommand {
        try RunningCommand(
            ["python3", "\(Self.examples)/\(example)"] + arguments,
            program: "/usr/bin/env"
        )
    }

    private func message(_ number: Int) -> String {
        #"{"conversation":"c","id":"m\#(number)","seq":\#(number),"sender":"s","#
            + #""sent_at":"2026-01-01T00:00:00Z","body":"text \#(number)"}"# + "\n"
    }

    @Test("one writes through ingest, one follows: through the hub, without it, to the switch")
    func writerAndSubscriber() async throws {
        let workspace = try await TestWorkspace()
        let host = try workspace.start(["host"])
        _ = await host.nextLine()
        let helper = try start("helper.py", [workspace.root, "alice", CommandRunner.program])
        helper.send(Array(message(1).utf8))
        let acknowledged = try PrintedObject(try #require(await helper.nextLine()))
        #expect(try acknowledged.object("acknowledged").ints("lines") == [1, 1])

        // From the floor of the log, so that it begins with what is there already.
        let status = try PrintedObject(
            try await workspace.run(["status", "--json"]).lines.joined()
        )
        let head = try #require(status.objects("accounts").first?.string("head"))
        let store = try #require(head.split(separator: ":").first)
        let subscriber = try start("subscriber.py", [workspace.root, "alice", "\(store):0"])
        var bodies: [String?] = []
        func follow(to number: Int) async throws {
            while bodies.last != "text \(number)" {
                let line = try PrintedObject(try #require(await subscriber.nextLine()))
                bodies += line.objects("messages").map { $0.string("body") }
            }
        }
        try await follow(to: 1)
        helper.send(Array(message(2).utf8))
        try await follow(to: 2)

        // Without a hub it reads the log.
        try host.process.signal(.kill)
        _ = await host.end()
        helper.send(Array(message(3).utf8))
        try await follow(to: 3)
        #expect(bodies == ["text 1", "text 2", "text 3"])

        helper.closeInput()
        let end = await helper.end()
        #expect(end.status == .exited(0) && end.lines.count == 3, "\(end.errorText)")
        let switched = try await workspace.run(["switch", "bob", "--create"])
        #expect(switched.status == .exited(0), "\(switched.errorText)")
        #expect(await subscriber.end().status == .exited(76))
        try await workspace.expectSound(account: "alice")
    }

    // I-8
    @Test("a position of another store, or past the head, is told to begin anew")
    func resync() async throws {
        let workspace = try await TestWorkspace()
        let none = String(repeating: "0", count: 32)
        let subscriber = try start("subscriber.py", [workspace.root, "alice", "\(none):5"])
        let end = await subscriber.end()
        #expect(end.status == .exited(1) && end.errorText.contains("read everything anew"))
    }
}
