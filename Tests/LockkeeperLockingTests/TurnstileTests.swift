import Glibc
import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperTestSupport
import Synchronization
import Testing

/// Fair admission between descriptions, each of which stands for a process (I-1).
@Suite
struct TurnstileTests {
    @Test("Who stands in QUEUE is never overtaken: of two each has every second admission")
    func alternation() async throws {
        let winners = try await race(contenderCount: 2, admissionCount: 600)
        for (one, next) in zip(winners, winners.dropFirst()) { #expect(one != next) }
    }

    @Test("Of three nobody is admitted twice in a row, and all have their share")
    func threeContenders() async throws {
        // A contender whose processor other work takes away has no share of anything: one race in
        // which all have a processor shows what the turnstile does.
        var leastShare = 0.0
        for _ in 0..<5 where leastShare < 1.0 / 12 {
            let winners = try await race(contenderCount: 3, admissionCount: 900)
            for (one, next) in zip(winners, winners.dropFirst()) { #expect(one != next) }
            let counts = (0..<3).map { contender in winners.count { $0 == contender } }
            leastShare = max(leastShare, Double(counts.min() ?? 0) / Double(winners.count))
        }
        #expect(leastShare >= 1.0 / 12)
    }

    @Test("The admission count rises by one for each admission, whoever it is")
    func admissionCount() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let one = try Turnstile(membership)
            let other = try Turnstile(membership)
            for expected in 1...20 {
                let admission = try (expected.isMultiple(of: 3) ? one : other).enter()
                #expect(admission.number == UInt64(expected))
                #expect(try membership.isHeld(.writer, against: .exclusive))
                #expect(try !membership.isHeld(.queue, against: .exclusive))
            }
            #expect(try !membership.isHeld(.writer, against: .exclusive))
            #expect(try membership.admissionCount() == 20)
        }
    }

    @Test("A killed process lets its admission and its place go at once (I-12)")
    func killedHolder() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let foreign = try ForeignProcess(directory, bytes: [20, 19])
            let isKilled = Atomic<Bool>(false)
            let waiter = try WorkerThread.start(name: "waiter") {
                do {
                    let admission = try Turnstile(membership).enter()
                    #expect(admission.number == 1)
                    let wasKilled = isKilled.load(ordering: .acquiring)
                    #expect(wasKilled)
                } catch {
                    Issue.record(error)
                }
            }
            isKilled.store(true, ordering: .releasing)
            try foreign.kill()
            waiter.join()
        }
    }

    @Test("A waiter that is granted the lock after closing lets it go and says so")
    func closedWhileWaiting() async throws {
        let directory = try TemporaryDirectory()
        try await onOwnThread {
            let membership = try makeMembership(directory)
            let held = try Turnstile(membership).enter()
            let turnstile = try Turnstile(membership)
            let failure = Mutex<LockingError?>(nil)
            let waiter = try WorkerThread.start(name: "waiter") {
                do throws(LockingError) {
                    _ = try turnstile.enter()
                } catch {
                    failure.withLock { $0 = error }
                }
            }
            #expect(try eventually { try membership.isHeld(.queue, against: .exclusive) })
            turnstile.close()
            held.leave()
            waiter.join()
            #expect(failure.withLock { $0 } == .closed)
            #expect(try !membership.isHeld(.queue, against: .exclusive))
            #expect(try !membership.isHeld(.writer, against: .exclusive))
        }
    }

    /// Contenders enter, wait until somebody stands in QUEUE, leave, and enter again at once: with
    /// a plain lock the one that leaves would win again. Returns the winners in order.
    private func race(contenderCount: Int, admissionCount: Int) async throws -> [Int] {
        let directory = try TemporaryDirectory()
        return try await onOwnThread {
            let membership = try makeMembership(directory)
            let winners = Mutex<[Int]>([])
            let threads = try (0..<contenderCount).map { contender in
                let turnstile = try Turnstile(membership)
                return try WorkerThread.start(name: "contender") {
                    do {
                        while true {
                            let admission = try turnstile.enter()
                            let count = winners.withLock { winners in
                                winners.append(contender)
                                return winners.count
                            }
                            // The last ones have nobody to wait for.
                            if count > admissionCount { return }
                            let isFollowed = try eventually {
                                try membership.isHeld(.queue, against: .exclusive)
                            }
                            if !isFollowed {
                                Issue.record("nobody stands in QUEUE")
                                return
                            }
                            admission.leave()
                        }
                    } catch {
                        Issue.record(error)
                    }
                }
            }
            for thread in threads { thread.join() }
            return Array(winners.withLock { $0 }.prefix(admissionCount))
        }
    }
}
