/// A point on the machine's monotonic clock.
///
/// Every process of one boot reads the same clock, so that instants may be compared between
/// processes. The wall clock decides nothing here (I-15).
public struct MonotonicInstant: Sendable, Hashable, Comparable {
    /// Nanoseconds since a point that is fixed for one boot.
    public let nanoseconds: Int64

    /// Wraps a reading of the clock.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The instant that lies a duration later; stops at the largest instead of overflowing.
    public func advanced(by duration: Duration) -> MonotonicInstant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return MonotonicInstant(nanoseconds: overflow ? .max : sum)
    }

    /// How long after `earlier` this instant lies; negative when it lies before.
    public func duration(since earlier: MonotonicInstant) -> Duration {
        .nanoseconds(nanoseconds - earlier.nanoseconds)
    }

    /// Orders instants by time.
    public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}

/// Where instants come from. Nothing below the doors reads a clock from the air: tests move one by
/// hand.
public protocol MonotonicClock: Sendable {
    /// The present instant.
    func now() -> MonotonicInstant
}

/// The instant at which a wait ends.
public struct Deadline: Sendable, Hashable, Comparable {
    /// The instant; the largest one for a wait without end.
    public let instant: MonotonicInstant

    /// A deadline at an instant.
    public init(at instant: MonotonicInstant) { self.instant = instant }

    /// A deadline that lies a duration after an instant.
    public init(after duration: Duration, from instant: MonotonicInstant) {
        self.instant = instant.advanced(by: duration)
    }

    /// No deadline.
    public static let never = Deadline(at: MonotonicInstant(nanoseconds: .max))

    /// Whether the deadline has come.
    public func hasPassed(at instant: MonotonicInstant) -> Bool { instant >= self.instant }

    /// How much time is left, zero when it has passed.
    public func remaining(at instant: MonotonicInstant) -> Duration {
        hasPassed(at: instant) ? .zero : self.instant.duration(since: instant)
    }

    /// Orders deadlines by time.
    public static func < (left: Deadline, right: Deadline) -> Bool { left.instant < right.instant }
}

extension Duration {
    /// The duration in nanoseconds, cut at the ends of the integer's range.
    public var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflowOfSum) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        if overflow || overflowOfSum { return seconds < 0 ? .min : .max }
        return sum
    }

    /// The duration in milliseconds, for people and JSON.
    public var milliseconds: Double { Double(wholeNanoseconds) / 1e6 }
}
