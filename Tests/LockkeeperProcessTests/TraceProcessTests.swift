import LockkeeperPlatform
import LockkeeperSimulation
import Testing

@Suite("Statements and numbers that the program tells of itself (R-45)")
struct TraceProcessTests {
    private static let line =
        #"{"conversation":"c","id":"m1","seq":1,"sender":"s","sent_at":"2026-01-01T00:00:00Z","#
        + #""body":"the secret text"}"# + "\n"

    @Test("--trace-sql tells each statement with its origin; values only where they are asked for")
    func traced() async throws {
        let workspace = try await TestWorkspace()
        let stored = try await workspace.ingest(Self.line, ["--trace-sql"])
        #expect(stored.status == .exited(0), "\(stored.errorText)")
        let told = stored.errors.filter { $0.hasPrefix("sql ") }
        #expect(told.count > 5)
        let form = #/^sql \d+\.\d{3} ms, \d+ rows, \w+\/[\w+]+\.swift:\d+: \S/#
        let wrong = told.filter { $0.firstMatch(of: form) == nil }
        // What SQLite's own bookkeeping runs, BEGIN for example, has a caller all the same.
        #expect(wrong.isEmpty, "\(wrong.prefix(3))")
        #expect(!stored.errorText.contains("secret"))
        #expect(stored.lines.count == 2)
        let shown = try await workspace.run(["message", "c", "m1", "--trace-sql", "--trace-values"])
        #expect(shown.errorText.contains("'c'"), "\(shown.errorText)")
        let slow = try await workspace.run(["timeline", "c", "--trace-sql=600000"])
        #expect(slow.errors.isEmpty && slow.lines.count == 1)
        let json = try await workspace.run(["timeline", "c", "--trace-sql", "--json"])
        let run = try PrintedObject(try #require(json.errors.first)).object("sql")
        #expect(run.has("ms") && run.int("rows") != nil && run.string("text")?.isEmpty == false)
        let refused = try await workspace.run(["timeline", "c", "--trace-sql=soon"])
        #expect(refused.status == .exited(64))
    }

    @Test("ingest's summary has the stages of its writes, the status those of the hub's process")
    func stages() async throws {
        let workspace = try await TestWorkspace()
        let stored = try await workspace.ingest(Self.line)
        let stages = try stored.summary.object("stages")
        for name in ["queue", "admission", "transaction", "sync", "announcement"] {
            #expect(try stages.object(name).int("count") == 1, "\(name)")
        }
        let before = try PrintedObject(try await workspace.run(["status", "--json"]).lines[0])
        #expect(before.string("hub_metrics") == nil)
        let host = try workspace.start(["host"])
        #expect(await host.nextLine() != nil)
        let status = try PrintedObject(try await workspace.run(["status", "--json"]).lines[0])
        let hub = try status.object("hub_metrics")
        #expect(hub.int("pid") == Int(host.process.pid) && hub.string("role") == "host")
        try await expectOpenMetrics(workspace)
        try host.process.signal(.terminate)
        _ = await host.end()
    }

    /// Expects text that a collector takes: each sample of a family that was declared, buckets that only
    /// grow, and an end.
    private func expectOpenMetrics(_ workspace: TestWorkspace) async throws {
        let result = try await workspace.run(["status", "--openmetrics"])
        #expect(result.status == .exited(0), "\(result.errorText)")
        #expect(result.lines.last == "# EOF")
        var families: Set<String> = []
        var last: (series: String, count: Int)?
        for line in result.lines.dropLast() {
            if line.hasPrefix("# TYPE ") {
                let name = String(line.split(separator: " ")[2])
                #expect(families.insert(name).inserted, "\(line)")
                continue
            }
            if line.hasPrefix("# ") { continue }
            let form = #/^(lockkeeper_[a-z_]+)\{([^}]*)\} (-?[0-9.e-]+)$/#
            let match = try #require(try form.firstMatch(in: line), "\(line)")
            let family = String(match.1.replacing(#/_(bucket|sum|count)$/#, with: ""))
            #expect(families.contains(family), "\(line)")
            guard match.1.hasSuffix("_bucket") else { continue }
            let series = String(match.2.prefix(while: { $0 != "l" })) + family
            let count = try #require(Int(match.3))
            if let last, last.series == series, line.contains("le=\"0.0001\"") == false {
                #expect(count >= last.count, "\(line)")
            }
            last = (series, count)
        }
        for name in ["log_bytes", "to_do", "generation", "write_stage_seconds"] {
            #expect(families.contains("lockkeeper_\(name)"), "\(families)")
        }
    }
}
