import Glibc
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTestSupport
import Synchronization
import Testing

@Suite
struct ThreadTests {
    @Test("A worker thread blocks every signal and bears its name; its maker's mask stays")
    func signalsAreBlocked() async throws {
        try await onOwnThread {
            var before = sigset_t()
            pthread_sigmask(SIG_SETMASK, nil, &before)
            let seen = Mutex<(blocked: [Int32], name: [UInt8])>(([], []))
            let thread = try WorkerThread.start(name: "lk-named-thread-of-old") {
                var mask = sigset_t()
                pthread_sigmask(SIG_SETMASK, nil, &mask)
                let blocked = [SIGTERM, SIGUSR1, SIGALRM, SIGCHLD].filter {
                    sigismember(&mask, $0) == 1
                }
                let name = try? FileSystem.contents(of: "/proc/thread-self/comm")
                seen.withLock { $0 = (blocked, name ?? []) }
            }
            thread.join()
            thread.join()
            #expect(seen.withLock { $0.blocked } == [SIGTERM, SIGUSR1, SIGALRM, SIGCHLD])
            #expect(seen.withLock { $0.name } == bytes("lk-named-thread\n"))
            var after = sigset_t()
            pthread_sigmask(SIG_SETMASK, nil, &after)
            #expect(sigismember(&before, SIGTERM) == sigismember(&after, SIGTERM))
        }
    }

    @Test("A thread is current only on itself")
    func currentThread() async throws {
        try await onOwnThread {
            let thread = try WorkerThread.start(name: "other") {}
            #expect(!thread.isCurrent)
            thread.join()
            #expect(!thread.isCurrent)
        }
    }

    @Test("A waiter is woken by what it waits for, and takes it under the lock")
    func monitorWakes() async throws {
        try await onOwnThread {
            let monitor = Monitor<[Int]>([])
            let thread = try WorkerThread.start(name: "producer") {
                for number in 1...100 {
                    monitor.withLock { $0.append(number) }
                    monitor.signal()
                }
            }
            for number in 1...100 {
                let next = monitor.wait(until: patience()) { $0.isEmpty ? nil : $0.removeFirst() }
                #expect(next == number)
            }
            thread.join()
        }
    }

    @Test("A wait ends at its deadline and not before it")
    func monitorDeadline() async throws {
        try await onOwnThread {
            let monitor = Monitor(0)
            let deadline = Deadline(after: .milliseconds(20), from: SystemClock().now())
            let result: Int? = monitor.wait(until: deadline) { _ in nil }
            #expect(result == nil)
            #expect(deadline.hasPassed(at: SystemClock().now()))
            // A deadline of the past still looks once.
            #expect(monitor.wait(until: Deadline(at: .init(nanoseconds: 0))) { $0 } == 0)
        }
    }

    @Test("Timers run in the order of their deadlines, whatever the order of scheduling")
    func timerOrder() async throws {
        try await onOwnThread {
            let timer = DeadlineTimer(name: "timer")
            let ran = Monitor<[Int]>([])
            let now = SystemClock().now()
            for step in [3, 1, 2, 5, 4] {
                let deadline = Deadline(after: .milliseconds(10 * step), from: now)
                try timer.schedule(at: deadline) {
                    #expect(deadline.hasPassed(at: SystemClock().now()))
                    ran.withLock { $0.append(step) }
                    ran.signal()
                }
            }
            let order = ran.wait(until: patience()) { $0.count == 5 ? $0 : nil }
            #expect(order == [1, 2, 3, 4, 5])
        }
    }

    @Test("A cancelled timer never runs, and cancelling twice says so")
    func timerCancelled() async throws {
        try await onOwnThread {
            let timer = DeadlineTimer(name: "timer")
            let ran = Monitor<[Int]>([])
            let soon = Deadline(after: .milliseconds(5), from: SystemClock().now())
            let later = Deadline(after: .milliseconds(30), from: SystemClock().now())
            let token = try timer.schedule(at: later) { ran.withLock { $0.append(1) } }
            #expect(timer.cancel(token))
            #expect(!timer.cancel(token))
            try timer.schedule(at: later) {
                ran.withLock { $0.append(2) }
                ran.signal()
            }
            let first = try timer.schedule(at: soon) {
                ran.withLock { $0.append(3) }
                ran.signal()
            }
            #expect(ran.wait(until: patience()) { $0.count == 2 ? $0 : nil } == [3, 2])
            #expect(!timer.cancel(first))
        }
    }

    @Test("A timer that goes away ends its thread, and what had time left never runs")
    func timerGoesAway() async throws {
        try await onOwnThread {
            let isGone = Monitor(false)
            final class Canary: Sendable {
                let monitor: Monitor<Bool>
                init(_ monitor: Monitor<Bool>) { self.monitor = monitor }
                deinit {
                    monitor.withLock { $0 = true }
                    monitor.signal()
                }
            }
            do {
                let canary = Canary(isGone)
                let timer = DeadlineTimer(name: "timer")
                try timer.schedule(at: Deadline(after: .seconds(600), from: SystemClock().now())) {
                    _ = canary
                    Issue.record("the timer was gone")
                }
            }
            #expect(isGone.wait(until: patience()) { $0 ? true : nil } == true)
        }
    }

    @Test("The clocks go on")
    func clocks() {
        let clock = SystemClock()
        let one = clock.now()
        clock.sleep(until: Deadline(after: .milliseconds(2), from: one))
        #expect(clock.now().duration(since: one) >= .milliseconds(2))
        // Later than when this was written, in milliseconds.
        #expect(SystemWallClock().milliseconds() > 1_790_000_000_000)
    }
}
