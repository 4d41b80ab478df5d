import LockkeeperPlatform
import Testing

@Suite("Contracts of streams on the command line (R-1)")
struct StreamContractProcessTests {
    @Test("'account add --streams' stores what a stream's server promises, and says it again")
    func streams() async throws {
        let workspace = try await TestWorkspace()
        let add = [
            "account", "add", "bob", "--activate", "--json", "--keeps-for", "60", "--streams",
            "push:no-redelivery,no-resume a:b:retention=drops,scope=account,unknown-cursor=skips",
        ]
        let added = try await workspace.run(add)
        #expect(added.status == .exited(0), "\(added.errorText)")
        let contract = try PrintedObject(try #require(added.lines.first)).object("contract")
        #expect(contract.int("keeps_for_ms") == 60_000)
        let streams = try contract.object("streams")
        let push = try streams.object("push")
        #expect(push.int("redelivers") == 0 && push.int("resumes_from_cursor") == 0)
        #expect(push.int("keeps_for_ms") == nil)
        let other = try streams.object("a:b")
        #expect(other.string("retention") == "drops" && other.string("scope") == "account")
        #expect(other.string("unknown_cursor") == "skips")

        let page = Array((#"{"type":"page","stream":"push","after":null,"next":"p1"}"# + "\n").utf8)
        let refused = try await workspace.run(["ingest", "--account", "bob"], input: page)
        #expect(refused.status == .exited(64), "\(refused.errorText)")
        #expect(refused.errorText.contains("stream push"))
        let delivered = try await workspace.run(
            ["ingest", "--deliver", "--account", "bob"],
            input: page
        )
        #expect(delivered.status == .exited(0), "\(delivered.errorText)")
    }

    @Test(
        "what --streams cannot mean is refused",
        arguments: ["push", "push:no-resum", ":x", "a: a:"]
    )
    func mistyped(text: String) async throws {
        let workspace = try await TestWorkspace()
        let refused = try await workspace.run(["account", "add", "bob", "--streams", text])
        #expect(refused.status == .exited(64))
        #expect(try await workspace.run(["account", "list"]).lines.count == 1)
    }
}
