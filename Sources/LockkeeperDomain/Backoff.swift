/// Waits that grow from a least to a largest one, spread by chance so that waiters which collided
/// once do not collide again.
public struct Backoff: Sendable, Hashable {
    /// The wait before the first repetition.
    public let least: Duration
    /// The longest wait.
    public let largest: Duration

    /// A back-off between two bounds.
    public init(least: Duration, largest: Duration) {
        precondition(least > .zero && largest >= least, "a back-off needs 0 < least <= largest")
        self.least = least
        self.largest = largest
    }

    /// The wait before repetition `attempt` (0 is the first): doubled each time up to the largest,
    /// then drawn from its upper half, so that it is never shorter than half of what it could be.
    public func wait(
        attempt: Int,
        using generator: inout some RandomNumberGenerator
    ) -> Duration {
        let ceiling = ceiling(attempt: attempt).wholeNanoseconds
        return .nanoseconds(Int64.random(in: (ceiling / 2)...ceiling, using: &generator))
    }

    /// The longest wait that `wait(attempt:using:)` can give.
    public func ceiling(attempt: Int) -> Duration {
        var wait = least
        for _ in 0..<max(0, attempt) {
            wait *= 2
            if wait >= largest { return largest }
        }
        return min(wait, largest)
    }
}
