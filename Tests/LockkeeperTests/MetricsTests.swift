import Lockkeeper
import LockkeeperDomain
import LockkeeperTesting
import Synchronization
import Testing

@Suite(
    "What a process tells of itself: stages of writes, and its statements (R-45, R-54)",
    .serialized
)
struct MetricsTests {
    @Test("each write is counted once in each stage that it goes through")
    func stages() async throws {
        // Without tables of an owner nothing is done but what the test does.
        let test = try TestWorkspace(schemas: [])
        let app = try await test.process("app")
        try await app.addAccount("alice")
        let alice = try await app.activate("alice")
        try await alice.database.write { try $0.execute("CREATE TABLE poll (votes INTEGER)") }
        let before = counts(app)
        for durability in [Durability.durable, .durable, .committed] {
            try await alice.database.write(durability: durability) {
                try $0.execute("INSERT INTO poll VALUES (1)")
            }
        }
        let after = counts(app)
        func grown(_ stage: WriteStage) -> Int { (after[stage] ?? 0) - (before[stage] ?? 0) }
        #expect(
            WriteStage.allCases.map(grown) == [0, 3, 3, 2, 3],
            "\(WriteStage.allCases.map(grown))"
        )
        for timing in app.metrics.stages where timing.count > 0 {
            #expect(timing.quantile(0.5) <= timing.largest && timing.largest <= timing.total)
            #expect(timing.count(upTo: .seconds(3600)) == timing.count)
        }
        try await test.finish()
    }

    @Test("whoever asks the hub hears of its process's writes, and nobody answers where none is")
    func overTheSocket() async throws {
        try await TestWorkspace.with { test in
            let app = try await test.process("app", role: .host)
            try await app.addAccount("alice")
            let helper = try await test.process("helper")
            #expect(try await helper.status().hubMetrics == nil)
            let host = try await app.serve()
            let alice = try await app.activate("alice")
            try await alice.database.write { try $0.execute("CREATE TABLE poll (votes INTEGER)") }
            let heard = try #require(try await helper.status().hubMetrics)
            #expect(heard.name == "app" && heard.role == "host" && heard.hubConnectionCount >= 1)
            let own = app.metrics
            for (there, here) in zip(heard.stages, own.stages) {
                // Upkeep may write between the two looks, and numbers only grow.
                #expect(there.stage == here.stage && there.count <= here.count)
                #expect(there.total <= here.total && there.largest <= here.largest)
            }
            #expect((heard.stages.first { $0.stage == .transaction }?.count ?? 0) > 0)
            await host.close()
        }
    }

    @Test("a statement is traced with its caller's file and line and its rows, and without values")
    func tracing() async throws {
        try await TestWorkspace.with { test in
            let app = try await test.process("app")
            try await app.addAccount("alice")
            let alice = try await app.activate("alice")
            try await alice.database.write { try $0.execute("CREATE TABLE diary (name TEXT)") }
            let runs = Runs()
            Workspace.traceStatements { runs.add($0) }
            try await fill(alice)
            Workspace.traceStatements(includingValues: true) { runs.add($0) }
            try await fill(alice)
            Workspace.traceStatements(lastingAtLeast: .seconds(3600)) { runs.add($0) }
            try await fill(alice)
            Workspace.traceStatements(nil)
            try await fill(alice)
            let inserts = runs.all.filter { $0.sql.hasPrefix("INSERT INTO diary") }
            #expect(inserts.count == 2)
            #expect(inserts.allSatisfy { $0.line == Self.insertLine && $0.rowCount == 0 })
            #expect(inserts.first?.expandedSQL == nil)
            #expect(inserts.last?.expandedSQL == "INSERT INTO diary VALUES ('a secret')")
            let selects = runs.all.filter { $0.sql.hasPrefix("SELECT name FROM diary") }
            #expect(selects.map(\.rowCount) == [1, 2])
            #expect(runs.all.allSatisfy { !$0.sql.contains("secret") && $0.duration >= .zero })
        }
    }

    private static let insertLine = #line + 4

    private func fill(_ session: Session) async throws {
        try await session.database.write {
            try $0.execute("INSERT INTO diary VALUES (?1)", .text(Array("a secret".utf8)))
        }
        _ = try await session.database.read { transaction in
            try transaction.query("SELECT name FROM diary") { $0.text(0) }
        }
    }

    private func counts(_ workspace: Workspace) -> [WriteStage: Int] {
        Dictionary(uniqueKeysWithValues: workspace.metrics.stages.map { ($0.stage, $0.count) })
    }

    /// Statements of this file; other tests run beside it in the same process.
    private final class Runs: Sendable {
        private let runs = Mutex<[TracedStatement]>([])

        var all: [TracedStatement] { runs.withLock { $0 } }

        func add(_ run: TracedStatement) {
            guard run.file.hasSuffix("LockkeeperTests/MetricsTests.swift") else { return }
            runs.withLock { $0.append(run) }
        }
    }
}
