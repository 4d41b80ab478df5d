package import LockkeeperDomain

/// What subscribers cost those who write.
package struct SubscribersReport: Sendable, Hashable {
    /// One measurement without and one with subscribers.
    struct Pair: Sendable, Hashable {
        let alone: BenchFigures
        let heard: BenchFigures

        /// How many times as long the writers wait at a percentile.
        func ratio(_ percentile: KeyPath<BenchFigures, Duration>) -> Double {
            let base = alone[keyPath: percentile]
            return base > .zero ? heard[keyPath: percentile] / base : 0
        }

        var sentence: String {
            "without: \(alone.writersSentence); with: \(heard.writersSentence);"
                + " p90 \(decimal(ratio(\.p90))) times, p99 \(decimal(ratio(\.p99))) times"
        }
    }

    /// The writers without anybody who listens, medians.
    package let alone: BenchFigures
    /// The writers with the subscribers, medians.
    package let heard: BenchFigures
    /// The medians of the pairs' ratios.
    package let p90Ratio: Double
    package let p99Ratio: Double

    init(_ pairs: [Pair]) {
        alone = BenchFigures(medianOf: pairs.map(\.alone))
        heard = BenchFigures(medianOf: pairs.map(\.heard))
        p90Ratio = median(pairs.map { $0.ratio(\.p90) })
        p99Ratio = median(pairs.map { $0.ratio(\.p99) })
    }

    /// Writes it as one JSON object.
    package func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("alone")
        alone.write(into: &writer)
        writer.key("heard")
        heard.write(into: &writer)
        for (name, ratio) in [("p90_ratio", p90Ratio), ("p99_ratio", p99Ratio)] {
            writer.key(name)
            writer.double((ratio * 1000).rounded() / 1000)
        }
        writer.endObject()
    }

    /// The report for people.
    package var lines: [String] {
        [
            "without  \(alone.writersSentence)", "with     \(heard.writersSentence)",
            "with subscribers the writers' p90 is \(decimal(p90Ratio)) times, their p99"
                + " \(decimal(p99Ratio)) times that without.",
        ]
    }
}

extension BenchFigures {
    /// What writers that rest in between wait.
    fileprivate var writersSentence: String {
        "\(Int(commitsPerSecond.rounded())) commits/s, p50 \(decimal(p50.milliseconds)),"
            + " p90 \(decimal(p90.milliseconds)), p99 \(decimal(p99.milliseconds)) ms"
    }
}
