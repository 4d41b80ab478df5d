import LockkeeperDomain
import Testing

@testable import LockkeeperLocking

/// What is concluded from looks at a turnstile, as a table.
@Suite
struct QueueWatchTests {
    private func instant(_ milliseconds: Int) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: Int64(milliseconds) * 1_000_000)
    }

    private func sight(
        _ count: UInt64,
        queue: Bool = true,
        writer: Bool = false,
        skip: Bool = false
    ) -> QueueWatch.Sight {
        QueueWatch.Sight(
            words: TurnstileWords(admissionCount: count, isQueuePassedBy: skip),
            isQueueHeld: queue,
            isWriterHeld: writer
        )
    }

    private func again(_ milliseconds: Int) -> QueueWatch.Conclusion {
        .lookAgain(Deadline(at: instant(milliseconds)))
    }

    @Test("WRITER free, QUEUE held and no admission for 20 ms: the holder is looked for")
    func suspicious() {
        var watch = QueueWatch(after: .milliseconds(20))
        #expect(watch.look(sight(5), now: instant(0)) == again(20))
        #expect(watch.look(sight(5), now: instant(19)) == again(39))
        #expect(watch.look(sight(5), now: instant(39)) == .findHolder)
        let deadline = Deadline(at: instant(60))
        for condition in [false, nil] {
            var watch = watch
            let conclusion = watch.judge(holderIsRunning: condition, now: instant(40))
            #expect(conclusion == .passBy(admissionCount: 5, deadline))
        }
    }

    @Test("A holder that is found running is given a second")
    func runningHolder() {
        var watch = QueueWatch(after: .milliseconds(20))
        _ = watch.look(sight(5), now: instant(0))
        for time in stride(from: 20, to: 1000, by: 20) {
            #expect(watch.look(sight(5), now: instant(time)) == .findHolder)
            #expect(watch.judge(holderIsRunning: true, now: instant(time)) == again(time + 20))
        }
        #expect(watch.look(sight(5), now: instant(1000)) == .findHolder)
        let conclusion = watch.judge(holderIsRunning: true, now: instant(1000))
        #expect(conclusion == .passBy(admissionCount: 5, Deadline(at: instant(1020))))
    }

    @Test(
        "Anything that a healthy turnstile does in between begins the time anew",
        arguments: [0, 1, 2]
    )
    func healthy(kind: Int) {
        var watch = QueueWatch(after: .milliseconds(20))
        _ = watch.look(sight(5), now: instant(0))
        let between = [sight(6), sight(5, writer: true), sight(5, queue: false)][kind]
        #expect(watch.look(between, now: instant(20)) == again(40))
        // An admission was the beginning of another suspicion; the others were of none.
        let next = watch.look(sight(kind == 0 ? 6 : 5), now: instant(40))
        #expect(next == (kind == 0 ? .findHolder : again(60)))
    }

    @Test("Long holds of WRITER are no reason, however long they last")
    func longHold() {
        var watch = QueueWatch(after: .milliseconds(20))
        for time in stride(from: 0, to: 10_000, by: 20) {
            #expect(watch.look(sight(5, writer: true), now: instant(time)) == again(time + 20))
        }
    }

    @Test("Where somebody else has set the skip word it is followed at once, while QUEUE is held")
    func skipWord() {
        var watch = QueueWatch(after: .milliseconds(20))
        let conclusion = watch.look(sight(5, writer: true, skip: true), now: instant(0))
        #expect(conclusion == .passBy(admissionCount: 5, Deadline(at: instant(20))))
        #expect(watch.look(sight(5, queue: false, skip: true), now: instant(20)) == again(40))
    }

    @Test("After a pause of this process itself nothing that was seen before it counts")
    func lateLook() {
        var watch = QueueWatch(after: .milliseconds(20))
        _ = watch.look(sight(5), now: instant(0))
        #expect(watch.look(sight(5), now: instant(5000)) == again(5020))
        #expect(watch.look(sight(5), now: instant(5020)) == .findHolder)
    }

    @Test("A thread that was not reached is told again")
    func repeated() {
        var watch = QueueWatch(after: .milliseconds(20))
        _ = watch.look(sight(5), now: instant(0))
        for time in [20, 40, 60] {
            #expect(watch.look(sight(5), now: instant(time)) == .findHolder)
            let conclusion = watch.judge(holderIsRunning: false, now: instant(time))
            #expect(
                conclusion == .passBy(admissionCount: 5, Deadline(at: instant(time + 20)))
            )
        }
    }

    @Test("No sequence of looks passes QUEUE by without 20 ms of stillness (all of 5 looks)")
    func exhaustive() {
        var sequenceCount = 0
        // Each look: what is seen, and how long after the one before it.
        func explore(_ watch: QueueWatch, time: Int, stillSince: Int?, count: UInt64, depth: Int) {
            sequenceCount += 1
            if depth == 0 { return }
            for pause in [10, 20] {
                for kind in 0..<4 {
                    let now = time + pause
                    let admissions = kind == 1 ? count + 1 : count
                    let seen = sight(admissions, queue: kind != 2, writer: kind == 3)
                    var next = watch
                    var still = stillSince
                    if kind >= 2 { still = nil }
                    if kind == 1 || (kind == 0 && still == nil) { still = now }
                    let conclusion = next.look(seen, now: instant(now))
                    if conclusion == .findHolder {
                        let isDue = still.map { now - $0 >= 20 } ?? false
                        #expect(isDue)
                    } else {
                        #expect(conclusion == again(now + 20))
                    }
                    explore(next, time: now, stillSince: still, count: admissions, depth: depth - 1)
                }
            }
        }
        let watch = QueueWatch(after: .milliseconds(20))
        explore(watch, time: 0, stillSince: nil, count: 0, depth: 5)
        print("queue watch: \(sequenceCount) sequences")
        #expect(sequenceCount > 30_000)
    }
}
