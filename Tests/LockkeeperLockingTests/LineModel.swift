import LockkeeperDomain

@testable import LockkeeperLocking

/// The line together with its surroundings: a thread that sleeps until it is woken, timers that
/// fire once, and what became of each piece of work.
struct LineModel {
    enum Input {
        case submitLong, submitShort, submitBackfill, withdrawFirst, withdrawLast, threadSteps
        case turnstileFails, timePasses, suspend, resume, close
    }

    enum Thread { case awake, asleep, standing, working, parking, parked, ended }

    var line = AdmissionLine<Int>(waiterCountMax: 3)
    var thread = Thread.awake
    var now = MonotonicInstant(nanoseconds: 0)
    var timers: [Deadline] = []
    var tickets: [AdmissionTicket] = []
    /// Work that was submitted and has no outcome yet, in order, with its deadline.
    var open: [(work: Int, class: AdmissionClass, deadline: Deadline)] = []
    var workCount = 0
    var grantedAt = MonotonicInstant(nanoseconds: 0)
    var violation: String?

    mutating func apply(_ input: Input) {
        switch input {
        case .submitLong: submit(.live, deadline: Deadline(after: .seconds(2), from: now))
        case .submitShort: submit(.live, deadline: Deadline(after: .seconds(1), from: now))
        case .submitBackfill: submit(.backfill, deadline: Deadline(after: .seconds(2), from: now))
        case .withdrawFirst: withdraw(tickets.first)
        case .withdrawLast: withdraw(tickets.last)
        case .threadSteps: step()
        case .turnstileFails:
            if thread == .standing {
                if let work = line.refuse() { settle(work, mustBeFirst: true) }
                thread = .awake
            }
        case .timePasses: passTime()
        case .suspend:
            line.suspend()
            // The thread is woken, or called out of the turnstile.
            if thread == .asleep { thread = .awake }
            if thread == .standing {
                line.retreat()
                thread = .awake
            }
        case .resume:
            if line.isClosed { break }
            if !line.resumeBeforeParking() {
                if thread == .parking { step() }
                if line.suspension != nil, !line.resume() {
                    violation = "an open line was not resumed"
                }
            }
            if thread == .parked || thread == .asleep { thread = .awake }
        case .close:
            for waiter in line.close() { settle(waiter.work, mustBeFirst: false) }
            if !open.isEmpty { violation = "closing left somebody in line" }
            if thread == .asleep || thread == .parked { thread = .awake }
        }
        check()
    }

    private mutating func submit(_ admissionClass: AdmissionClass, deadline: Deadline) {
        workCount += 1
        switch line.submit(workCount, class: admissionClass, deadline: deadline, now: now) {
        case .refused: break
        case .waits(let ticket, let wakesThread, let timer, _):
            open.append((workCount, admissionClass, deadline))
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
        case .asleep, .parked, .ended: break
        case .parking:
            line.parked()
            // It looks at once whether it was resumed meanwhile.
            thread = .awake
        case .awake:
            switch line.stand() {
            case .sleep: thread = line.isParked ? .parked : .asleep
            case .park: thread = .parking
            case .enterTurnstile: thread = .standing
            case .end: thread = .ended
            }
        case .standing:
            if let waiter = line.admit() {
                grantedAt = now
                settle(waiter.work, mustBeFirst: true)
                thread = .working
            } else {
                thread = .awake
            }
        case .working:
            if let waiter = line.admitAnother(grantedAt: grantedAt, now: now) {
                settle(waiter.work, mustBeFirst: true)
                break
            }
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
        // So few inputs hold no run of live ones that is long enough for a backfill to go first.
        let sameClass = open.firstIndex { $0.class == open[index].class }
        let liveWaits = open.contains { $0.class == .live }
        if mustBeFirst && (sameClass != index || open[index].class == .backfill && liveWaits) {
            violation = "work \(work) overtook another"
        }
        open.remove(at: index)
    }

    private mutating func check() {
        if line.count != open.count { violation = "the line forgot or invented somebody" }
        if thread == .asleep && !open.isEmpty { violation = "the thread sleeps while work waits" }
        if thread == .parked && line.suspension == nil && !line.isClosed {
            violation = "the thread is parked for nobody"
        }
        if thread == .ended && !open.isEmpty { violation = "the thread ended while work waits" }
    }
}

/// All sequences of some inputs.
struct LineExplorer {
    let inputs: [LineModel.Input]
    var stateCount = 0
    var violations: [String] = []

    init(inputs: [LineModel.Input]) { self.inputs = inputs }

    mutating func explore(_ model: LineModel, depth: Int, path: [LineModel.Input] = []) {
        stateCount += 1
        if let violation = model.violation {
            violations.append("\(violation) after \(path)")
            return
        }
        if depth == 0 || !violations.isEmpty { return }
        for input in inputs {
            var next = model
            next.apply(input)
            explore(next, depth: depth - 1, path: path + [input])
        }
    }
}
