import Glibc
import LockkeeperDomain
import LockkeeperPlatform
import Synchronization

/// The fair way to WRITER, for one thread of the process (I-1).
///
///     QUEUE ──▶ WRITER ──▶ let QUEUE go ──▶ raise the admission count
///
/// The kernel wakes whoever waits for a lock, but the releaser is still running and would take the
/// lock again before a waiter gets to it: with 8 writers one process can get 1 commit while the
/// others get 4 300. Here the releaser of WRITER must first take QUEUE, where the next one stands
/// already, so nobody who stands there is ever overtaken; those who still wait for QUEUE can be, by a
/// few places (``AdmissionRun``). Where the one who stands there is
/// stopped, QUEUE is passed by; ``Passage`` has the rules.
///
/// Lock rules
/// 1. QUEUE before WRITER; QUEUE is held for no longer than until WRITER is granted.
/// 2. One thread calls ``enter(beforeWaiting:)``, and blocks all signals but that of
///    ``WorkerThread/interrupt()``: any other would send it to the end of the line. Two waits on
///    one description would not exclude each other.
/// 3. The skip word is set only by who holds WRITER, and cleared only by who holds QUEUE, or held
///    it when it was granted WRITER. Two of them at once write the same eight bytes, and either
///    value is a true one: the word is a hint, and WRITER is what excludes.
/// 4. Before its admission is passed on, the path is compared with the locked file (B34).
package final class Turnstile: Sendable {
    private let description: OpenDescription
    private let path: String
    private let clock: any MonotonicClock
    private let orders: TurnstileOrders
    private let mark = ForkMark.current
    // Nanoseconds; only the one thread that enters uses it.
    private let nextPathCheck = Atomic<Int64>(.min)
    private let run = Mutex(AdmissionRun())

    private static let queue = LockFileLayout.byte(of: .queue)
    private static let writer = LockFileLayout.byte(of: .writer)

    /// How often the path is resolved. In between the number of the locked file's names is looked
    /// at, which shows a removal or replacement at once and costs a third; only a file that was
    /// moved away, or has a second name, is noticed later.
    private static let pathCheckInterval: Duration = .milliseconds(10)

    /// A turnstile with an open file description of its own.
    ///
    /// - Throws: ``LockingError/lockFileReplaced(path:)`` when newcomers lock another file;
    ///   ``LockingError/suspended`` while the membership is detached;
    ///   ``LockingError/forkedChild`` in a child of the process that opened the membership;
    ///   ``LockingError/system(_:)`` when the kernel refuses.
    package convenience init(_ membership: LockFileMembership) throws(LockingError) {
        try self.init(membership, orders: TurnstileOrders())
    }

    init(
        _ membership: LockFileMembership,
        orders: TurnstileOrders
    ) throws(LockingError) {
        description = try membership.openDescription()
        path = membership.path
        clock = membership.clock
        self.orders = orders
    }

    /// Waits for WRITER as long as it takes.
    ///
    /// - Parameter beforeWaiting: Called before the thread has to wait, with what it waits for, so
    ///   that a process whose way is free need not write down that it waits.
    /// - Throws: ``LockingError/closed`` after ``close()``;
    ///   ``LockingError/lockFileReplaced(path:)`` when newcomers lock another file;
    ///   ``LockingError/forkedChild`` in a forked child; ``LockingError/system(_:)`` when the
    ///   kernel refuses. Nothing is held then.
    package func enter(
        beforeWaiting: (LockByte) throws(LockingError) -> Void = { _ in }
    ) throws(LockingError) -> Admission {
        guard mark.isCurrent else { throw .forkedChild }
        if run.withLock({ $0.shouldStepBack }) { sched_yield() }
        do throws(LockingError) {
            let number = try pass(beforeWaiting)
            run.withLock { $0.note(number) }
            return Admission(turnstile: self, number: number)
        } catch {
            releaseAll()
            throw error
        }
    }

    /// Makes every later grant fail with ``LockingError/closed``. A thread that waits is granted
    /// the lock first, unless it is interrupted.
    package func close() { orders.close() }

    fileprivate func leave() {
        // Unlocking a byte that is held fails only in a forked child, which holds nothing.
        try? description.descriptor.unlock(Self.writer)
    }

    /// Does what ``Passage`` says until it is through, and returns the count of admissions.
    private func pass(
        _ beforeWaiting: (LockByte) throws(LockingError) -> Void
    ) throws(LockingError) -> UInt64 {
        var passage = Passage()
        while true {
            switch passage.next {
            case .tryQueue: passage.queueTried(isTaken: try tryTake(Self.queue))
            case .tryWriter: passage.writerTried(isTaken: try tryTake(Self.writer))
            case .readSkipWord:
                let isSet = try readWords().isQueuePassedBy
                if passage.skipWordRead(isSet: isSet) { try clearSkipWord() }
            case .awaitQueue:
                // What was seen of an earlier wait is not about this one.
                orders.forgetSuspicion()
                try beforeWaiting(.queue)
                passage.queueAwaited(suspicion: try awaitQueue())
            case .awaitWriter:
                try beforeWaiting(.writer)
                try awaitWriter()
                passage.writerAwaited()
            case .settle(let holdsQueue, let looksAtQueue):
                if holdsQueue { try release(Self.queue) }
                let words = try readWords()
                let isQueueHeld = looksAtQueue ? try isQueueHeld() : false
                switch passage.settle(words, isQueueHeld: isQueueHeld) {
                case .letWriterGo: try release(Self.writer)
                case .write(let written):
                    try checkPath()
                    try write(written, over: words)
                    return written.admissionCount
                }
            case .done: preconditionFailure("a passage ends with the words that it writes")
            }
        }
    }

    /// A free QUEUE is nobody's place: taking it without waiting overtakes nobody who stands there.
    private func tryTake(_ byte: Int64) throws(LockingError) -> Bool {
        if orders.isToLeave { throw .closed }
        return try systemCalls { () throws(SystemCallError) in
            try description.descriptor.tryLock(byte, .exclusive)
        }
    }

    /// Returns a suspicion where the wait was given up for it, and `nil` where QUEUE was granted.
    private func awaitQueue() throws(LockingError) -> UInt64? {
        let isGranted = try systemCalls { () throws(SystemCallError) in
            try description.descriptor.lock(Self.queue, .exclusive) { orders.isToStopWaiting }
        }
        if orders.isToLeave { throw .closed }
        return isGranted ? nil : orders.suspicion
    }

    private func awaitWriter() throws(LockingError) {
        _ = try systemCalls { () throws(SystemCallError) in
            try description.descriptor.lock(Self.writer, .exclusive) { orders.isToLeave }
        }
        if orders.isToLeave { throw .closed }
    }

    private func isQueueHeld() throws(LockingError) -> Bool {
        try systemCalls { () throws(SystemCallError) in
            try description.descriptor.isHeldElsewhere(Self.queue)
        }
    }

    private func release(_ byte: Int64) throws(LockingError) {
        try systemCalls { () throws(SystemCallError) in
            try description.descriptor.unlock(byte)
        }
    }

    private func releaseAll() {
        try? description.descriptor.unlock(Self.queue)
        try? description.descriptor.unlock(Self.writer)
    }

    private func checkPath() throws(LockingError) {
        let now = clock.now()
        let isDue = now.nanoseconds >= nextPathCheck.load(ordering: .relaxed)
        let isStill = try systemCalls { () throws(SystemCallError) in
            try isDue
                ? description.descriptor.isStill(at: path)
                : description.descriptor.linkCount() > 0
        }
        guard isStill else { throw .lockFileReplaced(path: path) }
        if isDue {
            nextPathCheck.store(
                now.advanced(by: Self.pathCheckInterval).nanoseconds,
                ordering: .relaxed
            )
        }
    }

    // MARK: - Words

    private func readWords() throws(LockingError) -> TurnstileWords {
        try systemCalls { () throws(SystemCallError) in
            try TurnstileWords.read(from: description.descriptor)
        }
    }

    /// Only what changes, because a holder of QUEUE may clear the skip word at this moment.
    private func write(
        _ words: TurnstileWords,
        over old: TurnstileWords
    ) throws(LockingError) {
        try systemCalls { () throws(SystemCallError) in
            if words.isQueuePassedBy == old.isQueuePassedBy {
                try words.writeAdmissionCount(to: description.descriptor)
            } else {
                try words.write(to: description.descriptor)
            }
        }
    }

    private func clearSkipWord() throws(LockingError) {
        try systemCalls { () throws(SystemCallError) in
            try TurnstileWords.clearSkipWord(in: description.descriptor)
        }
    }
}

/// The proof that the thread holds WRITER.
package struct Admission: ~Copyable {
    private let turnstile: Turnstile
    /// The how manieth admission of the account it is.
    package let number: UInt64

    fileprivate init(turnstile: Turnstile, number: UInt64) {
        self.turnstile = turnstile
        self.number = number
    }

    deinit { turnstile.leave() }

    /// Lets WRITER go.
    package consuming func leave() {}
}
