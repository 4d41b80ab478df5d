import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTesting
import Testing

@testable import Lockkeeper

@Suite("Checkpoints keep the log short without anybody asking (I-10)")
struct CheckpointTests {
    // Bounds are ratios to the mark: one page a frame, and what is written while a checkpoint runs.
    @Test(
        "three thousand commits of two processes under readers leave a log of a few times the mark",
        arguments: [false, true]
    )
    func logStaysShort(isServed: Bool) async throws {
        var limits = Limits()
        limits.checkpointFrameCount = 100
        limits.checkpointFrameCountWithoutHost = 200
        try await withNotes(limits: limits) { test, app, alice in
            let host = isServed ? try await app.serve() : nil
            let helper = try await test.process("helper").session("alice")
            let reader = try await test.process("reader").session("alice")
            let start = try await alice.database.head()
            let feed = Task {
                var count = 0
                for try await range in reader.changes(after: start) {
                    count += Int(range.last.rawValue - range.first.rawValue) + 1
                    if count == 3_000 { break }
                }
                return count
            }
            var largest: Int64 = 0
            for round in 0..<30 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for session in [alice, helper] {
                        group.addTask { for _ in 0..<50 { try await session.note("\(round)") } }
                    }
                    try await group.waitForAll()
                }
                #expect(try await reader.notes().count == (round + 1) * 100)
                largest = max(largest, try await logByteCount(app))
            }
            #expect(try await feed.value == 3_000)
            let mark = Int64(isServed ? 100 : 200) * Self.frameByteCount
            #expect(largest > 0 && largest < mark * 8, "\(largest / Self.frameByteCount) frames")
            await host?.close()
        }
    }

    // B15: the log is shortened by itself once the reader that pinned it has gone.
    @Test("a log that grew past its mark under a reader is short again after the reader has gone")
    func pinnedLog() async throws {
        var limits = Limits()
        limits.checkpointFrameCountWithoutHost = 50
        limits.checkpointFrameCountUnderWriter = 200
        limits.logByteCountDegraded = 1_000_000
        // What is shown here is the log, and not how writes slow down.
        limits.degradedLivePause = .nanoseconds(1)
        try await withNotes(limits: limits) { test, app, alice in
            let gate = Gate()
            let reader = try await test.process("reader").session("alice")
            let pinned = Task {
                try await reader.database.read { transaction in
                    _ = try transaction.query("SELECT count(*) FROM note") { $0.integer(0) }
                    gate.arrive()
                    gate.waitUntilOpen()
                }
            }
            await gate.arrived()
            for round in 0..<600 { try await alice.note("\(round)") }
            let grown = try await logByteCount(app)
            #expect(grown > Int64(limits.logByteCountDegraded))
            #expect(try await app.status().accounts.first?.isDegraded == true)
            gate.open()
            try await pinned.value
            // The pinned checkpoint was put off; each commit after that may be the one that begins
            // the next.
            test.clock.advance(by: limits.checkpointRetry.largest)
            var rounds = 0
            while try await logByteCount(app) > Int64(limits.logByteCountDegraded), rounds < 500 {
                try await alice.note("after")
                test.clock.advance(by: limits.checkpointRetry.largest)
                rounds += 1
            }
            #expect(rounds < 500)
            #expect(try await app.status().accounts.first?.isDegraded == false)
            #expect(try await alice.notes().count == 600 + rounds)
        }
    }

    /// A page and its header in the log.
    private static let frameByteCount: Int64 = 4_096 + 24

    private func logByteCount(_ workspace: Workspace) async throws -> Int64 {
        try await workspace.status().accounts.first { $0.info.id == "alice" }?.logByteCount ?? 0
    }
}
