/// Durations, counted in buckets: quantiles of any number of waits in a few kilobytes.
///
/// A bucket is a 32nd of a power of two of nanoseconds, so that a quantile is at most a 32nd too
/// large; the largest duration is kept exactly.
package struct WaitHistogram: Sendable, Hashable {
    /// How many durations were added.
    package private(set) var count = 0
    /// The largest of them.
    package private(set) var largest: Duration = .zero
    /// All of them together.
    package private(set) var total: Duration = .zero

    private var buckets: [Int] = []

    /// No durations.
    package init() {}

    /// Adds a duration; a negative one counts as none.
    package mutating func add(_ duration: Duration) {
        let index = Self.bucket(of: max(0, duration.wholeNanoseconds))
        if index >= buckets.count {
            buckets.append(contentsOf: repeatElement(0, count: index + 1 - buckets.count))
        }
        buckets[index] += 1
        count += 1
        largest = max(largest, duration)
        total += max(.zero, duration)
    }

    /// Adds the durations of another histogram.
    package mutating func add(_ other: WaitHistogram) {
        if other.buckets.count > buckets.count {
            buckets.append(contentsOf: repeatElement(0, count: other.buckets.count - buckets.count))
        }
        for (index, number) in other.buckets.enumerated() { buckets[index] += number }
        count += other.count
        largest = max(largest, other.largest)
        total += other.total
    }

    /// A duration that this share of all does not exceed; zero where there are none.
    package func quantile(_ share: Double) -> Duration {
        precondition((0...1).contains(share), "a share lies between 0 and 1")
        let rank = max(1, Int((Double(count) * share).rounded(.up)))
        var seen = 0
        for (index, number) in buckets.enumerated() {
            seen += number
            if seen >= rank { return min(largest, .nanoseconds(Self.upperBound(of: index))) }
        }
        return largest
    }

    /// How many do not exceed a duration, as far as the buckets tell: at most a 32nd of it wrong.
    package func count(upTo bound: Duration) -> Int {
        let limit = bound.wholeNanoseconds
        var seen = 0
        for (index, number) in buckets.enumerated() {
            guard Self.upperBound(of: index) <= limit else { break }
            seen += number
        }
        return seen
    }

    /// The histogram as numbers, so that it can be handed to another process.
    package var numbers: [Int64] {
        [largest.wholeNanoseconds, total.wholeNanoseconds] + buckets.map(Int64.init)
    }

    /// Reads ``numbers``; `nil` when they are none.
    package init?(numbers: some Collection<Int64>) {
        let numbers = Array(numbers)
        guard numbers.count >= 2, numbers.allSatisfy({ $0 >= 0 }) else { return nil }
        largest = .nanoseconds(numbers[0])
        total = .nanoseconds(numbers[1])
        buckets = numbers.dropFirst(2).map(Int.init)
        count = buckets.reduce(0, +)
    }

    // The first 32 buckets hold one number each; after them, 32 to each power of two.

    private static func bucket(of nanoseconds: Int64) -> Int {
        guard nanoseconds >= 32 else { return Int(nanoseconds) }
        let exponent = 63 - nanoseconds.leadingZeroBitCount
        return (exponent - 4) * 32 + Int((nanoseconds >> (exponent - 5)) & 31)
    }

    private static func upperBound(of bucket: Int) -> Int64 {
        guard bucket >= 32 else { return Int64(bucket) }
        let exponent = bucket / 32 + 4
        return Int64(clamping: UInt64(bucket % 32 + 33) << UInt64(exponent - 5) - 1)
    }
}
