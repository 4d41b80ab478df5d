import Glibc
package import LockkeeperDomain

/// A value behind a mutex with a condition to wait on, for threads of one's own.
///
/// `Synchronization.Mutex` has no condition variable; where nobody waits, use that one. Waits are
/// on the monotonic clock, so that a change of the time of day neither ends nor prolongs one.
///
/// Lock rule: nothing is called that might take another lock or wait while the body of `withLock`
/// or the predicate of `wait` runs.
// @unchecked: `state` is touched only while `mutex` is held, which `withLock` and `wait` see to.
package final class Monitor<State: Sendable>: @unchecked Sendable {
    private var state: State
    // The C library wants addresses that never change, which a stored property does not promise.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    /// A monitor of a value.
    package init(_ state: State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        let results = (pthread_mutex_init(mutex, nil), pthread_cond_init(condition, &attributes))
        precondition(results == (0, 0), "glibc's mutex and condition need no resources")
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Reads or changes the value. Who changes something that others wait for calls ``signal()`` or
    /// ``broadcast()`` afterwards.
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body(&state)
    }

    /// Waits until the predicate gives something, and returns that; `nil` when the deadline came
    /// first. The predicate may change the value: what it takes, it takes under the lock.
    package func wait<Result>(
        until deadline: Deadline,
        for predicate: (inout State) -> Result?
    ) -> Result? {
        lock()
        defer { unlock() }
        var isOver = false
        while true {
            if let result = predicate(&state) { return result }
            if isOver { return nil }
            isOver = !waitOnce(until: deadline)
        }
    }

    /// Wakes one of those who wait.
    package func signal() { pthread_cond_signal(condition) }

    /// Wakes all who wait.
    package func broadcast() { pthread_cond_broadcast(condition) }

    /// Returns whether time is left.
    private func waitOnce(until deadline: Deadline) -> Bool {
        if deadline == .never {
            pthread_cond_wait(condition, mutex)
            return true
        }
        let nanoseconds = max(0, deadline.instant.nanoseconds)
        var time = timespec(
            tv_sec: Int(nanoseconds / 1_000_000_000),
            tv_nsec: Int(nanoseconds % 1_000_000_000)
        )
        return pthread_cond_timedwait(condition, mutex, &time) != ETIMEDOUT
    }

    private func lock() {
        let result = pthread_mutex_lock(mutex)
        precondition(result == 0, "a healthy mutex can be locked")
    }

    private func unlock() {
        pthread_mutex_unlock(mutex)
    }
}
