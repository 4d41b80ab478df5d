import LockkeeperPlatform
import Testing

@Suite("What was put aside, settled from the command line (M-3, I-9)")
struct QuarantineProcessTests {
    private static func message(_ id: String, _ seq: Int, _ body: String) -> String {
        #"{"conversation":"c","id":"\#(id)","seq":\#(seq),"sender":"s","#
            + #""sent_at":"2026-01-01T00:00:00Z","body":"\#(body)"}"# + "\n"
    }

    /// The number of the only item.
    private func number(_ workspace: TestWorkspace) async throws -> String {
        let list = try await workspace.run(["quarantine", "list", "--json"])
        #expect(list.lines.count == 1, "\(list.lines)")
        let item = try PrintedObject(try #require(list.lines.first))
        return "\(try #require(item.int("number")))"
    }

    private func bodies(_ workspace: TestWorkspace) async throws -> [String?] {
        let timeline = try await workspace.run(["timeline", "c", "--json"])
        return try timeline.lines.map { try PrintedObject($0).string("body") }
    }

    @Test("what is refused again says so with exit 1, and is merged once nothing is in its way")
    func retry() async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.ingest(
            Self.message("a", 1, "first") + Self.message("b", 1, "second")
        )
        let refused = try await workspace.run(["quarantine", "retry", try await number(workspace)])
        #expect(refused.status == .exited(1), "\(refused.errorText)")
        #expect(refused.lines.map { $0.hasSuffix("\tquarantined") } == [true])
        let moved =
            #"{"conversation":"c","id":"a","seq":2,"sender":"s","version":2,"#
            + #""sent_at":"2026-01-01T00:00:00Z","body":"first"}"# + "\n"
        _ = try await workspace.ingest(moved)
        let merged = try await workspace.run(
            ["quarantine", "retry", try await number(workspace), "--json"]
        )
        #expect(merged.status == .exited(0), "\(merged.errorText)")
        #expect(try PrintedObject(merged.lines[0]).string("outcome") == "inserted")
        #expect(try await workspace.run(["quarantine", "list"]).lines == [])
        #expect(try await bodies(workspace) == ["first", "second"])
        try await workspace.expectSound()
    }

    @Test("a person accepts what the rules refuse, but no line that is no event")
    func accept() async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.ingest(
            Self.message("a", 1, "first") + Self.message("b", 1, "second")
        )
        let accepted = try await workspace.run(
            ["quarantine", "accept", try await number(workspace)]
        )
        #expect(accepted.status == .exited(0), "\(accepted.errorText)")
        #expect(try await bodies(workspace) == ["second", "first"])
        _ = try await workspace.ingest("hello\n")
        let bad = try await number(workspace)
        let refused = try await workspace.run(["quarantine", "accept", bad])
        #expect(refused.status == .exited(64), "\(refused.errorText)")
        #expect(try await number(workspace) == bad)
        try await workspace.expectSound()
    }

    @Test("forgetting needs --yes, makes room, and what is not there is named")
    func drop() async throws {
        let workspace = try await TestWorkspace()
        _ = try await workspace.ingest("hello\n")
        let item = try await number(workspace)
        let shown = try await workspace.run(["quarantine", "show", item])
        #expect(shown.lines == ["hello"])
        let drop = ["quarantine", "drop", item]
        #expect(try await workspace.run(drop).status == .exited(64))
        #expect(try await workspace.run(drop + ["--yes"]).status == .exited(0))
        for command in [
            drop + ["--yes"], ["quarantine", "retry", item], ["quarantine", "accept", item],
            ["quarantine", "show", item],
        ] {
            let result = try await workspace.run(command)
            #expect(result.status == .exited(64), "\(command)")
            #expect(result.errorText.contains("was put aside"), "\(result.errorText)")
        }
        #expect(try await workspace.run(["quarantine", "list"]).lines == [])
    }
}
