import Glibc
package import LockkeeperDomain

/// The kernel's monotonic clock, which all processes of one boot share. It stands still while the
/// machine sleeps.
package struct SystemClock: MonotonicClock {
    /// The clock.
    package init() {}

    /// The present instant.
    package func now() -> MonotonicInstant {
        var time = timespec()
        // Cannot fail: the clock exists on every kernel and the address is ours.
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicInstant(
            nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        )
    }

    /// Blocks the thread until a deadline.
    package func sleep(until deadline: Deadline) {
        let nanoseconds = max(0, deadline.instant.nanoseconds)
        var time = timespec(
            tv_sec: Int(nanoseconds / 1_000_000_000),
            tv_nsec: Int(nanoseconds % 1_000_000_000)
        )
        // The time is absolute, so that a signal does not prolong the sleep.
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }
}

/// Where the time of day comes from. It is shown and stored, and decides nothing (I-15).
package protocol WallClockSource: Sendable {
    /// Milliseconds since the beginning of 1970, UTC.
    func milliseconds() -> Int64
}

/// The machine's time of day.
package struct SystemWallClock: WallClockSource {
    /// The clock.
    package init() {}

    /// Milliseconds since the beginning of 1970, UTC.
    package func milliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
