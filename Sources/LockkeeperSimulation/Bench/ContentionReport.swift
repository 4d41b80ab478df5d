package import LockkeeperDomain

/// What contention does to plain SQLite and to Lockkeeper, medians of several runs.
package struct ContentionReport: Sendable, Hashable {
    /// Plain SQLite.
    package let baseline: BenchFigures
    /// Lockkeeper.
    package let lockkeeper: BenchFigures

    /// A report of both sides' figures.
    package init(baseline: BenchFigures, lockkeeper: BenchFigures) {
        self.baseline = baseline
        self.lockkeeper = lockkeeper
    }

    /// Writes it as one JSON object.
    package func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("baseline")
        baseline.write(into: &writer)
        writer.key("lockkeeper")
        lockkeeper.write(into: &writer)
        writer.endObject()
    }

    /// The report for people.
    package var lines: [String] {
        [
            "baseline    \(baseline.sentence)",
            "lockkeeper  \(lockkeeper.sentence)",
            "lockkeeper commits \(decimal(ratio(\.commitsPerSecond))) times as often; its longest gap"
                + " is \(decimal(ratio(\.gap.milliseconds), 4)) of the baseline's.",
        ]
    }

    private func ratio(_ figure: KeyPath<BenchFigures, Double>) -> Double {
        let whole = baseline[keyPath: figure]
        return whole > 0 ? lockkeeper[keyPath: figure] / whole : 0
    }
}

extension BenchFigures {
    /// The figures as a line for people.
    package var sentence: String {
        "\(Int(commitsPerSecond.rounded())) commits/s, fair \(decimal(fairness)),"
            + " gap \(decimal(gap.milliseconds, 1)) ms, p50 \(decimal(p50.milliseconds)),"
            + " p99 \(decimal(p99.milliseconds)), p99.9 \(decimal(p999.milliseconds)) ms,"
            + " busy \(Int(busyCount.rounded()))"
    }
}
