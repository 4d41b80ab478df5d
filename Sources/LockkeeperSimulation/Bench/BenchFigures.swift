import LockkeeperDomain

/// What a run of several processes came to.
package struct BenchFigures: Sendable, Hashable {
    /// Durable commits of all processes in a second.
    package var commitsPerSecond: Double
    /// The commits of the least busy process over the mean; 1 is fair, 0 means that one got nothing.
    package var fairness: Double
    /// The longest time that any process waited between two commits, to the end of the run counted.
    package var gap: Duration
    /// The waits of all commits; see ``BenchTally/waits``.
    package var p50: Duration
    package var p90: Duration
    package var p99: Duration
    package var p999: Duration
    /// Writes that were refused because their wait was over.
    package var busyCount: Double

    /// The figures of one run.
    ///
    /// - Parameter time: how long the processes wrote.
    package init(_ tallies: [BenchTally], over time: Duration) {
        precondition(!tallies.isEmpty, "a run has processes")
        let commitCount = tallies.map(\.commitCount).reduce(0, +)
        let mean = Double(commitCount) / Double(tallies.count)
        var waits = WaitHistogram()
        for tally in tallies { waits.add(tally.waits) }
        commitsPerSecond = Double(commitCount) / time.secondCount
        let least = tallies.map(\.commitCount).min() ?? 0
        fairness = mean > 0 ? Double(least) / mean : 0
        gap = tallies.map(\.gap).max() ?? .zero
        p50 = waits.quantile(0.5)
        p90 = waits.quantile(0.9)
        p99 = waits.quantile(0.99)
        p999 = waits.quantile(0.999)
        busyCount = Double(tallies.map(\.busyCount).reduce(0, +))
    }
}

/// The middle of some values; of an even number the lower middle one.
func median<Value: Comparable>(_ values: [Value]) -> Value {
    precondition(!values.isEmpty, "a median of something")
    return values.sorted()[(values.count - 1) / 2]
}

/// A number with a fixed count of decimals.
func decimal(_ value: Double, _ places: Int = 2) -> String {
    var scale = 1
    for _ in 0..<places { scale *= 10 }
    let scaled = Int((value * Double(scale)).rounded())
    let digits = String(scaled % scale)
    return "\(scaled / scale)." + String(repeating: "0", count: places - digits.count) + digits
}

extension Duration {
    var milliseconds: Double { Double(wholeNanoseconds) / 1e6 }
    var secondCount: Double { Double(wholeNanoseconds) / 1e9 }
}
