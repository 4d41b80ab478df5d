import LockkeeperPlatform
import Testing

@Suite("Reading on the command line: timelines both ways and around a message, gaps, one message")
struct ReadingProcessTests {
    private func workspace() async throws -> TestWorkspace {
        let workspace = try await TestWorkspace()
        var lines = (1...9).map { number in
            #"{"conversation":"c","id":"m\#(number)","seq":\#(number * 10),"sender":"u2","#
                + #""sent_at":"2026-01-01T00:00:00Z","body":"text \#(number)"}"#
        }
        lines += [
            #"{"type":"history","conversation":"c","from":1,"to":35}"#,
            #"{"type":"history","conversation":"c","from":61,"to":90}"#,
            #"{"type":"recall","conversation":"c","id":"m2","version":2}"#,
        ]
        let ingested = try await workspace.ingest(lines.joined(separator: "\n") + "\n")
        try #require(ingested.status == .exited(0), "\(ingested.errorText)")
        return workspace
    }

    private func shown(_ workspace: TestWorkspace, _ options: [String]) async throws -> [String] {
        let result = try await workspace.run(["timeline", "c"] + options)
        #expect(result.status == .exited(0), "\(result.errorText)")
        return result.lines.compactMap { $0.split(separator: "\t").first.map(String.init) }
    }

    @Test("a timeline is read back, onwards and around a message, and says what is missing")
    func timeline() async throws {
        let workspace = try await workspace()
        #expect(try await shown(workspace, ["--limit", "3"]) == ["90", "80", "70"])
        #expect(
            try await shown(workspace, ["--before", "80", "--limit", "4"])
                == ["70", "60…36", "60", "50", "40"]
        )
        #expect(try await shown(workspace, ["--after", "70"]) == ["90", "80"])
        #expect(try await shown(workspace, ["--after", "0", "--limit", "2"]) == ["20", "10"])
        #expect(
            try await shown(workspace, ["--around", "m3", "--limit", "3"]) == [
                "40", "60…36", "30", "20",
            ]
        )
        let json = try await workspace.run([
            "timeline", "c", "--around", "m2", "--limit", "1", "--json",
        ])
        let message = try PrintedObject(try #require(json.lines.first))
        #expect(message.string("id") == "m2" && message.int("recalled") == 1)
        let gaps = try await workspace.run(["timeline", "c", "--json"])
        let objects = try gaps.lines.map { try PrintedObject($0) }
        #expect(objects.compactMap { $0.ints("gap") } == [[36, 60]])
        for wrong in [["--around", "m77"], ["--before", "3", "--after", "2"], ["--around", ""]] {
            let result = try await workspace.run(["timeline", "c"] + wrong)
            #expect(result.status == .exited(64))
        }
    }

    @Test("one message is shown by its id, whatever became of it")
    func message() async throws {
        let workspace = try await workspace()
        let shown = try await workspace.run(["message", "c", "m3"])
        #expect(shown.lines == ["30\t2026-01-01T00:00:00Z\tu2: text 3"], "\(shown.lines)")
        let recalled = try await workspace.run(["message", "c", "m2", "--json"])
        #expect(try PrintedObject(try #require(recalled.lines.first)).int("recalled") == 1)
        #expect(try await workspace.run(["message", "c", "m77"]).status == .exited(64))
        #expect(try await workspace.run(["message", "c"]).status == .exited(64))
    }
}
