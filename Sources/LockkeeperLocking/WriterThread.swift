package import LockkeeperDomain
import LockkeeperPlatform
import Synchronization

/// The one thread of the process that writes to an account, with the line of callers before it.
///
/// A blocked file lock has no timeout, and two waits on one description do not exclude each other.
/// So one thread blocks, with all signals blocked, for whoever is first when the lock is granted;
/// callers wait in a line of this process, from which they can leave at once (B11). Work runs on
/// this thread, because each hop to another one costs a write 10 to 15 %.
///
/// Lock rules
/// 1. `line` is never held while work runs, a lock is waited for or the holders are looked for.
/// 2. Work never waits for other work of the same line, and never calls ``close(until:)``.
///
/// The thread keeps the object alive: ``close(until:)`` must be called.
package final class WriterThread: Sendable {
    private let membership: LockFileMembership
    private let turnstile: Turnstile
    private let clock: any MonotonicClock
    private let line = Monitor(AdmissionLine<any AdmittedWork>())
    private let timer = DeadlineTimer(name: "lk-deadlines")
    private let thread = Mutex<WorkerThread?>(nil)

    /// Starts the thread.
    ///
    /// - Throws: ``LockingError/lockFileReplaced(path:)`` when newcomers lock another file;
    ///   ``LockingError/system(_:)`` when the kernel refuses.
    package static func start(
        _ membership: LockFileMembership
    ) throws(LockingError) -> WriterThread {
        let writer = WriterThread(membership, try Turnstile(membership))
        let thread = try systemCalls { () throws(SystemCallError) in
            try WorkerThread.start(name: "lk-writer") { writer.run() }
        }
        writer.thread.withLock { $0 = thread }
        return writer
    }

    private init(_ membership: LockFileMembership, _ turnstile: Turnstile) {
        self.membership = membership
        self.turnstile = turnstile
        clock = membership.clock
    }

    /// Puts work at the end of the line. It is performed, or fails: with
    /// ``LockingError/busy(_:holders:waited:)`` at the deadline, with ``LockingError/closed``,
    /// ``LockingError/lineFull(waiterCountMax:)``, or with what the turnstile failed with. Work
    /// that cannot be taken fails before this returns.
    @discardableResult
    package func submit(
        _ work: some AdmittedWork,
        deadline: Deadline
    ) -> AdmissionTicket {
        let now = clock.now()
        switch line.withLock({ $0.submit(work, deadline: deadline, now: now) }) {
        case .refused(let ticket, let error):
            work.fail(error)
            return ticket
        case .waits(let ticket, let wakesThread, let deadline):
            if wakesThread { line.broadcast() }
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
        line.withLock { $0.withdraw(ticket) } != nil
    }

    /// Lets nobody in any more, fails those who wait with ``LockingError/closed``, lets work that
    /// was admitted finish, and waits until the thread has ended. Blocks the thread.
    ///
    /// - Returns: Whether the thread has ended. `false`: at the deadline it still works, or stands
    ///   behind another process; it then lets go of what it is granted at once, and ends.
    @discardableResult
    package func close(until deadline: Deadline) -> Bool {
        turnstile.close()
        for waiter in line.withLock({ $0.close() }) { waiter.work.fail(.closed) }
        line.broadcast()
        guard line.wait(until: deadline, for: { $0.hasEnded ? true : nil }) != nil else {
            return false
        }
        thread.withLock { $0 }?.join()
        return true
    }

    // MARK: - On the thread

    private func run() {
        while true {
            let step = line.wait(until: .never) { line in
                let step = line.stand()
                return step == .sleep ? nil : step
            }
            guard step == .enterTurnstile else { break }
            standForTheFirst()
        }
        line.broadcast()
    }

    /// One admission: one unit of work.
    private func standForTheFirst() {
        let admission: Admission
        do throws(LockingError) {
            admission = try turnstile.enter { () throws(LockingError) in
                try membership.setActivity(.waiting)
            }
        } catch {
            line.withLock { $0.refuse() }?.fail(error)
            return
        }
        guard let waiter = line.withLock({ $0.admit() }) else {
            admission.leave()
            setIdle()
            return
        }
        // The record is only for people once WRITER is held: work does not fail for it.
        try? membership.setActivity(.writing)
        waiter.work.perform(waited: clock.now().duration(since: waiter.since))
        admission.leave()
        let othersWait = line.withLock { $0.release() }
        waiter.work.finish(othersWait: othersWait)
        setIdle()
    }

    /// Not where somebody waits: the next activity is written in a moment, and each is a call.
    private func setIdle() {
        if line.withLock({ $0.count }) > 0 { return }
        // A record that says "writing" too long misleads a reader until the next activity.
        try? membership.setActivity(.idle)
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
        let (expired, next) = line.withLock { $0.expire(now: now) }
        // It runs on the timer's thread, so that none has to be started, which is all that fails.
        if let next { _ = setTimer(next) }
        if expired.isEmpty { return }
        let (lock, holders) = whoeverIsInTheWay()
        for waiter in expired {
            let waited = now.duration(since: waiter.since)
            waiter.work.fail(.busy(lock, holders: holders, waited: waited))
        }
    }

    /// The holders of WRITER, or else of QUEUE. They are for the sentence: an error here must not
    /// hide that the deadline has passed.
    private func whoeverIsInTheWay() -> (LockByte, [Holder]) {
        for lock in [LockByte.writer, .queue] {
            if let holders = try? membership.holders(of: lock), !holders.isEmpty {
                return (lock, holders)
            }
        }
        return (.writer, [])
    }
}
