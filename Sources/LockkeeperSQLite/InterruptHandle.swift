import CLockkeeperSQLite
import Synchronization

/// Stops what a connection is doing, from any thread.
///
/// This is the one thing about a ``Connection`` that may be used outside of its confinement.
///
/// Lock rule: the mutex guards the database handle against being closed while it is interrupted.
/// It is a leaf: nothing is acquired and nobody waits while it is held.
package final class InterruptHandle: Sendable {
    private let database = Mutex<Handle>(Handle())
    private let cancelled = Atomic<Bool>(false)

    /// The handle of an open connection. A pointer is not `Sendable` by itself; this one is only
    /// read while the mutex around it is held, and `sqlite3_interrupt` may be called by any thread.
    private struct Handle: @unchecked Sendable {
        var pointer: OpaquePointer?
    }

    /// A handle of no connection yet.
    init() {}

    /// Whether waits for a lock are given up; see ``cancel()``.
    package var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

    /// Makes the running statement fail with `SQLITE_INTERRUPT`, if there is one, and with it end
    /// every wait for a lock until ``reset()``.
    package func cancel() {
        cancelled.store(true, ordering: .releasing)
        database.withLock { if let pointer = $0.pointer { sqlite3_interrupt(pointer) } }
    }

    /// Lets the connection wait again.
    package func reset() { cancelled.store(false, ordering: .releasing) }

    /// Says which database is meant, or that it is about to be closed.
    func attach(_ pointer: OpaquePointer?) {
        let handle = Handle(pointer: pointer)
        database.withLock { $0 = handle }
    }
}
