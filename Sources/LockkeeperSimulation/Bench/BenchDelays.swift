import LockkeeperDomain

/// How long something took, many times.
struct BenchDelays: Sendable, Hashable {
    let p50: Duration
    let p99: Duration

    init(_ delays: [Duration]) {
        precondition(!delays.isEmpty, "delays of something")
        let sorted = delays.sorted()
        p50 = sorted[sorted.count / 2]
        p99 = sorted[sorted.count * 99 / 100]
    }

    /// Figures of several rounds; the budget is about the half that is faster.
    static func figures(
        _ name: String,
        _ rounds: [BenchDelays],
        against baseline: [BenchDelays],
        budget: BenchFigure.Budget? = nil
    ) -> [BenchFigure] {
        func figure(_ label: String, _ time: KeyPath<BenchDelays, Duration>) -> BenchFigure {
            BenchFigure(
                "\(name), \(label)",
                .microseconds,
                rounds.map { $0[keyPath: time].microseconds },
                against: baseline.map { $0[keyPath: time].microseconds },
                budget: time == \.p50 ? budget : nil
            )
        }
        return [figure("p50", \.p50), figure("p99", \.p99)]
    }

    /// The delays as a line for people.
    var sentence: String {
        "p50 \(decimal(p50.microseconds, 1)), p99 \(decimal(p99.microseconds, 1)) µs"
    }
}

extension Duration {
    var microseconds: Double { Double(wholeNanoseconds) / 1e3 }
}
