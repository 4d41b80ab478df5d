import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

@testable import LockkeeperLocking

/// Leaving an account for a while: no lock and no descriptor stays behind (B10).
@Suite(.timeLimit(.minutes(2)))
struct SuspensionTests {
    private typealias Journal = Monitor<[RecordingWork.Event]>

    /// What this process has of a lock file: its descriptors, and the locks that they hold. Each
    /// test has a file of its own, so that those of others do not count.
    private func held(_ path: String) throws -> (descriptorCount: Int, lockCount: Int) {
        let file = try FileSystem.status(path)?.identity
        var (descriptorCount, lockCount) = (0, 0)
        for number in try FileSystem.list("/proc/self/fd") {
            let status = try? FileSystem.status("/proc/self/fd/\(number)")
            guard status?.identity == file else { continue }
            descriptorCount += 1
            let text = try FileSystem.contents(of: "/proc/self/fdinfo/\(number)")
            lockCount += KernelLock.list(in: text).count { $0.kind == .openFileDescription }
        }
        return (descriptorCount, lockCount)
    }

    @Test("An idle process has nothing of the lock file open when all is suspended, and goes on")
    func idle() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let presence = try Presence.enter(membership, until: patience())
            let writer = try WriterThread.start(membership)
            #expect(try held(membership.path) == (3, 2))
            #expect(try writer.suspend(until: patience()))
            #expect(throws: LockingError.descriptorsOpen(path: membership.path, count: 1)) {
                try membership.detach()
            }
            presence.release()
            try membership.detach()
            try membership.detach()
            #expect(try held(membership.path) == (0, 0))
            #expect(throws: LockingError.suspended) { try membership.setActivity(.reading) }
            #expect(throws: LockingError.suspended) {
                _ = try membership.tryAcquire(.writer, .exclusive)
            }
            #expect(throws: LockingError.suspended) { try writer.resume() }

            try membership.attach()
            try membership.attach()
            try writer.resume()
            #expect(try membership.members().map(\.processName) == ["test"])
            let journal = Journal([])
            writer.submit(RecordingWork(1, journal), deadline: patience())
            #expect(journal.entries(2).first == .performed(1))
            #expect(writer.close(until: patience()))
        }
    }

    @Test("A thread that stands behind another process leaves its place; its callers keep theirs")
    func standing() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let other = try makeMembership(directory, name: "other")
            let writer = try WriterThread.start(membership)
            let journal = Journal([])
            let turnstile = try Turnstile(other)
            let inside = try turnstile.enter()
            for number in 1...3 {
                writer.submit(RecordingWork(number, journal), deadline: patience())
            }
            #expect(try eventually { try other.isHeld(.queue, against: .exclusive) })
            // WRITER is held all the time.
            #expect(try writer.suspend(until: patience()))
            #expect(try !other.isHeld(.queue, against: .exclusive))
            try membership.detach()
            // The other's membership and turnstile: its slot and WRITER.
            #expect(try held(membership.path) == (2, 2))
            inside.leave()
            // Others are admitted, and nobody of this process is.
            for _ in 0..<3 { try turnstile.enter().leave() }
            writer.submit(RecordingWork(4, journal), deadline: patience())
            #expect(journal.entries(1) == [.failed(4, .suspended)])
            try membership.attach()
            try writer.resume()
            _ = journal.entries(7)
            #expect(journal.performed == [1, 2, 3])
            #expect(writer.close(until: patience()))
        }
    }

    @Test("A line that keeps takes work, performs it once it goes on, and names who has the door")
    func keeping() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let other = try makeMembership(directory, name: "recovery")
            let writer = try WriterThread.start(membership)
            let journal = Journal([])
            let entry = try other.take(.entry, .exclusive)
            #expect(try writer.suspend(.keeping, until: patience()))
            writer.submit(RecordingWork(1, journal), deadline: patience())
            let soon = Deadline(after: .milliseconds(5), from: SystemClock().now())
            writer.submit(RecordingWork(2, journal), deadline: soon)
            let failed = journal.entries(1)
            guard case .failed(2, .busy(.entry, _, _)) = failed.first else {
                Issue.record("\(failed)")
                return
            }
            entry.release()
            try writer.resume()
            _ = journal.entries(3)
            #expect(journal.performed == [1])
            #expect(writer.close(until: patience()))
        }
    }

    @Test("Work that is running ends first; a deadline that comes before says so")
    func running() async throws {
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
            writer.submit(RecordingWork(2, journal), deadline: patience())
            _ = journal.entries(1)
            let soon = Deadline(after: .milliseconds(5), from: SystemClock().now())
            #expect(try !writer.suspend(until: soon))
            #expect(try membership.isHeld(.writer, against: .exclusive))
            gate.withLock { $0 = true }
            gate.broadcast()
            #expect(try writer.suspend(until: patience()))
            // The membership alone.
            #expect(try held(membership.path) == (1, 1))
            #expect(journal.entries(2) == [.performed(1), .finished(1, othersWait: true)])
            try writer.resume()
            #expect(journal.entries(4).last == .finished(2, othersWait: false))
            #expect(writer.close(until: patience()))
        }
    }

    @Test("A suspension that is taken back while work is running changes nothing")
    func takenBack() async throws {
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
            writer.submit(RecordingWork(2, journal), deadline: patience())
            _ = journal.entries(1)
            #expect(try !writer.suspend(until: Deadline(at: SystemClock().now())))
            try writer.resume()
            gate.withLock { $0 = true }
            gate.broadcast()
            #expect(journal.entries(4).last == .finished(2, othersWait: false))
            #expect(writer.close(until: patience()))
        }
    }

    @Test("A deadline that passes meanwhile says that the process is suspended")
    func deadlinePasses() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let other = try makeMembership(directory, name: "other")
            let inside = try Turnstile(other).enter()
            let writer = try WriterThread.start(membership)
            let journal = Journal([])
            let soon = Deadline(after: .milliseconds(50), from: SystemClock().now())
            writer.submit(RecordingWork(1, journal), deadline: soon)
            #expect(try writer.suspend(until: patience()))
            #expect(journal.entries(1) == [.failed(1, .suspended)])
            #expect(soon.hasPassed(at: SystemClock().now()))
            // Closing does not need the thread to be anywhere.
            #expect(writer.close(until: patience()))
            #expect(throws: LockingError.closed) { _ = try writer.suspend(until: patience()) }
            #expect(throws: LockingError.closed) { try writer.resume() }
            inside.leave()
        }
    }

    @Test("Suspending and resuming at any moment under load loses nothing and keeps the order")
    func underLoad() async throws {
        let directory = try TemporaryDirectory()
        let seed = UInt64.random(in: 0 ... .max)
        print("seed=\(seed)")
        try await onOwnThread {
            var generator = SplitMix64(seed: seed)
            let membership = try makeMembership(directory)
            let other = try makeMembership(directory, name: "other")
            let writers = try [WriterThread.start(membership), WriterThread.start(other)]
            let journals = [Journal([]), Journal([])]
            var taken = [0, 0]
            for _ in 0..<60 {
                for (writer, index) in zip(writers, 0...) {
                    for _ in 0..<Int.random(in: 1...8, using: &generator) {
                        taken[index] += 1
                        writer.submit(
                            RecordingWork(taken[index], journals[index]),
                            deadline: .never
                        )
                    }
                }
                if Bool.random(using: &generator) { _ = journals[0].entries(taken[0]) }
                #expect(try writers[0].suspend(until: patience()))
                try membership.detach()
                try membership.attach()
                try writers[0].resume()
            }
            for index in 0...1 {
                _ = journals[index].entries(2 * taken[index])
                #expect(journals[index].performed == Array(1...taken[index]))
                #expect(writers[index].close(until: patience()))
            }
        }
    }
}
