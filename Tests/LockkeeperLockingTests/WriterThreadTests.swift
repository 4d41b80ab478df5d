import Glibc
import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperTestSupport
import Synchronization
import Testing

/// The line of callers before the turnstile, with its thread (I-1, B11).
@Suite
struct WriterThreadTests {
    private typealias Journal = Monitor<[RecordingWork.Event]>

    @Test("Work is performed in the order of its submission, each under WRITER, on one thread")
    func order() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            var limits = Limits()
            limits.admissionTimeMax = .zero
            let writer = try WriterThread.start(membership, limits: limits)
            let journal = Journal([])
            let threads = Mutex<Set<UInt>>([])
            let held = try Turnstile(membership).enter()
            for number in 1...50 {
                writer.submit(
                    RecordingWork(number, journal) {
                        _ = threads.withLock { $0.insert(UInt(pthread_self())) }
                        let isHeld = try? membership.isHeld(.writer, against: .exclusive)
                        #expect(isHeld == true)
                    },
                    deadline: patience()
                )
            }
            held.leave()
            let events = journal.entries(100)
            let expected = (1...50).flatMap { number -> [RecordingWork.Event] in
                [.performed(number), .finished(number, othersWait: number < 50)]
            }
            #expect(events == expected)
            #expect(threads.withLock { $0.count } == 1)
            #expect(try membership.admissionCount() == 51)
            #expect(writer.close(until: patience()))
        }
    }

    @Test("What stands in line when work is done follows it under the same admission")
    func followers() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            var limits = Limits()
            limits.admissionTimeMax = .seconds(1000)
            let writer = try WriterThread.start(membership, limits: limits)
            let journal = Journal([])
            let held = try Turnstile(membership).enter()
            for number in 1...50 {
                writer.submit(
                    RecordingWork(number, journal) {
                        let isHeld = try? membership.isHeld(.writer, against: .exclusive)
                        #expect(isHeld == true)
                    },
                    deadline: patience()
                )
            }
            held.leave()
            let expected =
                (1...50).map { RecordingWork.Event.performed($0) }
                + (1...50).map { .finished($0, othersWait: $0 < 50) }
            #expect(journal.entries(100) == expected)
            #expect(try membership.admissionCount() == 2)
            #expect(writer.close(until: patience()))
        }
    }

    @Test("Work is finished after WRITER was released")
    func finishWithoutWriter() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            final class Work: AdmittedWork {
                let membership: LockFileMembership
                let isHeldInFinish = Monitor<Bool?>(nil)
                init(_ membership: LockFileMembership) { self.membership = membership }
                func perform(waited: Duration) {}
                func finish(before following: Following) {
                    let isHeld = try? membership.isHeld(.writer, against: .exclusive)
                    isHeldInFinish.withLock { $0 = isHeld }
                    isHeldInFinish.signal()
                }
                func fail(_ error: LockingError) { Issue.record(error) }
            }
            let membership = try makeMembership(directory)
            let writer = try WriterThread.start(membership)
            let work = Work(membership)
            writer.submit(work, deadline: patience())
            #expect(work.isHeldInFinish.wait(until: patience()) { $0 } == false)
            #expect(writer.close(until: patience()))
        }
    }

    @Test("A caller leaves at its deadline and is told who holds WRITER; nobody else loses a place")
    func deadline() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let foreign = try ForeignProcess(directory, bytes: [20])
            try foreign.child.signal(SIGSTOP)
            let writer = try WriterThread.start(membership)
            let journal = Journal([])
            let now = SystemClock().now()
            writer.submit(
                RecordingWork(1, journal),
                deadline: Deadline(after: .milliseconds(30), from: now)
            )
            writer.submit(RecordingWork(2, journal), deadline: patience())
            guard
                case .failed(1, .busy(let lock, let holders, let waited)) =
                    journal.entries(1).first
            else {
                Issue.record("the first did not fail")
                return
            }
            #expect(lock == .writer)
            #expect(holders.map(\.identity.pid) == [foreign.pid])
            #expect(holders.first?.condition == .stopped)
            #expect(waited >= .milliseconds(30))
            // The thread kept its place in QUEUE meanwhile.
            #expect(try membership.isHeld(.queue, against: .exclusive))
            try foreign.kill()
            #expect(
                journal.entries(3).dropFirst() == [
                    .performed(2), .finished(2, othersWait: false),
                ]
            )
            #expect(writer.close(until: patience()))
        }
    }

    @Test("A place whose caller gave up goes to the next caller before any other process")
    func placeIsKept() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let writer = try WriterThread.start(membership)
            let journal = Journal([])
            let held = try Turnstile(membership).enter()
            let first = writer.submit(RecordingWork(1, journal), deadline: patience())
            #expect(try eventually { try membership.isHeld(.queue, against: .exclusive) })
            // Another process comes behind, which waits for QUEUE.
            let other = try WorkerThread.start(name: "other process") {
                do {
                    let admission = try Turnstile(membership).enter()
                    journal.withLock { $0.append(.performed(99)) }
                    journal.broadcast()
                    admission.leave()
                } catch {
                    Issue.record(error)
                }
            }
            #expect(writer.withdraw(first))
            #expect(!writer.withdraw(first))
            writer.submit(RecordingWork(2, journal), deadline: patience())
            held.leave()
            other.join()
            _ = journal.entries(3)
            #expect(journal.performed == [2, 99])
            #expect(writer.close(until: patience()))
        }
    }

    @Test("A place that is granted to nobody is released at once")
    func placeGrantedToNobody() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let writer = try WriterThread.start(membership)
            let journal = Journal([])
            let held = try Turnstile(membership).enter()
            let ticket = writer.submit(RecordingWork(1, journal), deadline: patience())
            #expect(try eventually { try membership.isHeld(.queue, against: .exclusive) })
            #expect(writer.withdraw(ticket))
            held.leave()
            #expect(try eventually { try membership.admissionCount() == 2 })
            #expect(try eventually { try !membership.isHeld(.writer, against: .exclusive) })
            #expect(journal.withLock { $0 }.isEmpty)
            #expect(writer.close(until: patience()))
        }
    }

    @Test("Closing fails who waits, lets admitted work finish, and refuses what comes later")
    func close() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let writer = try WriterThread.start(membership)
            let journal = Journal([])
            let gate = Monitor(false)
            writer.submit(
                RecordingWork(1, journal) { _ = gate.wait(until: patience()) { $0 ? true : nil } },
                deadline: patience()
            )
            _ = journal.entries(1)
            writer.submit(RecordingWork(2, journal), deadline: patience())
            let soon = Deadline(after: .milliseconds(5), from: SystemClock().now())
            #expect(!writer.close(until: soon), "work is going on")
            writer.submit(RecordingWork(3, journal), deadline: patience())
            gate.withLock { $0 = true }
            gate.signal()
            #expect(writer.close(until: patience()))
            #expect(
                journal.entries(4) == [
                    .performed(1), .failed(2, .closed), .failed(3, .closed),
                    .finished(1, othersWait: false),
                ]
            )
        }
    }

    @Test("A thread that is closed while it stands behind another process leaves its place at once")
    func closeWhileStanding() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let writer = try WriterThread.start(membership)
            let journal = Journal([])
            let held = try Turnstile(membership).enter()
            writer.submit(RecordingWork(1, journal), deadline: .never)
            #expect(try eventually { try membership.isHeld(.queue, against: .exclusive) })
            // WRITER is held all the time: nothing but the interruption ends the wait.
            #expect(writer.close(until: patience()))
            #expect(journal.entries(1) == [.failed(1, .closed)])
            #expect(try !membership.isHeld(.queue, against: .exclusive))
            held.leave()
            #expect(try !membership.isHeld(.writer, against: .exclusive))
            #expect(try membership.admissionCount() == 1)
        }
    }

    @Test("Live work goes before backfill in a process, and a backfill is not starved")
    func classes() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let writer = try WriterThread.start(membership)
            let journal = Journal([])
            let held = try Turnstile(membership).enter()
            writer.submit(RecordingWork(100, journal), class: .backfill, deadline: patience())
            for number in 1...9 {
                writer.submit(RecordingWork(number, journal), class: .live, deadline: patience())
            }
            held.leave()
            _ = journal.entries(20)
            #expect(journal.performed == [1, 2, 3, 4, 5, 6, 7, 100, 8, 9])
            #expect(writer.close(until: patience()))
        }
    }

    // B34
    @Test("Work fails when the lock file was replaced, and is not performed under a lock of no use")
    func replacedLockFile() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let writer = try WriterThread.start(membership)
            let journal = Journal([])
            try FileSystem.remove(membership.path)
            writer.submit(RecordingWork(1, journal), deadline: patience())
            #expect(
                journal.entries(1) == [.failed(1, .lockFileReplaced(path: membership.path))]
            )
            #expect(writer.close(until: patience()))
        }
    }

    @Test("Many callers on many threads each have exactly one outcome, and no two are admitted")
    func manyCallers() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            // Two writer threads, as two processes have them.
            let writers = try [WriterThread.start(membership), WriterThread.start(membership)]
            let journal = Journal([])
            let insideCount = Atomic<Int>(0)
            let callers = try (0..<6).map { caller in
                try WorkerThread.start(name: "caller") {
                    for round in 0..<200 {
                        let ticket = writers[caller % 2].submit(
                            RecordingWork(caller * 1000 + round, journal) {
                                let count = insideCount.add(1, ordering: .relaxed).newValue
                                #expect(count == 1)
                                insideCount.subtract(1, ordering: .relaxed)
                            },
                            deadline: patience()
                        )
                        guard round.isMultiple(of: 5) else { continue }
                        if writers[caller % 2].withdraw(ticket) {
                            journal.withLock {
                                $0.append(.failed(caller * 1000 + round, .cancelled))
                            }
                        }
                    }
                }
            }
            for caller in callers { caller.join() }
            for writer in writers {
                let last = Journal([])
                writer.submit(RecordingWork(0, last), deadline: patience())
                #expect(last.entries(2).count == 2)
                #expect(writer.close(until: patience()))
            }
            let outcomes = journal.withLock { events in
                events.compactMap { event -> Int? in
                    switch event {
                    case .performed(let number), .failed(let number, .cancelled): number
                    case .finished, .failed: nil
                    }
                }
            }
            #expect(outcomes.count == 1200)
            #expect(Set(outcomes).count == 1200)
        }
    }
}
