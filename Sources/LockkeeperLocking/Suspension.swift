/// How a line of writers is suspended: what becomes of work that is submitted meanwhile.
package enum Suspension: Sendable, Hashable {
    /// The process has put itself aside: work fails with ``LockingError/suspended``, and what waits
    /// fails with it at its deadline (B10).
    case refusing
    /// Another process does exclusive work, and this one comes back by itself: work waits in line,
    /// and fails at its deadline with ``LockingError/busy(_:holders:waited:)``.
    case keeping
}
