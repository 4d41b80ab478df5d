package import LockkeeperDomain
import LockkeeperPlatform
import Synchronization

/// The one thread of the process that writes to an account, with the line of callers before it.
///
/// A blocked file lock has no timeout, and two waits on one description do not exclude each other.
/// So one thread blocks, with all signals blocked but one, for whoever is first when the lock is
/// granted; callers wait in a line of this process, from which they can leave at once (B11). Work
/// runs on this thread, because each hop to another one costs a write 10 to 15 %.
///
/// The thread that is blocked cannot look whether QUEUE's holder is stopped. The timer's thread
/// does, once the wait has lasted for ``Limits/queuePassedByAfter``; where it finds so it
/// interrupts the thread, which passes QUEUE by (``QueueWatch``, ``Passage``). In the same way the
/// thread is called out of the kernel to be suspended or closed: it leaves no lock and no place
/// behind.
///
/// Lock rules
/// 1. `line` is never held while work runs, a lock is waited for or the holders are looked for.
/// 2. Work never waits for other work of the same line, and never calls ``close(until:)`` or
///    ``suspend(_:until:)``.
/// 3. Only the thread uses the turnstile; `resume` gives it a new one while it is parked.
///
/// The thread keeps the object alive: ``close(until:)`` must be called.
package final class WriterThread: Sendable {
    private let membership: LockFileMembership
    private let clock: any MonotonicClock
    private let mark = ForkMark.current
    private let line: Monitor<AdmissionLine<any AdmittedWork>>
    private let timer = DeadlineTimer(name: "lk-deadlines")
    private let orders = TurnstileOrders()
    private let turnstile: Monitor<Turnstile?>
    private let thread = Mutex<WorkerThread?>(nil)

    /// How long a record may say what the thread did last, while it does nothing. Each activity is
    /// a call, and a writer that is busy writes down the next one before anybody reads this one.
    private static let idleRecordDelay: Duration = .milliseconds(20)
    /// How long an interrupted thread is given to answer before it is interrupted again.
    private static let interruptionInterval: Duration = .milliseconds(1)

    /// Starts the thread.
    ///
    /// - Throws: ``LockingError/lockFileReplaced(path:)`` when newcomers lock another file;
    ///   ``LockingError/suspended`` while the membership is detached;
    ///   ``LockingError/forkedChild`` in a child of the process that opened the membership;
    ///   ``LockingError/system(_:)`` when the kernel refuses.
    package static func start(
        _ membership: LockFileMembership,
        limits: Limits = Limits()
    ) throws(LockingError) -> WriterThread {
        let writer = try WriterThread(membership, limits)
        let thread = try systemCalls { () throws(SystemCallError) in
            try WorkerThread.start(name: "lk-writer", isInterruptible: true) { writer.run() }
        }
        writer.thread.withLock { $0 = thread }
        return writer
    }

    private init(_ membership: LockFileMembership, _ limits: Limits) throws(LockingError) {
        self.membership = membership
        clock = membership.clock
        line = Monitor(
            AdmissionLine(
                waiterCountMax: limits.queueEventCountMax,
                passesQueueByAfter: limits.queuePassedByAfter,
                admissionTimeMax: limits.admissionTimeMax
            )
        )
        turnstile = Monitor(try Turnstile(membership, orders: orders))
    }

    // MARK: - Callers

    /// Puts work at the end of its class; live work goes before backfill. It is performed, or
    /// fails: with ``LockingError/busy(_:holders:waited:)`` at the deadline, with
    /// ``LockingError/closed``, ``LockingError/suspended``, ``LockingError/forkedChild``,
    /// ``LockingError/lineFull(waiterCountMax:)``, or with what the turnstile failed with. Work
    /// that cannot be taken fails before this returns.
    @discardableResult
    package func submit(
        _ work: some AdmittedWork,
        class admissionClass: AdmissionClass = .live,
        deadline: Deadline
    ) -> AdmissionTicket {
        guard mark.isCurrent else {
            work.fail(.forkedChild)
            return AdmissionTicket(number: 0)
        }
        let now = clock.now()
        let submission = line.withLock {
            $0.submit(work, class: admissionClass, deadline: deadline, now: now)
        }
        switch submission {
        case .refused(let ticket, let error):
            work.fail(error)
            return ticket
        case .waits(let ticket, let wakesThread, let deadline, let look):
            if wakesThread { line.broadcast() }
            if let look { scheduleLook(look) }
            if let deadline, let error = setTimer(deadline) {
                line.withLock { $0.timerFailed(for: ticket) }?.fail(.system(error))
            }
            return ticket
        }
    }

    /// Takes work back.
    ///
    /// - Returns: Whether it was still waiting; then nothing of it is called any more. `false`: it
    ///   was admitted, or has failed.
    @discardableResult
    package func withdraw(_ ticket: AdmissionTicket) -> Bool {
        guard mark.isCurrent else { return false }
        return line.withLock { $0.withdraw(ticket) } != nil
    }

    // MARK: - Its life

    /// Makes the thread hold nothing of the account: waits for work that is running, calls the
    /// thread out of the turnstile, and closes its descriptor. Who waits in line goes on waiting,
    /// to the deadline. The second time only what it says of new work is changed. Blocks the
    /// thread.
    ///
    /// - Parameter suspension: What becomes of work that is submitted meanwhile.
    /// - Returns: Whether the thread holds nothing now. `false`: at the deadline work was still
    ///   running; the thread lets go as soon as that has ended, and calling again waits for it.
    /// - Throws: ``LockingError/closed`` after ``close(until:)``; ``LockingError/forkedChild`` in a
    ///   forked child.
    package func suspend(
        _ suspension: Suspension = .refusing,
        until deadline: Deadline
    ) throws(LockingError) -> Bool {
        guard mark.isCurrent else { throw .forkedChild }
        line.withLock { $0.suspend(suspension) }
        orders.suspend()
        line.broadcast()
        let isParked = waitForThread(until: deadline) { $0.isParked || $0.hasEnded }
        if line.withLock({ $0.hasEnded }) { throw .closed }
        return isParked
    }

    /// Goes on with the line where ``suspend(_:until:)`` left it. The two are called by one thread at
    /// a time.
    ///
    /// - Throws: As ``start(_:limits:)``, and ``LockingError/closed`` after ``close(until:)``. The
    ///   thread is still suspended then.
    package func resume() throws(LockingError) {
        guard mark.isCurrent else { throw .forkedChild }
        if line.withLock({ $0.isClosed }) { throw .closed }
        // Where the thread is still at work it keeps its turnstile.
        if !line.withLock({ $0.resumeBeforeParking() }) {
            let isParked = line.wait(until: .never) { line in
                line.isParked || line.isClosed ? line.isParked : nil
            }
            guard isParked == true, !line.withLock({ $0.isClosed }) else { throw .closed }
            let fresh = try Turnstile(membership, orders: orders)
            turnstile.withLock { $0 = fresh }
            guard line.withLock({ $0.resume() }) else { throw .closed }
        }
        orders.resume()
        line.broadcast()
    }

    /// Lets nobody in any more, fails those who wait with ``LockingError/closed``, calls the thread
    /// out of the turnstile, lets work that was admitted finish, and waits until the thread has
    /// ended. In a forked child, where there is no such thread, it does nothing. Blocks the thread.
    ///
    /// - Returns: Whether the thread has ended. `false`: at the deadline it still works, and then
    ///   ends.
    @discardableResult
    package func close(until deadline: Deadline) -> Bool {
        guard mark.isCurrent else { return true }
        let waiters = line.withLock { $0.close() }
        orders.close()
        for waiter in waiters { waiter.work.fail(.closed) }
        line.broadcast()
        guard waitForThread(until: deadline, { $0.hasEnded }) else { return false }
        thread.withLock { $0 }?.join()
        return true
    }

    /// Waits for a state of the line that the thread brings about, and calls it out of the
    /// turnstile for as long as it stands there: an interruption that comes just before it blocks
    /// is lost.
    private func waitForThread(
        until deadline: Deadline,
        _ isReached: (AdmissionLine<any AdmittedWork>) -> Bool
    ) -> Bool {
        let kernel = SystemClock()
        while true {
            var isStanding = false
            line.withLock { isStanding = $0.isStanding }
            if isStanding { _ = thread.withLock { $0 }?.interrupt() }
            let pause =
                isStanding
                ? Deadline(after: Self.interruptionInterval, from: kernel.now()) : .never
            let isOver = line.wait(until: min(deadline, pause)) { isReached($0) ? true : nil }
            if isOver == true { return true }
            if deadline.hasPassed(at: kernel.now()) { return false }
        }
    }

    // MARK: - On the thread

    private func run() {
        // What the record says of this thread; `nil` where it says nothing, or that it is idle.
        var recorded: ProcessActivity?
        loop: while true {
            switch nextStep(&recorded) {
            case .enterTurnstile: standForTheFirst(&recorded)
            case .park:
                leaveAccount(&recorded)
                line.withLock { $0.parked() }
                line.broadcast()
            case .end: break loop
            case .sleep: preconditionFailure("the wait goes on while there is nothing to do")
            }
        }
        leaveAccount(&recorded)
        line.broadcast()
    }

    private func leaveAccount(_ recorded: inout ProcessActivity?) {
        recordIdle(&recorded)
        turnstile.withLock { $0 = nil }
    }

    /// Waits for something to do, and after a while writes down that it waits.
    private func nextStep(
        _ recorded: inout ProcessActivity?
    ) -> AdmissionLine<any AdmittedWork>.Step {
        if recorded != nil {
            let soon = Deadline(after: Self.idleRecordDelay, from: SystemClock().now())
            if let step = waitForStep(until: soon) { return step }
            recordIdle(&recorded)
        }
        while true { if let step = waitForStep(until: .never) { return step } }
    }

    private func waitForStep(
        until deadline: Deadline
    ) -> AdmissionLine<any AdmittedWork>.Step? {
        line.wait(until: deadline) { line in
            let step = line.stand()
            return step == .sleep ? nil : step
        }
    }

    private func recordIdle(_ recorded: inout ProcessActivity?) {
        // A record that says something else misleads a reader until the next activity.
        if let activity = recorded { try? membership.setIdle(after: activity) }
        recorded = nil
    }

    /// One admission: the first unit of work in line, and those behind it for as long as
    /// ``AdmissionLine`` lets them follow.
    ///
    /// A process that is admitted finds SQLite's cache of pages void, because others have written
    /// meanwhile. Work that follows finds it filled, and needs no way through the turnstile and no
    /// change of thread or process.
    private func standForTheFirst(_ recorded: inout ProcessActivity?) {
        let admission: Admission
        do throws(LockingError) {
            guard let turnstile = turnstile.withLock({ $0 }) else {
                preconditionFailure("a thread that is not parked has a turnstile")
            }
            admission = try enter(turnstile, &recorded)
        } catch .closed {
            return line.withLock { $0.retreat() }
        } catch {
            line.withLock { $0.refuse() }?.fail(error)
            return
        }
        guard let first = line.withLock({ $0.admit() }) else { return admission.leave() }
        // The record is only for people once WRITER is held: work does not fail for it.
        try? membership.setActivity(.writing)
        recorded = .writing
        let performed = performInLine(from: first)
        admission.leave()
        let othersWait = line.withLock { $0.release() }
        for (index, work) in performed.enumerated() {
            let isLast = index == performed.count - 1
            work.finish(before: !isLast ? .sameAdmission : othersWait ? .line : .nobody)
        }
    }

    /// Performs what stands in line, one after the other, and returns it.
    private func performInLine(
        from first: AdmissionLine<any AdmittedWork>.Waiter
    ) -> [any AdmittedWork] {
        let grantedAt = clock.now()
        var now = grantedAt
        var performed: [any AdmittedWork] = []
        var next: AdmissionLine<any AdmittedWork>.Waiter? = first
        while let waiter = next {
            waiter.work.perform(waited: now.duration(since: waiter.since))
            performed.append(waiter.work)
            now = clock.now()
            next = line.withLock { $0.admitAnother(grantedAt: grantedAt, now: now) }
        }
        return performed
    }

    private func enter(
        _ turnstile: Turnstile,
        _ recorded: inout ProcessActivity?
    ) throws(LockingError) -> Admission {
        var saysWaiting = false
        return try turnstile.enter { (lock) throws(LockingError) in
            if !saysWaiting {
                try membership.setActivity(.waiting)
                saysWaiting = true
                recorded = .waiting
            }
            guard lock == .queue else { return line.withLock { $0.waitForWriter() } }
            let now = clock.now()
            if let look = line.withLock({ $0.waitForQueue(now: now) }) { scheduleLook(look) }
        }
    }

    // MARK: - Deadlines

    private func setTimer(_ deadline: Deadline) -> SystemCallError? {
        do throws(SystemCallError) {
            try timer.schedule(at: deadline) { [weak self] in self?.expire() }
            return nil
        } catch {
            return error
        }
    }

    private func expire() {
        let now = clock.now()
        let (expired, next, suspension, isStanding) = line.withLock { line in
            let (expired, next) = line.expire(now: now, kernelNow: SystemClock().now())
            return (expired, next, line.suspension, line.isStanding)
        }
        // It runs on the timer's thread, so that none has to be started, which is all that fails.
        if let next { _ = setTimer(next) }
        if expired.isEmpty { return }
        if suspension == .refusing {
            for waiter in expired { waiter.work.fail(.suspended) }
            return
        }
        // Who keeps work for the end of exclusive work waits for who holds the door.
        let locks: [LockByte] = suspension == nil ? [.writer, .queue] : [.entry, .presence]
        // A thread that stands in the turnstile is not in its own way: a process that was stopped and
        // goes on may just be coming to its turn.
        let (lock, holders) = whoeverIsInTheWay(of: locks, includingSelf: !isStanding)
        for waiter in expired {
            let waited = now.duration(since: waiter.since)
            waiter.work.fail(.busy(lock, holders: holders, waited: waited))
        }
    }

    /// The holders of the first lock that has one, WRITER before QUEUE. They are for the sentence: an
    /// error here must not hide that the deadline has passed.
    private func whoeverIsInTheWay(
        of locks: [LockByte],
        includingSelf: Bool
    ) -> (LockByte, [Holder]) {
        for lock in locks {
            let holders = try? membership.holders(of: lock, includingSelf: includingSelf)
            if let holders, !holders.isEmpty { return (lock, holders) }
        }
        return (locks[0], [])
    }

    // MARK: - Looks

    /// Where no timer can be had the turnstile is not looked at until the next wait: a stopped
    /// holder then costs waiters their deadline, as one inside a transaction does.
    private func scheduleLook(_ deadline: Deadline) {
        do throws(SystemCallError) {
            try timer.schedule(at: deadline) { [weak self] in self?.lookAtTurnstile() }
        } catch {
            line.withLock { $0.lookFailed() }
        }
    }

    private func lookAtTurnstile() {
        let now = clock.now()
        switch line.withLock({ $0.lookIsDue(now: now) }) {
        case .none: return
        case .later(let deadline): return scheduleLook(deadline)
        case .look: break
        }
        switch conclusion() {
        case .lookAgain(let deadline): scheduleLook(deadline)
        case .passBy(let admissionCount, let deadline):
            orders.passBy(at: admissionCount)
            _ = thread.withLock { $0 }?.interrupt()
            scheduleLook(deadline)
        case .findHolder, nil: return
        }
    }

    /// Looks, and looks for QUEUE's holder where it seems not to run; `nil` where the thread waits
    /// for QUEUE no longer.
    private func conclusion() -> QueueWatch.Conclusion? {
        let first = look()
        guard first == .findHolder else { return first }
        let isRunning = isQueueHolderRunning()
        // Finding it takes a while, in which it may have gone on: nobody was found then.
        let second = look()
        guard second == .findHolder else { return second }
        let now = clock.now()
        return line.withLock { $0.judged(holderIsRunning: isRunning, now: now) }
    }

    private func look() -> QueueWatch.Conclusion? {
        guard let sight = try? membership.sight() else {
            // A kernel that refuses to be asked answers at the next wait, perhaps.
            line.withLock { $0.lookFailed() }
            return nil
        }
        let now = clock.now()
        return line.withLock { $0.looked(sight, now: now) }
    }

    /// Whether a holder of QUEUE runs; `nil` where none is found.
    private func isQueueHolderRunning() -> Bool? {
        guard let holders = try? membership.holders(of: .queue), !holders.isEmpty else {
            return nil
        }
        return holders.contains { $0.condition == .running }
    }
}
