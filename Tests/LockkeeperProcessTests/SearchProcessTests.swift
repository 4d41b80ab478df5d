import LockkeeperPlatform
import LockkeeperSimulation
import Testing

@Suite("Searching from the command line")
struct SearchProcessTests {
    private func line(
        _ id: String,
        _ seq: Int,
        _ body: String,
        in conversation: String = "c",
        from sender: String = "s"
    ) -> String {
        #"{"conversation":"\#(conversation)","id":"\#(id)","seq":\#(seq),"sender":"\#(sender)","#
            + #""sent_at":"2026-01-01T00:00:0\#(seq)Z","body":"\#(body)"}"# + "\n"
    }

    @Test("words, a phrase, filters and a limit, for people and as JSON")
    func search() async throws {
        let workspace = try await TestWorkspace()
        let text =
            line("m1", 1, "see you soon") + line("m2", 2, "you see", from: "t")
            + line("m3", 3, "YOU AND ME", in: "d") + line("m4", 4, "see\\u001b[31m you")
        #expect(try await workspace.ingest(text).status == .exited(0))
        let all = try await workspace.run(["search", "see you", "--json"])
        #expect(all.status == .exited(0) && all.lines.count == 3)
        #expect(all.lines[0].contains(#""id":"m4""#) && all.lines[2].contains(#""id":"m1""#))
        #expect(all.lines[2].contains(#""snippet":{"text":"see you soon","matches":[[0,3],[4,7]]"#))
        let phrase = try await workspace.run(["search", "see you", "--phrase"])
        #expect(phrase.lines == ["c\t1\t2026-01-01T00:00:01Z\ts: see you soon"])
        let one = try await workspace.run(["search", "you", "--limit", "1"])
        // What a terminal would obey is shown as an escape.
        #expect(one.lines.count == 1 && !one.lines[0].utf8.contains(0x1B))
        for (options, expected) in [
            (["--conversation", "d"], "m3"), (["--sender", "t"], "m2"),
            (["--after", "2026-01-01T00:00:04Z"], "m4"),
            (["--before", "2026-01-01T00:00:02Z"], "m1"),
        ] {
            let found = try await workspace.run(["search", "you", "--json"] + options)
            #expect(found.lines.count == 1 && found.lines[0].contains(#""id":"\#(expected)""#))
        }
        #expect(try await workspace.run(["search", "nothing"]).lines == [])
        #expect(try await workspace.run(["search", "x", "--after", "soon"]).status == .exited(64))
        #expect(try await workspace.run(["search"]).status == .exited(64))
        try await workspace.expectSound()
    }
}
