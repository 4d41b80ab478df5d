import LockkeeperDomain

// The pictures of a page.
extension StressPage {
    private static let laneHeight = 18.0

    /// A lane for each worker, over all its lives.
    var lanes: String {
        let names = outcome.plan.roles.enumerated().map { "\($1.rawValue)-\($0)" }
        let height = Double(names.count) * Self.laneHeight + 20
        var content = ""
        for (worker, name) in names.enumerated() {
            let top = Double(worker) * Self.laneHeight
            content +=
                "<line class=\"row\" x1=\"0\" x2=\"\(Self.short(Self.width))\" y1=\"\(top + Self.laneHeight)\""
                + " y2=\"\(top + Self.laneHeight)\"/>"
            content += Self.text(0, top + 13, name)
            content += stops(of: worker, top) + spans(of: worker, top) + marks(of: worker, top)
        }
        for mark in outcome.marks
        where mark.what.hasPrefix("switch") && mark.what.hasSuffix("done") {
            content += Self.line(x(mark.time), 0, height - 20, "switch")
        }
        content += Self.line(x(outcome.end), 0, height - 20, "end")
        let seconds = (outcome.converged - outcome.start) / 1_000_000
        content += Self.text(Self.margin, height - 4, "0 s")
        content += Self.text(Self.width - 30, height - 4, "\(seconds) s")
        return Self.picture(height: height, name: "lanes", content)
    }

    /// For how long it was inside, as its history says, and what it committed, as the log says.
    private func spans(of worker: Int, _ top: Double) -> String {
        var content = ""
        for history in outcome.histories where history.process.worker == worker {
            for entry in history.entries {
                guard let from = entry.from, let to = entry.to, entry.word == .answered else {
                    continue
                }
                let width = max(0.6, x(to) - x(from))
                content +=
                    "<rect class=\"inside\" x=\"\(Self.short(x(from)))\" y=\"\(top + 4)\""
                    + " width=\"\(Self.short(width))\" height=\"\(Self.laneHeight - 8)\"/>"
            }
        }
        for account in outcome.evidence.accounts {
            for commit in account.log {
                guard StressProcess(commit.origin)?.worker == worker else { continue }
                content += Self.line(x(commit.time), top + 6, top + Self.laneHeight - 6, "commit")
            }
        }
        return content
    }

    private func stops(of worker: Int, _ top: Double) -> String {
        var content = ""
        var start: Int64?
        for mark in outcome.marks where mark.process?.worker == worker {
            switch mark.what {
            case "stopped": start = start ?? mark.time
            case "continued", "killed":
                guard let from = start else { continue }
                content +=
                    "<rect class=\"stop\" x=\"\(Self.short(x(from)))\" y=\"\(top + 1)\""
                    + " width=\"\(Self.short(max(1, x(mark.time) - x(from))))\""
                    + " height=\"\(Self.laneHeight - 2)\"/>"
                start = nil
            default: break
            }
        }
        return content
    }

    private func marks(of worker: Int, _ top: Double) -> String {
        outcome.marks.filter { $0.process?.worker == worker && $0.what == "killed" }
            .map { Self.line(x($0.time), top + 1, top + Self.laneHeight - 1, "kill") }
            .joined()
    }

    // MARK: - Over time

    /// How many commits there were, in a hundredth of the run each.
    var commits: String {
        let times = outcome.evidence.accounts.flatMap(\.log).map(\.time)
            .filter { $0 >= outcome.start && $0 <= outcome.converged }
        var counts = [Double](repeating: 0, count: 100)
        for time in times { counts[bin(of: time)] += 1 }
        return curve(counts, "commits", unit: "in a hundredth of the time")
    }

    /// The longest that an answer took, in milliseconds.
    var waits: String {
        var longest = [Double](repeating: 0, count: 100)
        for (time, wait) in answers {
            longest[bin(of: time)] = max(longest[bin(of: time)], Double(wait) / 1000)
        }
        return curve(longest, "waits", unit: "ms at most")
    }

    /// How large the logs of both files of all accounts were together.
    var logSizes: String {
        var sizes = [Double](repeating: 0, count: 100)
        for sample in outcome.logSizes {
            sizes[bin(of: sample.time)] = Double(sample.byteCount) / 1_048_576
        }
        // Between two looks it is what it was.
        for index in sizes.indices.dropFirst() where sizes[index] == 0 {
            sizes[index] = sizes[index - 1]
        }
        return curve(sizes, "log", unit: "MiB")
    }

    private func bin(of time: Int64) -> Int {
        let whole = max(1, outcome.converged - outcome.start)
        return min(99, max(0, Int((time - outcome.start) * 100 / whole)))
    }

    private func curve(_ values: [Double], _ name: String, unit: String) -> String {
        let height = 120.0
        let most = max(values.max() ?? 0, 0.001)
        let step = (Self.width - Self.margin) / Double(values.count - 1)
        let points = values.enumerated().map { index, value in
            let y = height - 8 - value / most * (height - 24)
            return "\(Self.short(Self.margin + Double(index) * step)),\(Self.short(y))"
        }
        let content =
            Self.text(0, 14, "\(Self.short(most)) \(unit)") + Self.text(0, height - 8, "0")
            + "<polyline class=\"curve\" points=\"\(points.joined(separator: " "))\"/>"
            + Self.line(x(outcome.end), 0, height, "end")
        return Self.picture(height: height, name: name, content)
    }

    // MARK: - Answers

    /// When something was asked for that was answered, and how long that took, in microseconds.
    private var answers: [(time: Int64, wait: Int64)] {
        StressJudge(outcome).exchanges.compactMap { exchange in
            guard exchange.isDone, let answer = exchange.answer else { return nil }
            return (exchange.asked.time, answer.time - exchange.asked.time)
        }
    }

    /// How many answers took how long: each bar is twice as long as the one before.
    var histogram: String {
        var counts = [Int](repeating: 0, count: 18)
        for (_, wait) in answers {
            // From a tenth of a millisecond on.
            let power = max(0, Int64.bitWidth - (max(1, wait) / 100).leadingZeroBitCount)
            counts[min(counts.count - 1, power)] += 1
        }
        let height = 150.0
        let most = Double(max(1, counts.max() ?? 1))
        let step = (Self.width - Self.margin) / Double(counts.count)
        var content = Self.text(0, 14, "\(counts.max() ?? 0) answers")
        for (index, count) in counts.enumerated() {
            let size = Double(count) / most * (height - 40)
            let left = Self.margin + Double(index) * step
            content +=
                "<rect class=\"bar\" x=\"\(Self.short(left))\" y=\"\(Self.short(height - 20 - size))\""
                + " width=\"\(Self.short(step - 4))\" height=\"\(Self.short(size))\"/>"
            let bound = 0.1 * Double(1 << index)
            let name =
                bound < 10
                ? "\(Self.short(bound)) ms"
                : bound < 1000 ? "\(Int(bound)) ms" : "\(Self.short(bound / 1000)) s"
            content += Self.text(left, height - 4, name)
        }
        return Self.picture(height: height, name: "histogram", content)
    }
}
