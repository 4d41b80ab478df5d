import Glibc
import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

/// Real processes that are stopped, continued and killed where they stand (I-1, I-12).
@Suite(.serialized, .timeLimit(.minutes(2)))
struct StoppedProcessTests {
    private typealias Journal = Monitor<[RecordingWork.Event]>

    /// A tool that stands in QUEUE and is stopped there. WRITER is free afterwards.
    private func stoppedInQueue(
        _ directory: TemporaryDirectory,
        _ membership: LockFileMembership
    ) throws -> LockTool {
        let held = try Turnstile(membership).enter()
        let tool = try LockTool(directory, "enter")
        #expect(try tool.hear() == "ready")
        #expect(try eventually { try membership.isHeld(.queue, against: .exclusive) })
        try tool.stop()
        held.leave()
        return tool
    }

    @Test("QUEUE is passed by while its holder is stopped, and is kept to when it runs again")
    func passedByAndBack() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let stopped = try stoppedInQueue(directory, membership)
            #expect(try !membership.isQueuePassedBy(), "nobody waits yet")
            let writer = try WriterThread.start(membership)
            let journal = Journal([])
            let asked = SystemClock().now()
            writer.submit(RecordingWork(1, journal), deadline: patience())
            _ = journal.entries(2)
            let waited = SystemClock().now().duration(since: asked)
            #expect(waited >= Limits().queuePassedByAfter)
            #expect(try membership.isQueuePassedBy())
            // From then on nobody waits for it.
            for number in 2...50 {
                writer.submit(RecordingWork(number, journal), deadline: patience())
            }
            _ = journal.entries(100)
            #expect(journal.performed == Array(1...50))
            #expect(try membership.isQueuePassedBy())

            try stopped.proceed()
            #expect(try stopped.hear() == "inside")
            try stopped.say()
            #expect(try stopped.hear() == "left")
            writer.submit(RecordingWork(51, journal), deadline: patience())
            _ = journal.entries(102)
            #expect(try !membership.isQueuePassedBy())
            #expect(writer.close(until: patience()))
        }
    }

    // B37
    @Test("The death of a stopped process that was passed by brings the order back")
    func passedByAndKilled() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let stopped = try stoppedInQueue(directory, membership)
            let writer = try WriterThread.start(membership)
            let journal = Journal([])
            writer.submit(RecordingWork(1, journal), deadline: patience())
            _ = journal.entries(2)
            #expect(try membership.isQueuePassedBy())
            try stopped.kill()
            writer.submit(RecordingWork(2, journal), deadline: patience())
            _ = journal.entries(4)
            #expect(try !membership.isQueuePassedBy())
            #expect(try !membership.isHeld(.queue, against: .exclusive))
            #expect(writer.close(until: patience()))
        }
    }

    @Test("While one of four processes is stopped in QUEUE the others go at full rate")
    func fullRate() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let tools = try (0..<4).map { _ in try LockTool(directory, "load") }
            for tool in tools { #expect(try tool.hear() == "ready") }
            // Other work on the machine takes most of a rate now and then, never that of each pair;
            // without passing by, each would be a few dozen admissions per second, a hundredth.
            var ratios: [Double] = []
            for _ in 0..<5 {
                let healthy = try rate(membership)
                // While WRITER is held somebody comes to stand in QUEUE, and stays there.
                let held = try Turnstile(membership).enter()
                #expect(try eventually { try !membership.holders(of: .queue).isEmpty })
                let pid = try membership.holders(of: .queue).first?.identity.pid
                let standing = try #require(tools.first { $0.pid == pid })
                try standing.stop()
                held.leave()
                #expect(try eventually { try membership.isQueuePassedBy() })
                ratios.append(try rate(membership) / healthy)
                #expect(try membership.isQueuePassedBy())
                try standing.proceed()
                #expect(try eventually { try !membership.isQueuePassedBy() })
            }
            print("admissions with one stopped, over those with none: \(ratios)")
            #expect(ratios.sorted()[2] >= 0.1)
            #expect(ratios.contains { $0 >= 0.5 })
            for tool in tools { try tool.kill() }
        }
    }

    /// Admissions in a second, measured over a while.
    private func rate(_ membership: LockFileMembership) throws -> Double {
        let clock = SystemClock()
        let (began, before) = (clock.now(), try membership.admissionCount())
        clock.sleep(until: Deadline(after: .milliseconds(300), from: began))
        let count = try membership.admissionCount() - before
        return Double(count) / clock.now().duration(since: began).milliseconds * 1000
    }

    @Test("QUEUE is not passed by while nobody is stopped, however long WRITER or QUEUE is held")
    func longHolds() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let tools = try (0..<2).map { _ in try LockTool(directory, "load") }
            for tool in tools { #expect(try tool.hear() == "ready") }
            let turnstile = try Turnstile(membership)
            for _ in 0..<3 {
                // A transaction of 200 ms, with one process in QUEUE and one behind it.
                let held = try turnstile.enter()
                try expectOrder(membership, for: .milliseconds(200), admits: false)
                held.leave()
                try expectOrder(membership, for: .milliseconds(50), admits: true)
                // A holder of QUEUE that takes 200 ms to get to WRITER, though WRITER is free.
                let queue = try membership.acquire(.queue, .exclusive, until: patience())
                #expect(try eventually { try !membership.isHeld(.writer, against: .exclusive) })
                try expectOrder(membership, for: .milliseconds(200), admits: false)
                queue.release()
            }
            for tool in tools { try tool.kill() }
        }
    }

    /// Looks at the skip word all the time, and whether anybody is admitted.
    private func expectOrder(
        _ membership: LockFileMembership,
        for duration: Duration,
        admits: Bool
    ) throws {
        let clock = SystemClock()
        let end = Deadline(after: duration, from: clock.now())
        let before = try membership.admissionCount()
        var sightings = 0
        while !end.hasPassed(at: clock.now()) {
            if try membership.isQueuePassedBy() { sightings += 1 }
            sched_yield()
        }
        #expect(sightings == 0)
        if admits {
            // On a busy machine a process may not have run meanwhile.
            #expect(try eventually { try membership.admissionCount() > before })
        } else {
            #expect(try membership.admissionCount() == before)
        }
    }

    // B35
    @Test("A process that is stopped inside makes waits end at their deadline, which name it")
    func stoppedInside() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let tool = try LockTool(directory, "enter")
            #expect(try tool.hear() == "ready")
            #expect(try tool.hear() == "inside")
            try tool.stop()
            let writer = try WriterThread.start(membership)
            let journal = Journal([])
            let soon = Deadline(after: .milliseconds(60), from: SystemClock().now())
            writer.submit(RecordingWork(1, journal), deadline: soon)
            writer.submit(RecordingWork(2, journal), deadline: patience())
            guard case .failed(1, .busy(.writer, let holders, _)) = journal.entries(1).first else {
                Issue.record("the wait did not fail")
                return
            }
            #expect(holders.map(\.identity.pid) == [tool.pid])
            #expect(holders.first?.condition == .stopped)
            #expect(holders.first?.activity == .writing)
            #expect(holders.first?.program == "lock-tool")
            #expect(try !membership.isQueuePassedBy(), "who is inside cannot be passed by")
            // It goes on where it was, and then the one who still waits is next.
            try tool.proceed()
            try tool.say()
            #expect(try tool.hear() == "left")
            #expect(journal.entries(3).dropFirst().first == .performed(2))
            #expect(writer.close(until: patience()))
        }
    }

    // B37
    @Test("SIGKILL of a process that is stopped inside frees everybody at once")
    func killedInside() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let tool = try LockTool(directory, "enter")
            #expect(try tool.hear() == "ready")
            #expect(try tool.hear() == "inside")
            try tool.stop()
            let writer = try WriterThread.start(membership)
            let journal = Journal([])
            writer.submit(RecordingWork(1, journal), deadline: patience())
            #expect(try eventually { try membership.isHeld(.queue, against: .exclusive) })
            try tool.kill()
            #expect(journal.entries(2).first == .performed(1))
            #expect(writer.close(until: patience()))
        }
    }

    // B22
    @Test("A forked child that outlives a killed process keeps none of its locks")
    func childOutlives() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let tool = try LockTool(directory, "fork")
            let inside = try tool.hear()
            let child = try #require(Int32(inside.split(separator: " ").last ?? ""))
            defer { kill(child, SIGKILL) }
            #expect(try membership.holders(of: .writer).map(\.identity.pid) == [tool.pid])
            let writer = try WriterThread.start(membership)
            let journal = Journal([])
            writer.submit(RecordingWork(1, journal), deadline: patience())
            #expect(try eventually { try membership.isHeld(.queue, against: .exclusive) })
            try tool.kill()
            #expect(journal.entries(2).first == .performed(1))
            let identity = try ProcessIdentity.read(pid: child)
            #expect(try identity?.condition() == .running)
            #expect(writer.close(until: patience()))
        }
    }

    // B22
    @Test("What was opened before a fork is refused in the child, and goes on in the parent")
    func usedInChild() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let tool = try LockTool(directory, "forked")
            #expect(try tool.hear() == "child 0")
            #expect(try tool.hear() == "parent admitted")
        }
    }
}
