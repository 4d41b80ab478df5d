package import LockkeeperDomain

/// One figure of a benchmark: what each round came to, beside what it is held against, which was
/// measured in the same round.
package struct BenchFigure: Sendable, Hashable {
    /// What was measured, as words.
    package let name: String
    /// What the numbers count.
    package let unit: Unit
    /// What each round came to.
    package let values: [Double]
    /// What it is held against, round by round; empty where it stands alone.
    package let baseline: [Double]
    /// What it should be.
    package let budget: Budget?

    /// What numbers count.
    package enum Unit: String, Sendable {
        case perSecond = "/s"
        case seconds = "s"
        case milliseconds = "ms"
        case microseconds = "µs"
        case mebibytes = "MiB"
        case share = "of 1"
        case count = ""

        /// What stands behind a number.
        var suffix: String { self == .count ? "" : " \(rawValue)" }
    }

    /// What a figure should be: its ratio to what it is held against, or itself where it stands alone.
    package enum Budget: Sendable, Hashable {
        case atLeast(Double)
        case atMost(Double)

        /// Whether a number keeps it.
        package func isKept(by number: Double) -> Bool {
            switch self {
            case .atLeast(let bound): number >= bound
            case .atMost(let bound): number <= bound
            }
        }

        /// The number that it names.
        var bound: Double {
            switch self {
            case .atLeast(let bound), .atMost(let bound): bound
            }
        }

        /// The budget as an end of a sentence.
        package var sentence: String {
            switch self {
            case .atLeast(let bound): "at least \(decimal(bound))"
            case .atMost(let bound): "at most \(decimal(bound))"
            }
        }
    }

    /// A figure of several rounds.
    package init(
        _ name: String,
        _ unit: Unit,
        _ values: [Double],
        against baseline: [Double] = [],
        budget: Budget? = nil
    ) {
        precondition(!values.isEmpty, "a figure of something")
        precondition(baseline.isEmpty || baseline.count == values.count, "round by round")
        self.name = name
        self.unit = unit
        self.values = values
        self.baseline = baseline
        self.budget = budget
    }

    /// Of each round, how many times as much it is as what it is held against.
    package var ratios: [Double] {
        zip(values, baseline).map { $1 > 0 ? $0 / $1 : 0 }
    }

    /// The number that the budget is about: the median of the ratios, or of the values.
    package var judged: Double { median(ratios.isEmpty ? values : ratios) }

    /// The figure as a line for people: medians, and in brackets the least and the largest.
    package var sentence: String {
        var text = "\(name)  \(BenchSpread(values).sentence)" + unit.suffix
        if !ratios.isEmpty {
            text += " against \(number(median(baseline))): \(BenchSpread(ratios).sentence) times"
        }
        if let budget {
            text += ", \(budget.sentence)" + (budget.isKept(by: judged) ? "" : " MISSED")
        }
        return text
    }

    /// Writes it as one JSON object.
    package func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("name")
        writer.string(name)
        writer.key("unit")
        writer.string(unit.rawValue)
        writer.key("values")
        BenchSpread(values).write(into: &writer)
        if !baseline.isEmpty {
            writer.key("baseline")
            BenchSpread(baseline).write(into: &writer)
            writer.key("ratio")
            BenchSpread(ratios).write(into: &writer)
        }
        if let budget {
            writer.key("budget")
            writer.string(budget.sentence)
            writer.key("kept")
            writer.bool(budget.isKept(by: judged))
        }
        writer.endObject()
    }
}

/// Where some numbers lie.
struct BenchSpread: Sendable, Hashable {
    let median: Double
    let least: Double
    let largest: Double
    private let all: [Double]

    init(_ values: [Double]) {
        all = values
        median = LockkeeperSimulation.median(values)
        least = values.min() ?? median
        largest = values.max() ?? median
    }

    /// The median, and in brackets how far the others lie around it.
    var sentence: String {
        all.count == 1 ? number(median) : "\(number(median)) [\(number(least))…\(number(largest))]"
    }

    func write(into writer: inout JSONWriter) {
        writer.beginObject()
        for (name, value) in [("median", median), ("least", least), ("largest", largest)] {
            writer.key(name)
            writer.double(thousandths(value))
        }
        writer.key("rounds")
        writer.beginArray()
        for value in all { writer.double(thousandths(value)) }
        writer.endArray()
        writer.endObject()
    }

    private func thousandths(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }
}

/// A number for people, with as many decimals as its size bears; a whole one without any.
func number(_ value: Double) -> String {
    if value >= 100 || value == value.rounded() { return String(Int(value.rounded())) }
    return decimal(value, value >= 10 ? 1 : value >= 0.01 ? 2 : 4)
}
