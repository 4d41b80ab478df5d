import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

@Suite("Notifications by real processes: one per message, at least once, withdrawn (M-11, R-18)")
struct EffectProcessTests {
    private func lines(_ numbers: ClosedRange<Int>) -> String {
        numbers.map {
            #"{"conversation":"c","id":"m\#($0)","seq":\#($0),"sender":"bob","#
                + #""sent_at":"2026-01-01T00:00:00Z","body":"text"}"# + "\n"
        }.joined()
    }

    private func told(_ script: RelayScript) throws -> [String] {
        try script.log().filter(\.isStart).map { entry in
            let effect = try PrintedObject(entry.line)
            return "\(effect.string("effect") ?? "?") \(effect.string("id") ?? "?")"
        }
    }

    @Test("two ingest the same messages, two show them: each has one notify, and its withdraw")
    func shared() async throws {
        let workspace = try await TestWorkspace(accountOptions: ["--own-id", "me"])
        let script = try RelayScript(in: workspace.folder, root: workspace.root, answer: "echo {}")
        let relays = [try script.start("effects"), try script.start("effects")]
        let ingests = try (0..<2).map { _ in try workspace.start(["ingest", "-"]) }
        for ingest in ingests {
            ingest.send(Array(lines(1...20).utf8), lineCount: 20)
            ingest.closeInput()
        }
        for ingest in ingests { #expect(await ingest.end().status == .exited(0)) }
        try await awaitEmpty(workspace)
        #expect(try told(script).sorted() == (1...20).map { "notify m\($0)" }.sorted())
        _ = try await workspace.ingest(
            #"{"type":"recall","conversation":"c","id":"m20","version":2}"#
        )
        _ = try await workspace.run(["read", "c", "18"])
        try await awaitEmpty(workspace)
        for relay in relays { try relay.process.signal(.terminate) }
        for relay in relays { #expect(await relay.end().status == .exited(0)) }
        let withdrawn = ((1...18) + [20]).map { "withdraw m\($0)" }
        #expect(try told(script).dropFirst(20).sorted() == withdrawn.sorted())
        try await workspace.expectSound()
    }

    @Test("what failed says when it is tried again, and of many that are left how many there are")
    func left() async throws {
        let workspace = try await TestWorkspace(accountOptions: ["--own-id", "me"])
        let script = try RelayScript(
            in: workspace.folder,
            root: workspace.root,
            answer: #"echo '{"failed":"no display","retry_after_ms":600000}'"#
        )
        _ = try await workspace.ingest(lines(1...12))
        let run = try await script.run("effects")
        #expect(run.status == .exited(75))
        // Ten minutes, less what the run has taken since.
        #expect(
            ["6", "5"].contains { run.errorText.contains("no display; next attempt in \($0)") },
            "\(run.errorText)"
        )
        #expect(run.errorText.contains("lockkeeper: and 2 more"), "\(run.errorText)")
        let listed = try await workspace.run(["effects", "list"])
        #expect(listed.lines.first?.hasSuffix(" s") == true, "\(listed.lines)")
        let json = try await workspace.run(["effects", "list", "--json"])
        let object = try PrintedObject(try #require(json.lines.first))
        #expect((1...600_000).contains(object.int("retry_in_ms") ?? 0))
    }

    /// Waits until every effect was confirmed; the relays follow the commits by themselves.
    private func awaitEmpty(_ workspace: TestWorkspace) async throws {
        for _ in 0..<600 {
            if try await workspace.run(["effects", "list"]).lines.isEmpty { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        Issue.record("effects are left")
    }

    // B54 for effects: at least once, with the same key.
    @Test("one who is killed while it shows a message leaves it to the next, under the same key")
    func killed() async throws {
        let workspace = try await TestWorkspace(accountOptions: ["--own-id", "me"])
        let script = try RelayScript(in: workspace.folder, root: workspace.root, answer: "echo {}")
        _ = try await workspace.ingest(lines(1...1))
        let listed = try await workspace.run(["effects", "list", "--json"])
        let effect = try PrintedObject(try #require(listed.lines.first))
        let key = try #require(effect.string("key"))
        try script.hold(key)
        let relay = try script.start("effects")
        let held = try await script.awaitStart(of: key)
        try await script.kill(relay)
        #expect(try await script.run("effects").status == .exited(75))
        #expect(try script.log().count == 1)
        // A quiet import in between notifies of nothing.
        _ = try await workspace.ingest(lines(2...9), ["--no-effects"])
        try script.release(key)
        // What it says now nobody hears, but it has ended: the next one says it again.
        while try await script.run("effects").status != .exited(0) {}
        let starts = try script.log().filter(\.isStart)
        #expect(starts.map(\.key) == [key, key] && starts[1].script != held.script)
        #expect(starts[1].line.contains(#""repeated":true"#))
        #expect(try await workspace.run(["effects", "list"]).lines == [])
    }
}
