import Foundation
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

/// What a person sees who looks why a message has not gone.
@Suite("A run of the outbox says what is left and why, and never hangs without saying who (M-10)")
struct OutboxRunTests {
    private func workspace(_ options: [String] = []) async throws -> TestWorkspace {
        try await TestWorkspace(accountOptions: ["--own-id", "me"] + options)
    }

    private func send(_ workspace: TestWorkspace, _ keys: String...) async throws {
        for key in keys {
            let sent = try await workspace.run(["send", "c", "text \(key)", "--client-id", key])
            #expect(sent.status == .exited(0), "\(sent.errorText)")
        }
    }

    /// Runs the outbox with a program.
    private func tell(
        _ workspace: TestWorkspace,
        _ words: [String]
    ) async throws -> CommandRunner.Result {
        try await CommandRunner.run(["outbox", "run", "--root", workspace.root, "--"] + words)
    }

    private func isGone(_ pid: Int32) -> Bool {
        guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else {
            return true
        }
        return stat.contains(") Z ")
    }

    // B54: the program that hangs still has the claim, and is all that can be named.
    @Test(
        "a runner is killed while its program hangs: list, retry, cancel and run name the program"
    )
    func orphan() async throws {
        let workspace = try await workspace()
        let script = try RelayScript(in: workspace.folder, root: workspace.root)
        try await send(workspace, "k1")
        try script.hold("k1")
        let relay = try script.start()
        let held = try await script.awaitStart(of: "k1")
        try await script.kill(relay)
        let name = "pid \(held.script) (sh)"
        let listed = try await workspace.run(["outbox", "list"])
        #expect(listed.lines.first?.contains(name) == true, "\(listed.lines)")
        for act in ["retry", "cancel"] {
            let refused = try await workspace.run(["outbox", act, "1"])
            #expect(refused.status == .exited(75))
            #expect(refused.errorText.contains(name), "\(refused.errorText)")
            #expect(refused.errorText.contains("kill PID"))
        }
        let run = try await script.run()
        #expect(run.status == .exited(75) && run.errorText.contains(name), "\(run.errorText)")
        #expect(kill(held.script, SIGKILL) == 0)
        while !isGone(held.script) { try await Task.sleep(for: .milliseconds(5)) }
        #expect(try await workspace.run(["outbox", "cancel", "1"]).status == .exited(0))
        #expect(try await workspace.run(["outbox", "list"]).lines == [])
    }

    @Test("a program that ignores the signal ends with its runner, and with what it has started")
    func hung() async throws {
        let workspace = try await workspace()
        let child = workspace.folder.path("child")
        let script = try RelayScript(
            in: workspace.folder,
            root: workspace.root,
            answer:
                "trap '' TERM; (echo started; exec sleep 1000) > \(child) & echo $! > \(child)-pid;"
                + " while :; do sleep 1000; done"
        )
        try await send(workspace, "k1")
        let relay = try RunningCommand(
            script.words("outbox", ["--follow", "--timeout", "3000", "--grace", "0"])
        )
        let held = try await script.awaitStart(of: "k1")
        while (try? String(contentsOfFile: child + "-pid", encoding: .utf8))?.hasSuffix("\n")
            != true
        {
            try await Task.sleep(for: .milliseconds(5))
        }
        let text = try String(contentsOfFile: child + "-pid", encoding: .utf8)
        let grandchild = try #require(Int32(text.dropLast()))
        try relay.process.signal(.terminate)
        let ended = await relay.end()
        #expect(ended.status == .exited(0), "\(ended.errorText)")
        while !isGone(held.script) || !isGone(grandchild) {
            try await Task.sleep(for: .milliseconds(5))
        }
        // It may have told the server.
        let listed = try await workspace.run(["outbox", "list"])
        #expect(listed.lines.first?.contains("unknown") == true, "\(listed.lines)")
    }

    @Test("a runner that is asked to end lets its program finish; asked twice it does not wait")
    func grace() async throws {
        for isHurried in [false, true] {
            let workspace = try await workspace()
            // The signals come while the program is at work.
            let work =
                isHurried
                ? "sleep 0.3; kill -TERM $PPID; exec sleep 1000"
                : #"sleep 0.3; echo "{\"id\":\"m-$key\",\"seq\":1}""#
            let script = try RelayScript(
                in: workspace.folder,
                root: workspace.root,
                answer: "kill -TERM $PPID; \(work)"
            )
            try await send(workspace, "k1", "k2")
            let relay = try RunningCommand(
                script.words("outbox", ["--follow", "--timeout", "3000", "--grace", "2000"])
            )
            let ended = await relay.end()
            #expect(ended.status == .exited(0), "\(ended.errorText)")
            let listed = try await workspace.run(["outbox", "list"]).lines
            let states = listed.map { $0.split(separator: "\t")[3] }
            #expect(states == (isHurried ? ["unknown", "waiting"] : ["waiting"]), "\(listed)")
        }
    }

    @Test("a message that is not sent after all leaves no conversation that nobody has named")
    func cancelledConversation() async throws {
        let workspace = try await workspace()
        try await send(workspace, "k1", "k2")
        func conversations() async throws -> Int {
            try await workspace.run(["conversations"]).lines.count
        }
        #expect(try await workspace.run(["outbox", "cancel", "1"]).status == .exited(0))
        #expect(try await conversations() == 1)
        #expect(try await workspace.run(["outbox", "cancel", "2"]).status == .exited(0))
        #expect(try await conversations() == 0)
        // One that something is known of stays.
        _ = try await workspace.ingest(
            #"{"type":"conversation","conversation":"c","version":1,"title":"t"}"# + "\n"
        )
        try await send(workspace, "k3")
        #expect(try await workspace.run(["outbox", "cancel", "3"]).status == .exited(0))
        #expect(try await conversations() == 1)
    }

    @Test("what is left is said with its reason; 75 where it is tried again, 0 where you decide")
    func remains() async throws {
        let workspace = try await workspace()
        let script = try RelayScript(
            in: workspace.folder,
            root: workspace.root,
            answer: """
                case $key in
                k1) echo '{"refused":"no such room"}' ;;
                k2) echo '{}' ;;
                k3) echo '{"id":"m4","seq":4}' ;;
                k4) echo '{"id":"m4","seq":4}' ;;
                k5) echo '{"failed":"no route","retry_after_ms":9007199254740991}' ;;
                esac
                """
        )
        try await send(workspace, "k1", "k2", "k3", "k4")
        let run = try await script.run()
        #expect(run.status == .exited(0), "\(run.errorText)")
        #expect(
            run.lines == [
                "item 1\trefused", "item 2\tunanswered", "item 3\tconfirmed",
                "item 4\tcontradicted",
            ]
        )
        for words in [
            "item 1 (send in c) is left, parked: no such room",
            "item 2 (send in c) is left, unknown: an attempt had no answer: the answer names no id",
            "item 4 (send in c) is left, unknown: the answer names the id m4", "outbox retry 4",
        ] { #expect(run.errorText.contains(words), "\(words) in \(run.errorText)") }
        try await send(workspace, "k5", "k6")
        let second = try await script.run()
        #expect(second.status == .exited(75))
        #expect(
            second.errorText.contains("(send in c) is left, waiting: no route; next attempt in"),
            "\(second.errorText)"
        )
        #expect(second.errorText.contains("(send in c) is left, waiting: it waits for its turn"))
        // At most an hour, whatever the program says.
        let items = try await workspace.run(["outbox", "list", "--json"]).lines.map(
            PrintedObject.init
        )
        let wait = try #require(items[3].int("retry_in_ms"))
        #expect(wait > 3_000_000 && wait <= 3_600_000)
        #expect(items.last?.has("retry_in_ms") == false)
        let listed = try await workspace.run(["outbox", "list"])
        #expect(listed.lines[3].contains("next attempt in "), "\(listed.lines)")
        try await workspace.expectSound()
    }

    @Test("messages that are not confirmed: counted by their conversation, no part of an export")
    func unsent() async throws {
        let workspace = try await workspace()
        try await send(workspace, "k1", "k2")
        let listed = try await workspace.run(["conversations", "--json"])
        let conversation = try PrintedObject(try #require(listed.lines.first))
        #expect(conversation.string("conversation") == "c" && conversation.int("pending") == 2)
        let export = try await workspace.run(["export"])
        #expect(export.lines == [] && export.status == .exited(0))
        #expect(export.errorText.contains("2 items of the outbox"), "\(export.errorText)")
        #expect(try await workspace.run(["outbox", "cancel", "2"]).status == .exited(0))
        let one = try await workspace.run(["export"])
        #expect(one.errorText.contains("1 item of the outbox"), "\(one.errorText)")
        // Sent again it stays cancelled, and says so.
        let again = try await workspace.run(["send", "c", "text k2", "--client-id", "k2"])
        let receipt = try PrintedObject(try #require(again.lines.first))
        #expect(receipt.int("new") == 0 && receipt.int("cancelled") == 1)
    }

    // What is not there is no attempt, however often it is tried.
    @Test("a program that cannot be started parks nothing and is told of no repetition")
    func notStarted() async throws {
        let workspace = try await workspace(["--refuses-doubles"])
        try await send(workspace, "k1", "k2")
        for words in [["/nonexistent"], ["/usr/bin/env", "no-such-program"]] {
            for _ in 0..<6 {
                let run = try await tell(workspace, words)
                #expect(run.status == .exited(69), "\(run.errorText)")
                #expect(run.errorText.contains("start"), "\(run.errorText)")
            }
        }
        let listed = try await workspace.run(["outbox", "list"]).lines
        #expect(listed == ["1\tsend\tc\twaiting\t0", "2\tsend\tc\twaiting\t0"], "\(listed)")
        let script = try RelayScript(in: workspace.folder, root: workspace.root)
        #expect(try await script.run().status == .exited(0))
        let entries = try script.log()
        #expect(entries.filter(\.isStart).allSatisfy { $0.line.contains(#""repeated":false"#) })
        #expect(entries.filter(\.isStart).count == 2)
    }

    @Test("where doubles are not refused nobody knows, and the run ends with the first")
    func perhapsNotStarted() async throws {
        let workspace = try await workspace()
        try await send(workspace, "k1", "k2")
        let run = try await tell(workspace, ["/usr/bin/env", "no-such-program"])
        #expect(run.status == .exited(69), "\(run.errorText)")
        let listed = try await workspace.run(["outbox", "list"]).lines
        #expect(listed.map { $0.split(separator: "\t")[3] } == ["unknown", "waiting"], "\(listed)")
    }

    @Test("an effect that was refused is handed out again, or dropped, by its number")
    func effects() async throws {
        let workspace = try await workspace()
        let script = try RelayScript(
            in: workspace.folder,
            root: workspace.root,
            answer: #"echo '{"refused":"no display"}'"#
        )
        for number in 1...2 {
            _ = try await workspace.ingest(
                #"{"conversation":"c","id":"m\#(number)","seq":\#(number),"sender":"bob","#
                    + #""sent_at":"2026-01-01T00:00:00Z","body":"text"}"#
            )
        }
        let run = try await script.run("effects")
        #expect(run.status == .exited(0))
        #expect(run.errorText.contains("is left, parked: no display"), "\(run.errorText)")
        let numbers = try await workspace.run(["effects", "list"]).lines
            .compactMap { $0.split(separator: "\t").first.map(String.init) }
        #expect(try await workspace.run(["effects", "retry", numbers[0]]).status == .exited(0))
        #expect(try await workspace.run(["effects", "drop", numbers[1]]).status == .exited(0))
        let listed = try await workspace.run(["effects", "list"]).lines
        #expect(listed.count == 1 && listed[0].contains("waiting"), "\(listed)")
        let unknown = try await workspace.run(["effects", "drop", "999"])
        #expect(unknown.status == .exited(64) && unknown.errorText.contains("effects list"))
    }
}
