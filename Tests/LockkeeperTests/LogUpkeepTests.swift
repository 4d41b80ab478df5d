import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

@testable import Lockkeeper

@Suite("The log comes back under its mark by itself (5.4)")
struct LogUpkeepTests {
    /// A hundred frames are a page of the log each.
    private static let frameByteCount: Int64 = 4_096 + 24

    // B15: a file that kept its largest size until somebody started the program anew.
    @Test("B15: a log that grew under a reader is short after the reader, although nobody commits")
    func pinned() async throws {
        var limits = Limits()
        limits.checkpointFrameCountWithoutHost = 50
        limits.logByteCountDegraded = 1_000_000
        limits.degradedLivePause = .nanoseconds(1)
        try await withNotes(limits: limits) { test, app, alice in
            let gate = Gate()
            let reader = try await test.process("reader").session("alice")
            let pinned = await gate.holdReader(of: reader)
            for round in 0..<600 { try await alice.note("\(round)") }
            #expect(try test.logByteCount() > Int64(limits.logByteCountDegraded))
            gate.open()
            try await pinned.value
            #expect(try await test.log { $0 <= Int64(limits.logByteCountDegraded) })
            #expect(try await alice.notes().count == 600)
        }
    }

    @Test("a checkpoint that another process kept from beginning is made when that one has let go")
    func elsewhere() async throws {
        var limits = Limits()
        limits.checkpointFrameCountWithoutHost = 50
        limits.logByteCountDegraded = 400_000
        limits.degradedLivePause = .nanoseconds(1)
        try await withNotes(limits: limits) { test, app, alice in
            let other = try await test.process("other")
            let attachment = try await other.work { try $0.attach("alice") }
            let maintenance = try attachment.membership.acquire(
                .maintenance,
                .exclusive,
                until: patience()
            )
            for round in 0..<200 { try await alice.note("\(round)") }
            #expect(try test.logByteCount() > Int64(limits.logByteCountDegraded))
            maintenance.release()
            #expect(try await test.log { $0 <= Int64(limits.logByteCountDegraded) })
        }
    }

    @Test(
        "a host that does not write copies what a helper wrote, and empties the file when it rests"
    )
    func host() async throws {
        var limits = Limits()
        limits.slowPollInterval = .milliseconds(20)
        limits.checkpointFrameCount = 50
        // A helper that would do it by itself proves nothing of the host.
        limits.checkpointFrameCountWithoutHost = .max
        limits.checkpointFrameCountBesideHost = .max
        limits.checkpointIdleAfter = .seconds(3_600)
        try await withNotes(limits: limits) { test, app, alice in
            // Its sessions write nothing.
            let host = try await test.process("host", role: .host).serve()
            // A log that is never copied would hold a frame and more for every commit.
            var commitCount: Int64 = 0
            #expect(
                try await becomesTrue(within: .seconds(100)) {
                    for _ in 0..<50 { try await alice.note("n") }
                    commitCount += 50
                    return try test.logByteCount() < commitCount * Self.frameByteCount / 2
                }
            )
            await host.close()
        }
        limits.checkpointIdleAfter = .milliseconds(100)
        limits.checkpointFrameCount = .max
        try await withNotes(limits: limits) { test, app, alice in
            for _ in 0..<50 { try await alice.note("n") }
            #expect(try test.logByteCount() > 50 * Self.frameByteCount)
            let host = try await test.process("host", role: .host).serve()
            #expect(try await test.log { $0 == 0 })
            #expect(try await alice.notes().count == 50)
            await host.close()
        }
    }

    @Test("a log that was left by a process that is gone is emptied by the next host")
    func leftLog() async throws {
        var limits = Limits()
        limits.slowPollInterval = .milliseconds(20)
        limits.checkpointIdleAfter = .milliseconds(50)
        try await withNotes(limits: limits) { test, app, alice in
            for _ in 0..<50 { try await alice.note("n") }
            await app.close()
            #expect(try test.logByteCount() > 0)
            let host = try await test.process("host", role: .host).serve()
            #expect(try await test.log { $0 == 0 })
            await host.close()
        }
    }

    @Test("where a host lives others leave the log to it, up to a bound")
    func marks() async throws {
        let limits = Limits()
        try await TestWorkspace.with(schemas: [], limits: limits) { test in
            let helper = try await test.process("helper")
            #expect(!helper.isCheckpointDue(frameCount: limits.checkpointFrameCountWithoutHost - 1))
            #expect(helper.isCheckpointDue(frameCount: limits.checkpointFrameCountWithoutHost))
            let app = try await test.process("host", role: .host)
            let host = try await app.serve()
            #expect(app.isCheckpointDue(frameCount: limits.checkpointFrameCount))
            #expect(!helper.isCheckpointDue(frameCount: limits.checkpointFrameCountWithoutHost))
            #expect(helper.isCheckpointDue(frameCount: limits.checkpointFrameCountBesideHost))
            await host.close()
            #expect(helper.isCheckpointDue(frameCount: limits.checkpointFrameCountWithoutHost))
        }
    }
}

@Suite("When a checkpoint is made, step by step")
struct CheckpointPlanTests {
    private let retry = Backoff(least: .milliseconds(4), largest: .milliseconds(100))

    private func at(_ milliseconds: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: milliseconds * 1_000_000)
    }

    @Test("growth makes one due once, and its end makes none where it was complete")
    func complete() {
        var plan = CheckpointPlan()
        #expect(plan.begin(now: at(0)) == nil)
        #expect(plan.logGrew(to: 10, now: at(1)) == true)
        #expect(plan.logGrew(to: 20, now: at(1)) == false)
        #expect(plan.begin(now: at(1)) == 20)
        // What grows while it runs is copied with the rest.
        #expect(plan.logGrew(to: 30, now: at(2)) == false)
        plan.copiedEverything()
        plan.end(.complete, now: at(3), retry: retry)
        #expect(plan.due == nil)
        #expect(plan.logGrew(to: 40, now: at(4)) == true)
    }

    @Test(
        "what grew, or did not fit, after everything was copied is seen to although nobody writes again",
        arguments: [false, true]
    )
    func grewMeanwhile(didNotFit: Bool) {
        var plan = CheckpointPlan()
        _ = plan.logGrew(to: 10, now: at(0))
        _ = plan.begin(now: at(0))
        plan.copiedEverything()
        let isNews =
            didNotFit
            ? plan.diskIsFull(frameCount: 20, now: at(1)) : plan.logGrew(to: 20, now: at(1))
        #expect(!isNews)
        plan.end(.complete, now: at(2), retry: retry)
        #expect(plan.begin(now: at(2)) == 20)
        plan.end(.complete, now: at(3), retry: retry)
        #expect(plan.due == nil)
    }

    @Test(
        "one that did not come to its end is made again by time, each wait twice the one before",
        arguments: [Checkpoint.Outcome.pinned, .noRoom, nil]
    )
    func incomplete(outcome: Checkpoint.Outcome?) {
        var plan = CheckpointPlan()
        _ = plan.logGrew(to: 10, now: at(0))
        var (now, waits): (Int64, [Int64]) = (0, [])
        for _ in 0..<7 {
            #expect(plan.begin(now: at(now)) == 10)
            plan.end(outcome, now: at(now), retry: retry)
            #expect(plan.begin(now: at(now)) == nil)
            let due = (plan.due?.nanoseconds ?? 0) / 1_000_000
            waits.append(due - now)
            now = due
            #expect(plan.logGrew(to: 10, now: at(now)) == false)
        }
        #expect(waits == [4, 8, 16, 32, 64, 100, 100])
    }

    @Test("one that another process was at is looked at again, and does not count as complete")
    func elsewhere() {
        var plan = CheckpointPlan()
        _ = plan.logGrew(to: 10, now: at(0))
        _ = plan.begin(now: at(0))
        plan.end(.elsewhere, now: at(0), retry: retry)
        #expect(plan.due == at(64))
    }

    @Test("the host copies a long log once for each change, and empties one that rests")
    func watch() {
        var limits = Limits()
        limits.checkpointFrameCount = 10
        limits.checkpointIdleAfter = .milliseconds(1_000)
        var watch = LogWatch()
        func look(_ byteCount: Int64, _ modified: Int64, _ now: Int64) -> LogWatch.Step {
            watch.look(
                .init(byteCount: byteCount, modified: modified),
                now: at(now),
                limits: limits
            )
        }
        #expect(look(0, 1, 10_000) == .nothing)
        #expect(look(5_000, 2, 10_100) == .nothing)
        #expect(look(50_000, 3, 10_200) == .copy)
        watch.end(.complete, now: at(10_200), retry: retry)
        #expect(look(50_000, 3, 10_300) == .nothing)
        #expect(look(50_000, 4, 10_400) == .copy)
        watch.end(.pinned, now: at(10_400), retry: retry)
        #expect(look(50_000, 4, 10_402) == .nothing)
        #expect(look(50_000, 4, 10_404) == .copy)
        watch.end(.elsewhere, now: at(10_404), retry: retry)
        #expect(look(50_000, 4, 10_500) == .copy)
        watch.end(.complete, now: at(10_500), retry: retry)
        #expect(look(50_000, 4, 11_399) == .nothing)
        #expect(look(50_000, 4, 11_400) == .empty)
        watch.end(.complete, now: at(11_400), retry: retry)
        #expect(look(0, 5, 11_500) == .nothing)
    }
}

@Suite("Writes slow down while the log is degraded")
struct WritePaceTests {
    private let mark = Int64(Limits().logByteCountDegraded)

    @Test("backfill slows from the mark on, live writes from twice the mark on, both to a bound")
    func pauses() {
        let limits = Limits()
        func pause(_ admissionClass: AdmissionClass, _ factor: Double) -> Duration {
            let byteCount = Int64(Double(mark) * factor)
            return WritePace.pause(admissionClass, logByteCount: byteCount, limits: limits)
        }
        #expect(pause(.backfill, 0) == .zero && pause(.backfill, 1) == .zero)
        #expect(pause(.backfill, 1.5) == limits.degradedBackfillPause / 2)
        #expect(pause(.backfill, 2) == limits.degradedBackfillPause)
        #expect(pause(.backfill, 100) == limits.degradedBackfillPause)
        #expect(pause(.live, 2) == .zero)
        #expect(pause(.live, 3) == limits.degradedLivePause / 2)
        #expect(pause(.live, 100) == limits.degradedLivePause)
    }

    @Test("writes of a class stand one pause apart, the first at once, and the classes are apart")
    func turns() {
        var pace = WritePace()
        let now = MonotonicInstant(nanoseconds: 1_000)
        let pause = Duration.nanoseconds(10)
        for expected in [Duration.zero, .nanoseconds(10), .nanoseconds(20)] {
            let wait = pace.wait(.backfill, pause: pause, now: now)
            #expect(wait == expected)
        }
        #expect(pace.wait(.live, pause: pause, now: now) == .zero)
        // A pause that is over is forgotten, and so is what was behind it.
        #expect(pace.wait(.backfill, pause: .zero, now: now) == .zero)
        #expect(pace.wait(.backfill, pause: pause, now: now) == .zero)
        let later = now.advanced(by: .nanoseconds(100))
        #expect(pace.wait(.backfill, pause: pause, now: later) == .zero)
    }
}

@Suite("Which read of a process the others see")
struct OpenReadsTests {
    private func read(_ since: Int64) -> OldestRead {
        OldestRead(purpose: .query, since: MonotonicInstant(nanoseconds: since))
    }

    @Test("a short read is never written down, and costs no tick of its own")
    func short() {
        var reads = OpenReads()
        let first = reads.begin(read(1))
        #expect(first.needsTick)
        #expect(reads.end(first.number) == false)
        // The tick that was asked for is still to come.
        let second = reads.begin(read(2))
        #expect(!second.needsTick)
        #expect(reads.end(second.number) == false)
        let tick = reads.tick()
        #expect(tick.publish == nil && !tick.needsTick)
        let third = reads.begin(read(3))
        #expect(third.needsTick)
    }

    @Test("the oldest read that lasts is written down once, and its successor after it")
    func long() {
        var reads = OpenReads()
        let oldest = reads.begin(read(1))
        let next = reads.begin(read(2))
        var tick = reads.tick()
        #expect(tick.publish == read(1) && tick.needsTick)
        tick = reads.tick()
        #expect(tick.publish == nil && tick.needsTick)
        #expect(reads.end(oldest.number) == true)
        tick = reads.tick()
        #expect(tick.publish == read(2) && tick.needsTick)
        #expect(reads.end(next.number) == true)
        tick = reads.tick()
        #expect(!tick.needsTick)
    }
}
