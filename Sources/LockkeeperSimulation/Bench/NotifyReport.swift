package import LockkeeperDomain

/// How long it took from a commit to the row that another process read.
package struct NotifyReport: Sendable, Hashable {
    /// One measurement of both sides.
    struct Round: Sendable, Hashable {
        let baseline: Delays
        let lockkeeper: Delays

        init(baseline: [Duration], lockkeeper: [Duration]) {
            self.baseline = Delays(baseline)
            self.lockkeeper = Delays(lockkeeper)
        }

        /// How many times as long it takes through Lockkeeper.
        var ratio: Double { lockkeeper.p50 / baseline.p50 }

        var sentence: String {
            "baseline \(baseline.sentence); lockkeeper \(lockkeeper.sentence);"
                + " \(decimal(ratio)) times"
        }
    }

    /// The delays of one side.
    struct Delays: Sendable, Hashable {
        let p50: Duration
        let p99: Duration
        let largest: Duration

        init(_ delays: [Duration]) {
            precondition(!delays.isEmpty, "delays of something")
            let sorted = delays.sorted()
            p50 = sorted[sorted.count / 2]
            p99 = sorted[sorted.count * 99 / 100]
            largest = sorted[sorted.count - 1]
        }

        /// The median of each figure over several measurements.
        init(medianOf delays: [Delays]) {
            p50 = median(delays.map(\.p50))
            p99 = median(delays.map(\.p99))
            largest = median(delays.map(\.largest))
        }

        var sentence: String {
            "p50 \(decimal(p50.microseconds, 1)), p99 \(decimal(p99.microseconds, 1)) µs"
        }

        func write(into writer: inout JSONWriter) {
            writer.beginObject()
            for (name, value) in [("p50_us", p50), ("p99_us", p99), ("max_us", largest)] {
                writer.key(name)
                writer.double((value.microseconds * 10).rounded() / 10)
            }
            writer.endObject()
        }
    }

    /// Two socket hops in C, medians.
    let baseline: Delays
    /// Through the hub, medians.
    let lockkeeper: Delays
    /// The median of the rounds' ratios of p50.
    package let ratio: Double

    init(_ rounds: [Round]) {
        baseline = Delays(medianOf: rounds.map(\.baseline))
        lockkeeper = Delays(medianOf: rounds.map(\.lockkeeper))
        ratio = median(rounds.map(\.ratio))
    }

    /// Writes it as one JSON object.
    package func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("baseline")
        baseline.write(into: &writer)
        writer.key("lockkeeper")
        lockkeeper.write(into: &writer)
        writer.key("ratio")
        writer.double((ratio * 1000).rounded() / 1000)
        writer.endObject()
    }

    /// The report for people.
    package var lines: [String] {
        [
            "baseline    \(baseline.sentence)", "lockkeeper  \(lockkeeper.sentence)",
            "lockkeeper takes \(decimal(ratio)) times as long.",
        ]
    }
}

extension Duration {
    var microseconds: Double { Double(wholeNanoseconds) / 1e3 }
}
