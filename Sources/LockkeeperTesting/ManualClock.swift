public import LockkeeperDomain
import LockkeeperPlatform
import Synchronization

/// The machine's monotonic clock, which a test moves ahead.
///
/// It keeps running by itself, because the kernel's waits do; what a test adds makes deadlines pass
/// without waiting for them.
public final class ManualClock: MonotonicClock {
    private let advance = Mutex<Duration>(.zero)

    /// A clock that shows the machine's time.
    public init() {}

    /// The machine's time and what was added.
    public func now() -> MonotonicInstant {
        SystemClock().now().advanced(by: advance.withLock { $0 })
    }

    /// Moves the clock ahead; it never goes back.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "a monotonic clock does not go back")
        advance.withLock { $0 += duration }
    }
}

/// A wall clock that stands where a test sets it, in 1970 or 2100 if need be.
public final class ManualWallClock: Sendable {
    private let present = Mutex<Int64>(1_796_000_000_000)

    /// A clock that stands in November 2026.
    public init() {}

    /// Sets the clock, in milliseconds since 1970.
    public func set(milliseconds: Int64) { present.withLock { $0 = milliseconds } }
}

extension ManualWallClock: WallClockSource {
    package func milliseconds() -> Int64 { present.withLock { $0 } }
}
