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

    @Test("Every order of inputs up to depth 6 keeps the promises")
    func exhaustive() {
        var explorer = Explorer()
        explorer.explore(LineModel(), depth: 6)
        #expect(explorer.stateCount > 100_000)
        #expect(explorer.violations.isEmpty, "\(explorer.violations.first ?? "")")
    }

    private func wakes(_ submission: AdmissionLine<Int>.Submission) -> Bool {
        if case .waits(_, true, _) = submission { true } else { false }
    }

    private func ticket(_ submission: AdmissionLine<Int>.Submission) -> AdmissionTicket {
        switch submission {
        case .waits(let ticket, _, _), .refused(let ticket, _): ticket
        }
    }

    private func timer(_ submission: AdmissionLine<Int>.Submission) -> Deadline? {
        if case .waits(_, _, let deadline) = submission { deadline } else { nil }
    }
}

/// The line together with its surroundings: a thread that sleeps until it is woken, timers that
/// fire once, and what became of each piece of work.
private struct LineModel {
    enum Input: CaseIterable {
        case submitLong, submitShort, withdrawFirst, withdrawLast, threadSteps, turnstileFails
        case timePasses, close
    }

    enum Thread { case awake, asleep, standing, working, ended }

    var line = AdmissionLine<Int>(waiterCountMax: 3)
    var thread = Thread.awake
    var now = MonotonicInstant(nanoseconds: 0)
    var timers: [Deadline] = []
    var tickets: [AdmissionTicket] = []
    /// Work that was submitted and has no outcome yet, in order, with its deadline.
    var open: [(work: Int, deadline: Deadline)] = []
    var workCount = 0
    var violation: String?

    mutating func apply(_ input: Input) {
        switch input {
        case .submitLong: submit(deadline: Deadline(after: .seconds(2), from: now))
        case .submitShort: submit(deadline: Deadline(after: .seconds(1), from: now))
        case .withdrawFirst: withdraw(tickets.first)
        case .withdrawLast: withdraw(tickets.last)
        case .threadSteps: step()
        case .turnstileFails:
            if thread == .standing {
                if let work = line.refuse() { settle(work, mustBeFirst: true) }
                thread = .awake
            }
        case .timePasses: passTime()
        case .close:
            for waiter in line.close() { settle(waiter.work, mustBeFirst: true) }
            if !open.isEmpty { violation = "closing left somebody in line" }
            if thread == .asleep { thread = .awake }
        }
        check()
    }

    private mutating func submit(deadline: Deadline) {
        workCount += 1
        switch line.submit(workCount, deadline: deadline, now: now) {
        case .refused: break
        case .waits(let ticket, let wakesThread, let timer):
            open.append((workCount, deadline))
            tickets.append(ticket)
            if wakesThread, thread == .asleep { thread = .awake }
            if let timer { timers.append(timer) }
        }
    }

    private mutating func withdraw(_ ticket: AdmissionTicket?) {
        guard let ticket else { return }
        tickets.removeAll { $0 == ticket }
        if let work = line.withdraw(ticket) { settle(work, mustBeFirst: false) }
    }

    private mutating func step() {
        switch thread {
        case .asleep, .ended: break
        case .awake:
            switch line.stand() {
            case .sleep: thread = .asleep
            case .enterTurnstile: thread = .standing
            case .end: thread = .ended
            }
        case .standing:
            if let waiter = line.admit() {
                settle(waiter.work, mustBeFirst: true)
                thread = .working
            } else {
                thread = .awake
            }
        case .working:
            let othersWait = line.release()
            if othersWait != !open.isEmpty { violation = "release miscounts those who wait" }
            thread = .awake
        }
    }

    private mutating func passTime() {
        now = now.advanced(by: .seconds(1))
        let due = timers.filter { $0.hasPassed(at: now) }
        timers.removeAll { $0.hasPassed(at: now) }
        for _ in due {
            let (expired, timer) = line.expire(now: now)
            for waiter in expired { settle(waiter.work, mustBeFirst: false) }
            if let timer { timers.append(timer) }
        }
        if open.contains(where: { $0.deadline.hasPassed(at: now) }) {
            violation = "somebody waits past the deadline"
        }
    }

    /// An outcome: each piece of work has one at most, and admissions come in order.
    private mutating func settle(_ work: Int, mustBeFirst: Bool) {
        guard let index = open.firstIndex(where: { $0.work == work }) else {
            violation = "work \(work) has two outcomes"
            return
        }
        if mustBeFirst && index != 0 { violation = "work \(work) overtook another" }
        open.remove(at: index)
    }

    private mutating func check() {
        if line.count != open.count { violation = "the line forgot or invented somebody" }
        if thread == .asleep && !open.isEmpty { violation = "the thread sleeps while work waits" }
        if thread == .ended && !open.isEmpty { violation = "the thread ended while work waits" }
    }
}

private struct Explorer {
    var stateCount = 0
    var violations: [String] = []

    mutating func explore(_ model: LineModel, depth: Int, path: [LineModel.Input] = []) {
        stateCount += 1
        if let violation = model.violation {
            violations.append("\(violation) after \(path)")
            return
        }
        if depth == 0 || !violations.isEmpty { return }
        for input in LineModel.Input.allCases {
            var next = model
            next.apply(input)
            explore(next, depth: depth - 1, path: path + [input])
        }
    }
}
