import LockkeeperDomain
import Testing

@testable import LockkeeperLocking

/// The line of one process's callers as a pure machine.
@Suite
struct AdmissionLineTests {
    private func instant(_ second: Int) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: Int64(second) * 1_000_000_000)
    }

    @Test("Work is admitted in the order of its submission, one for each admission")
    func order() {
        var line = AdmissionLine<Int>()
        for work in 1...3 { _ = line.submit(work, deadline: .never, now: instant(work)) }
        var admitted: [Int] = []
        while line.stand() == .enterTurnstile {
            guard let waiter = line.admit() else { break }
            #expect(waiter.since == instant(waiter.work))
            admitted.append(waiter.work)
            #expect(line.release() == (waiter.work < 3))
        }
        #expect(admitted == [1, 2, 3])
        #expect(line.stand() == .sleep)
    }

    // Found from outside: a helper that was stopped for half a minute gave up what had waited in its
    // line, because the deadline had run on.
    @Test("The time in which the process was stopped uses up nobody's patience")
    func standstill() {
        var line = AdmissionLine<Int>()
        for work in 1...2 {
            _ = line.submit(work, deadline: Deadline(at: instant(5)), now: instant(0))
        }
        // The timer was set to 5, and fires at 39.
        let late = line.expire(now: instant(39), kernelNow: instant(39))
        #expect(late.expired.isEmpty)
        #expect(late.setTimer == Deadline(at: instant(44)))
        let soon = line.expire(now: instant(44), kernelNow: instant(44))
        #expect(soon.expired.map(\.work) == [1, 2])
    }

    @Test("Others follow the first of an admission until it has lasted long enough")
    func followers() {
        var line = AdmissionLine<Int>(admissionTimeMax: .seconds(2))
        for work in 1...5 { _ = line.submit(work, deadline: .never, now: instant(0)) }
        #expect(line.stand() == .enterTurnstile)
        #expect(line.admit()?.work == 1)
        let admission = (1...3).map { second in
            line.admitAnother(grantedAt: instant(1), now: instant(second))?.work
        }
        #expect(admission == [2, 3, nil])
        #expect(line.release() == true)
        #expect(line.stand() == .enterTurnstile)
        #expect(line.admit()?.work == 4)
        line.suspend()
        let afterSuspension = line.admitAnother(grantedAt: instant(3), now: instant(3))
        #expect(afterSuspension == nil)
        #expect(line.count == 1, "who waits goes on waiting")
    }

    @Test("An admission ends also where the clock stands still")
    func followersAreBounded() {
        var line = AdmissionLine<Int>()
        let count = AdmissionLine<Int>.followerCountMax + 2
        for work in 1...count { _ = line.submit(work, deadline: .never, now: instant(0)) }
        #expect(line.stand() == .enterTurnstile)
        #expect(line.admit()?.work == 1)
        var last = 1
        while let next = line.admitAnother(grantedAt: instant(0), now: instant(0)) {
            last = next.work
        }
        #expect(last == count - 1)
        #expect(line.release() == true)
    }

    @Test("Only the first submission wakes the thread")
    func waking() {
        var line = AdmissionLine<Int>()
        #expect(wakes(line.submit(1, deadline: .never, now: instant(0))))
        #expect(line.stand() == .enterTurnstile)
        #expect(!wakes(line.submit(2, deadline: .never, now: instant(0))))
        #expect(line.admit()?.work == 1)
        #expect(!wakes(line.submit(3, deadline: .never, now: instant(0))))
    }

    @Test("The place of who gives up goes to the next one; granted to none, it is released")
    func placeGoesOn() throws {
        var line = AdmissionLine<Int>()
        let first = ticket(line.submit(1, deadline: .never, now: instant(0)))
        let second = ticket(line.submit(2, deadline: .never, now: instant(0)))
        #expect(line.stand() == .enterTurnstile)
        #expect(line.withdraw(first) == 1)
        #expect(line.withdraw(first) == nil)
        #expect(line.admit()?.work == 2)
        #expect(line.withdraw(second) == nil, "it was admitted already")
        #expect(line.release() == false)

        let third = ticket(line.submit(3, deadline: .never, now: instant(0)))
        #expect(line.stand() == .enterTurnstile)
        #expect(line.withdraw(third) == 3)
        #expect(line.admit() == nil)
        #expect(line.stand() == .sleep)
    }

    @Test("One timer serves all deadlines: set for the first and for a nearer one, and set anew")
    func timer() {
        var line = AdmissionLine<Int>()
        let (five, nine, two) = (
            Deadline(at: instant(5)), Deadline(at: instant(9)), Deadline(at: instant(2))
        )
        #expect(timer(line.submit(0, deadline: .never, now: instant(0))) == nil)
        #expect(timer(line.submit(5, deadline: five, now: instant(0))) == five)
        #expect(timer(line.submit(9, deadline: nine, now: instant(0))) == nil)
        #expect(timer(line.submit(2, deadline: two, now: instant(0))) == two)

        var outcome = line.expire(now: instant(2))
        #expect(outcome.expired.map(\.work) == [2])
        #expect(outcome.setTimer == five)
        // The timer that was first set for 5 fires as well as the new one: it is told nothing.
        outcome = line.expire(now: instant(5))
        #expect(outcome.expired.map(\.work) == [5])
        #expect(outcome.setTimer == nine)
        outcome = line.expire(now: instant(5))
        #expect(outcome.expired.isEmpty && outcome.setTimer == nil)
        outcome = line.expire(now: instant(9))
        #expect(outcome.expired.map(\.work) == [9])
        #expect(outcome.setTimer == nil)
        #expect(line.count == 1)
        #expect(timer(line.submit(20, deadline: Deadline(at: instant(20)), now: instant(9))) != nil)
    }

    @Test("Work whose timer cannot be had leaves, and the next one asks for a timer again")
    func timerFails() {
        var line = AdmissionLine<Int>()
        let five = Deadline(at: instant(5))
        let lost = ticket(line.submit(1, deadline: five, now: instant(0)))
        #expect(line.timerFailed(for: lost) == 1)
        #expect(timer(line.submit(2, deadline: five, now: instant(0))) == five)
    }

    @Test("A full line refuses and keeps who is in it (I-9)")
    func bound() {
        var line = AdmissionLine<Int>(waiterCountMax: 2)
        _ = line.submit(1, deadline: .never, now: instant(0))
        _ = line.submit(2, deadline: .never, now: instant(0))
        guard case .refused(_, .lineFull(2)) = line.submit(3, deadline: .never, now: instant(0))
        else {
            Issue.record("the third was taken")
            return
        }
        #expect(line.count == 2)
    }

    @Test("A failing turnstile fails the first in line alone")
    func turnstileFails() {
        var line = AdmissionLine<Int>()
        _ = line.submit(1, deadline: .never, now: instant(0))
        _ = line.submit(2, deadline: .never, now: instant(0))
        #expect(line.stand() == .enterTurnstile)
        #expect(line.refuse() == 1)
        #expect(line.stand() == .enterTurnstile)
        #expect(line.admit()?.work == 2)
    }

    @Test("A closed line takes nobody, gives everybody back and ends its thread after its work")
    func close() {
        var line = AdmissionLine<Int>()
        for work in 1...3 { _ = line.submit(work, deadline: .never, now: instant(0)) }
        #expect(line.stand() == .enterTurnstile)
        #expect(line.admit()?.work == 1)
        #expect(line.close().map(\.work) == [2, 3])
        guard case .refused(_, .closed) = line.submit(4, deadline: .never, now: instant(0)) else {
            Issue.record("a closed line took work")
            return
        }
        #expect(!line.hasEnded)
        #expect(line.release() == false)
        #expect(line.stand() == .end)
        #expect(line.hasEnded)
    }

    @Test("Seven live ones in a row, then a backfill; first in, first out within each class")
    func classes() {
        var line = AdmissionLine<Int>()
        for work in 101...103 {
            _ = line.submit(work, class: .backfill, deadline: .never, now: instant(0))
        }
        for work in 1...20 { _ = line.submit(work, deadline: .never, now: instant(0)) }
        let order = Array(1...7) + [101] + Array(8...14) + [102] + Array(15...20) + [103]
        #expect(admitAll(&line) == order)
        // A run counts only while a backfill waits.
        for work in 1...20 { _ = line.submit(work, deadline: .never, now: instant(0)) }
        #expect(admitAll(&line) == Array(1...20))
        _ = line.submit(101, class: .backfill, deadline: .never, now: instant(0))
        _ = line.submit(1, deadline: .never, now: instant(0))
        #expect(admitAll(&line) == [1, 101])
    }

    @Test(
        "Upkeep goes where nobody else waits, and after 63 others: it delays nobody and does not starve"
    )
    func upkeep() {
        var line = AdmissionLine<Int>()
        for work in 201...202 {
            _ = line.submit(work, class: .upkeep, deadline: .never, now: instant(0))
        }
        _ = line.submit(101, class: .backfill, deadline: .never, now: instant(0))
        _ = line.submit(1, deadline: .never, now: instant(0))
        #expect(admitAll(&line) == [1, 101, 201, 202])
        _ = line.submit(201, class: .upkeep, deadline: .never, now: instant(0))
        for work in 1...80 { _ = line.submit(work, deadline: .never, now: instant(0)) }
        #expect(admitAll(&line) == Array(1...63) + [201] + Array(64...80))
        // It leaves like the others.
        let soon = Deadline(at: instant(1))
        _ = line.submit(203, class: .upkeep, deadline: soon, now: instant(0))
        #expect(line.expire(now: instant(1)).expired.map(\.work) == [203])
        _ = line.submit(204, class: .upkeep, deadline: .never, now: instant(1))
        #expect(line.close().map(\.work) == [204])
    }

    @Test("A backfill that fills its line keeps no live work out (I-9)")
    func boundOfEachClass() {
        var line = AdmissionLine<Int>(waiterCountMax: 1)
        _ = line.submit(1, class: .backfill, deadline: .never, now: instant(0))
        guard
            case .refused(_, .lineFull(1)) =
                line.submit(2, class: .backfill, deadline: .never, now: instant(0)),
            case .waits = line.submit(3, class: .live, deadline: .never, now: instant(0))
        else {
            Issue.record("the classes share a bound")
            return
        }
    }

    @Test("Closing and deadlines take both classes, in the order in which they came")
    func bothClassesLeave() {
        var line = AdmissionLine<Int>()
        let soon = Deadline(at: instant(1))
        for work in 1...4 {
            let admissionClass: AdmissionClass = work.isMultiple(of: 2) ? .live : .backfill
            let deadline = work < 3 ? soon : .never
            _ = line.submit(work, class: admissionClass, deadline: deadline, now: instant(0))
        }
        #expect(line.expire(now: instant(1)).expired.map(\.work) == [1, 2])
        #expect(line.close().map(\.work) == [3, 4])
    }

    // B10
    @Test("A suspended line keeps who waits, takes nobody, and its thread parks between two works")
    func suspension() {
        var line = AdmissionLine<Int>()
        for work in 1...2 { _ = line.submit(work, deadline: .never, now: instant(0)) }
        #expect(line.stand() == .enterTurnstile)
        #expect(line.admit()?.work == 1)
        line.suspend()
        guard case .refused(_, .suspended) = line.submit(3, deadline: .never, now: instant(0))
        else {
            Issue.record("a suspended line took work")
            return
        }
        #expect(line.release() == true)
        #expect(line.stand() == .park)
        #expect(!line.isParked)
        line.parked()
        #expect(line.isParked)
        #expect(line.stand() == .sleep)
        let isResumed = line.resume()
        #expect(isResumed)
        #expect(line.stand() == .enterTurnstile)
        #expect(line.admit()?.work == 2)
    }

    // A workspace may be closed while its process comes back to an account.
    @Test("A line that is closed while its thread is parked is not resumed any more")
    func closedWhileParked() {
        var line = AdmissionLine<Int>()
        line.suspend()
        #expect(line.stand() == .park)
        line.parked()
        #expect(line.close().isEmpty)
        for hasEnded in [false, true] {
            if hasEnded { #expect(line.stand() == .end) }
            let isResumed = line.resume()
            #expect(!isResumed)
        }
    }

    @Test("A thread that was granted WRITER as its line was suspended takes nobody's work")
    func suspendedWhileStanding() {
        var line = AdmissionLine<Int>()
        _ = line.submit(1, deadline: .never, now: instant(0))
        #expect(line.stand() == .enterTurnstile)
        line.suspend()
        #expect(line.admit() == nil)
        #expect(line.stand() == .park)
        // Resumed before the thread has come to it: nothing was lost either.
        var early = AdmissionLine<Int>()
        _ = early.submit(1, deadline: .never, now: instant(0))
        #expect(early.stand() == .enterTurnstile)
        early.suspend()
        let isResumed = early.resumeBeforeParking()
        #expect(isResumed)
        #expect(early.admit()?.work == 1)
    }

    @Test("Looks begin when a wait for QUEUE has lasted, and end with it or with the last caller")
    func looks() {
        var line = AdmissionLine<Int>(passesQueueByAfter: .seconds(2))
        let first = ticket(line.submit(1, deadline: .never, now: instant(0)))
        #expect(line.stand() == .enterTurnstile)
        #expect(line.waitForQueue(now: instant(0)) == Deadline(at: instant(2)))
        // A short wait ends, and another begins, before the look: it is put off.
        #expect(line.admit()?.work == 1)
        #expect(line.withdraw(first) == nil)
        _ = line.submit(2, deadline: .never, now: instant(1))
        #expect(line.release() == true)
        #expect(line.stand() == .enterTurnstile)
        #expect(line.waitForQueue(now: instant(1)) == nil, "a look is scheduled already")
        #expect(line.lookIsDue(now: instant(2)) == .later(Deadline(at: instant(3))))
        #expect(line.lookIsDue(now: instant(3)) == .look)
        // Nobody waits any more: nobody is served by looking.
        let second = AdmissionTicket(number: 2)
        #expect(line.withdraw(second) == 2)
        #expect(line.lookIsDue(now: instant(5)) == .none)
        // Until somebody comes, whom the thread has a place for.
        guard case .waits(_, false, _, let look) = line.submit(3, deadline: .never, now: instant(9))
        else {
            Issue.record("refused")
            return
        }
        #expect(look == Deadline(at: instant(3)))
        line.waitForWriter()
        #expect(line.lookIsDue(now: instant(9)) == .none)
    }

    @Test("Every order of inputs up to depth 6 keeps the promises", arguments: [false, true])
    func exhaustive(suspends: Bool) {
        var explorer = LineExplorer(
            inputs: suspends
                ? [
                    .submitLong, .submitBackfill, .threadSteps, .turnstileFails, .timePasses,
                    .suspend, .resume, .close,
                ]
                : [
                    .submitLong, .submitShort, .withdrawFirst, .withdrawLast, .threadSteps,
                    .turnstileFails, .timePasses, .close,
                ]
        )
        explorer.explore(LineModel(), depth: 6)
        print("admission line: \(explorer.stateCount) orders of inputs")
        #expect(explorer.stateCount > 100_000)
        #expect(explorer.violations.isEmpty, "\(explorer.violations.first ?? "")")
    }

    private func admitAll(_ line: inout AdmissionLine<Int>) -> [Int] {
        var admitted: [Int] = []
        while line.stand() == .enterTurnstile {
            guard let waiter = line.admit() else { break }
            admitted.append(waiter.work)
            _ = line.release()
        }
        return admitted
    }

    private func wakes(_ submission: AdmissionLine<Int>.Submission) -> Bool {
        if case .waits(_, true, _, _) = submission { true } else { false }
    }

    private func ticket(_ submission: AdmissionLine<Int>.Submission) -> AdmissionTicket {
        switch submission {
        case .waits(let ticket, _, _, _), .refused(let ticket, _): ticket
        }
    }

    private func timer(_ submission: AdmissionLine<Int>.Submission) -> Deadline? {
        if case .waits(_, _, let deadline, _) = submission { deadline } else { nil }
    }
}
