import Synchronization

/// What is asked of a thread that waits in the turnstile, from outside of it. The thread looks when
/// it is interrupted, and when it is granted a lock.
final class TurnstileOrders: Sendable {
    private let isClosed = Atomic<Bool>(false)
    private let isSuspended = Atomic<Bool>(false)
    private let suspectCount = Atomic<UInt64>(TurnstileOrders.nobody)

    /// No account sees so many admissions.
    private static let nobody = UInt64.max

    /// Whether the thread is to let go of everything, and to take nothing.
    var isToLeave: Bool {
        isClosed.load(ordering: .acquiring) || isSuspended.load(ordering: .acquiring)
    }

    /// Whether the wait for QUEUE is to be given up.
    var isToStopWaiting: Bool { isToLeave || suspicion != nil }

    /// The count of admissions at which QUEUE was seen in the hands of a stopped process; `nil`
    /// where that was not seen.
    var suspicion: UInt64? {
        let count = suspectCount.load(ordering: .acquiring)
        return count == Self.nobody ? nil : count
    }

    /// Asks the thread to leave the turnstile for ever.
    func close() { isClosed.store(true, ordering: .releasing) }

    /// Asks the thread to leave the turnstile until ``resume()``.
    func suspend() { isSuspended.store(true, ordering: .releasing) }

    /// Lets the thread in again, unless it was closed.
    func resume() { isSuspended.store(false, ordering: .releasing) }

    /// Asks the thread to pass QUEUE by, where what was seen still holds.
    func passBy(at admissionCount: UInt64) {
        suspectCount.store(admissionCount, ordering: .releasing)
    }

    /// Forgets a suspicion that was about an earlier wait.
    func forgetSuspicion() { suspectCount.store(Self.nobody, ordering: .relaxed) }
}
