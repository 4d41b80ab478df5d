import Foundation
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

@Suite("The outbox, told by real processes that are killed and stopped (B54, B100, M-10)")
struct OutboxProcessTests {
    private func workspace(refusesDoubles: Bool) async throws -> TestWorkspace {
        try await TestWorkspace(
            accountOptions: ["--own-id", "me"] + (refusesDoubles ? ["--refuses-doubles"] : [])
        )
    }

    private func send(
        _ workspace: TestWorkspace,
        _ numbers: ClosedRange<Int>,
        in conversation: String = "c"
    ) async throws {
        for number in numbers {
            let sent = try await workspace.run([
                "send", conversation, "text \(number)", "--client-id", "k\(number)",
            ])
            #expect(sent.status == .exited(0), "\(sent.errorText)")
        }
    }

    /// What the outbox still holds: "k1 waiting".
    private func items(_ workspace: TestWorkspace) async throws -> [String] {
        try await workspace.run(["outbox", "list", "--json"]).lines.map { line in
            let item = try PrintedObject(line)
            return "\(item.string("key") ?? "?") \(item.string("state") ?? "?")"
        }
    }

    private func expectOrder(_ log: [RelayScript.Entry], _ keys: [String]) {
        #expect(log.filter(\.isStart).map(\.key) == keys)
    }

    // B54. The program that acts inherits the claim, so that the relay's death alone frees nothing.
    @Test(
        "ten items, two processes, one killed in the third: each is told once more at most, in order"
    )
    func killed() async throws {
        let workspace = try await workspace(refusesDoubles: true)
        let script = try RelayScript(in: workspace.folder, root: workspace.root)
        try await send(workspace, 1...10)
        try script.hold("k3")
        let relays = [try script.start(), try script.start()]
        let held = try await script.awaitStart(of: "k3")
        let victim = try #require(relays.firstIndex { $0.process.pid == held.relay })
        try await script.kill(relays[victim])
        // The program lives and may yet tell the server: the item is its, and those behind it wait.
        #expect(try await items(workspace).first == "k3 sending")
        let cancelled = try await workspace.run(["outbox", "cancel", "3"])
        #expect(cancelled.status == .exited(75), "\(cancelled.errorText)")
        #expect(kill(held.script, SIGKILL) == 0)
        let again = try await script.awaitStart(of: "k3", times: 2)
        #expect(again.relay == relays[1 - victim].process.pid)
        #expect(again.line.contains(#""attempt":2"#) && again.line.contains(#""repeated":true"#))
        try script.release("k3")
        _ = try await script.awaitStart(of: "k10")
        // Asked to end, a relay writes down what its program still answers.
        try relays[1 - victim].process.signal(.terminate)
        #expect(await relays[1 - victim].end().status == .exited(0))
        _ = try await script.run()
        #expect(try await items(workspace) == [])
        let log = try script.log()
        let first = (1...3).map { "k\($0)" }
        expectOrder(Array(log.prefix { $0.key != "k10" }), first + (3...9).map { "k\($0)" })
        expectOneAtATime(log, lost: held.script)
        let shown = try await workspace.run(["timeline", "c"]).lines
        #expect(
            shown.compactMap { $0.split(separator: "\t").first }
                == (1...10).reversed().map { "\($0)" }
        )
        try await workspace.expectSound()
    }

    /// No item is begun before the one before it in the log has ended, but for the one that was killed.
    private func expectOneAtATime(_ log: [RelayScript.Entry], lost: Int32) {
        var running: RelayScript.Entry?
        for entry in log where entry.script != lost {
            if entry.isStart {
                #expect(running == nil, "\(entry.key) began within \(running?.key ?? "")")
                running = entry
            } else {
                #expect(running?.script == entry.script)
                running = nil
            }
        }
    }

    // B54, M-10: nobody knows whether the server has it, and it would take it twice.
    @Test(
        "where the server takes doubles an item whose claimer was killed is unknown, and waits for you"
    )
    func unknown() async throws {
        let workspace = try await workspace(refusesDoubles: false)
        let script = try RelayScript(in: workspace.folder, root: workspace.root)
        try await send(workspace, 1...3)
        try script.hold("k2")
        let relay = try script.start()
        let held = try await script.awaitStart(of: "k2")
        try await script.kill(relay)
        #expect(kill(held.script, SIGKILL) == 0)
        try script.release("k2")
        // Until the kernel has ended it the claim is held, and the run says so.
        while try await script.run().status != .exited(0) {}
        #expect(try await items(workspace) == ["k2 unknown"])
        expectOrder(try script.log(), ["k1", "k2", "k3"])
        #expect(try await workspace.run(["outbox", "retry", "2"]).status == .exited(0))
        #expect(try await script.run().status == .exited(0))
        #expect(try await items(workspace) == [])
        expectOrder(try script.log(), ["k1", "k2", "k3", "k2"])
    }

    // B54, I-12: not after a time by the clock, and the stopped one is named.
    @Test("a claimer that is stopped keeps its item and is named; other conversations go on")
    func stopped() async throws {
        let workspace = try await workspace(refusesDoubles: true)
        let script = try RelayScript(in: workspace.folder, root: workspace.root)
        try await send(workspace, 1...2)
        try script.hold("k1")
        let relay = try script.start()
        _ = try await script.awaitStart(of: "k1")
        try relay.process.signal(.stop)
        try await send(workspace, 3...3, in: "d")
        let other = try await script.run()
        #expect(other.status == .exited(75), "\(other.errorText)")
        #expect(try await items(workspace) == ["k1 sending", "k2 waiting"])
        let listed = try await workspace.run(["outbox", "list", "c"])
        #expect(listed.lines.first?.contains("stopped") == true, "\(listed.lines)")
        #expect(kill(relay.process.pid, SIGCONT) == 0)
        try script.release("k1")
        _ = try await script.awaitStart(of: "k2")
        try relay.process.signal(.terminate)
        _ = await relay.end()
        _ = try await script.run()
        #expect(try await items(workspace) == [])
        expectOrder(try script.log().filter { $0.key != "k3" }, ["k1", "k2"])
    }

    // B100, the outbox's half: what is refused for good holds nobody up.
    @Test(
        "each way in which a program can end has its outcome, and a refused item lets the next go on"
    )
    func endings() async throws {
        let workspace = try await workspace(refusesDoubles: true)
        let script = try RelayScript(
            in: workspace.folder,
            root: workspace.root,
            answer: """
                case $key in
                k1) echo '{"refused":"no such room"}' ;;
                k2) echo '{"failed":"no route","retry_after_ms":3000000}' ;;
                k3) exit 75 ;;
                k4) kill -9 $$ ;;
                k5) echo '{"id":"m-5","seq":-1}' ;;
                k6) exit 0 ;;
                k7) exec sleep 1000 ;;
                k8) echo '{"id":"m-8","seq":8}'; exit 3 ;;
                k9) sleep 3 2>/dev/null & echo '{"id":"m-9","seq":9}' ;;
                k10) echo 'no JSON' ;;
                esac
                """
        )
        for number in 1...9 { try await send(workspace, number...number, in: "c\(number)") }
        try await send(workspace, 10...10, in: "c1")
        let run = try await script.run("outbox", ["--timeout", "1"])
        #expect(run.status == .exited(75), "\(run.errorText)")
        var told: [String: String] = [:]
        for line in run.lines {
            let words = line.split(separator: "\t").map(String.init)
            told[words[0]] = told[words[0]] ?? words[1]
        }
        let outcomes = ["refused", "failed", "failed"] + Array(repeating: "unanswered", count: 4)
        for (number, outcome) in (outcomes + ["confirmed", "confirmed"]).enumerated() {
            #expect(told["item \(number + 1)"] == outcome, "\(run.lines)")
        }
        // On a slow machine some were told again meanwhile.
        let left = try await items(workspace)
        #expect(left.prefix(2) == ["k1 parked", "k2 waiting"])
        #expect(left.filter { !$0.hasPrefix("k10") }.count == 7)
        // The one behind the refused one was told, and had no answer.
        #expect(try script.log().contains { $0.key == "k10" })
        let missing = try await CommandRunner.run([
            "outbox", "run", "--root", workspace.root, "--", "/nowhere/at-all",
        ])
        #expect(missing.status != .exited(0))
        try await workspace.expectSound()
    }

    @Test("a program that cannot be started has told nobody: nothing is counted")
    func missingProgram() async throws {
        let workspace = try await workspace(refusesDoubles: false)
        try await send(workspace, 1...1)
        let missing = try await CommandRunner.run([
            "outbox", "run", "--root", workspace.root, "--", "/nowhere/at-all", "-h",
        ])
        #expect(missing.status == .exited(69), "\(missing.errorText)")
        #expect(try await items(workspace) == ["k1 waiting"])
        let usage = try await workspace.run(["outbox", "run"])
        #expect(usage.status == .exited(64))
    }

    @Test("acts are told one after the other, each as its event")
    func acts() async throws {
        let workspace = try await workspace(refusesDoubles: false)
        let script = try RelayScript(in: workspace.folder, root: workspace.root, answer: "echo {}")
        _ = try await workspace.ingest(
            (1...4).map {
                #"{"conversation":"c","id":"m\#($0)","seq":\#($0),"sender":"bob","#
                    + #""sent_at":"2026-01-01T00:00:00Z","body":"text"}"# + "\n"
            }.joined()
        )
        let acts = [
            ["read", "c", "2"], ["read", "c", "3", "--delivered"], ["edit", "c", "m1", "new"],
            ["react", "c", "m2", "👍"], ["recall", "c", "m3"], ["delete", "c", "m4"],
            ["clear", "c", "1"],
        ]
        for act in acts {
            let done = try await workspace.run(act)
            #expect(done.status == .exited(0), "\(act) \(done.errorText)")
            #expect(try PrintedObject(try #require(done.lines.first)).int("item") != nil)
        }
        // The edit's text went with what was cleared.
        #expect(try await workspace.run(["timeline", "c"]).lines.count == 2)
        #expect(try await script.run().status == .exited(0))
        let events = try script.log().filter(\.isStart).map {
            try PrintedObject($0.line).object("event").string("type")
        }
        #expect(events == ["read", "read", "reaction", "recall", "delete", "clear"])
        #expect(try await items(workspace) == [])
        try await workspace.expectSound()
    }
}
