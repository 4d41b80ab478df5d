package import LockkeeperDomain

/// What a stress run ends with, for people and programs.
package struct StressReport: Sendable {
    private let outcome: StressOutcome
    private let command: String
    private let counts: [(name: StaticString, count: Int)]

    /// Everything that is wrong.
    package let violations: [StressViolation]

    /// So many violations are told; who has the first ones repeats the run.
    private static let toldCountMax = 5
    private static let lineCountMax = 12

    /// The report of an outcome.
    ///
    /// - Parameter command: what repeats the run.
    package init(_ outcome: StressOutcome, command: String) {
        self.outcome = outcome
        self.command = command
        violations = StressJudge(outcome).violations()
        let entries = outcome.histories.flatMap(\.entries)
        func done(_ act: StressAct) -> Int {
            entries.count { $0.word == .answered && $0.act == act }
        }
        let words = outcome.marks.map(\.what)
        counts = [
            ("pages", done(.page)), ("repeated", done(.again)), ("packets", done(.packet)),
            ("reads", done(.read) + done(.clear)), ("additions", done(.add)),
            ("sent", done(.send)), ("told", done(.tell)), ("shown", done(.show)),
            ("ranges", entries.count { $0.word == .saw && $0.act == .follow }),
            ("snapshots", entries.count { $0.word == .saw && $0.act == .snapshot }),
            ("refused", entries.count { $0.word == .refused }),
            ("commits", outcome.evidence.accounts.map(\.log.count).reduce(0, +)),
            ("kills", words.count { $0 == "killed" }),
            ("failpoints", words.count { $0 == "died at its place" }),
            ("stops", words.count { $0 == "stopped" }),
            ("switches", words.count { $0.hasPrefix("switch") && $0.hasSuffix("done") }),
            ("backups", words.count { $0 == "backup is done" }),
            ("checks", words.count { $0 == "check is done" }),
            ("migrations", words.count { $0 == "migration is done" }),
            ("repairs", words.count { $0 == "repair is done" }),
        ]
    }

    /// Whether nothing was wrong.
    package var isClean: Bool { violations.isEmpty }

    /// The report as lines for people; the last one is the verdict.
    package var lines: [String] {
        let pairs = counts.map { "\($0.name) \($0.count)" }.joined(separator: ", ")
        var lines = ["\(pairs), at rest after \((outcome.converged - outcome.end) / 1000) ms"]
        for violation in violations.prefix(Self.toldCountMax) {
            lines.append("broken: \(violation.invariant): \(violation.sentence).")
            lines += violation.lines.prefix(Self.lineCountMax).map { "    \($0)" }
        }
        if violations.count > Self.toldCountMax {
            lines.append("… and \(violations.count - Self.toldCountMax) more")
        }
        let verdict =
            switch violations.count {
            case 0: "No promise was broken."
            case 1: "A promise was broken."
            default: "\(violations.count) promises were broken."
            }
        lines.append("\(verdict) Again: \(command)")
        return lines
    }

    /// Writes the report as one object.
    package func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("v")
        writer.integer(1)
        writer.key("seed")
        writer.integer(outcome.plan.seed)
        writer.key("faults")
        writer.beginArray()
        for fault in outcome.plan.faults.map(\.rawValue).sorted() { writer.string(fault) }
        writer.endArray()
        for pair in counts {
            writer.key(pair.name)
            writer.integer(pair.count)
        }
        writer.key("at_rest_after_ms")
        writer.integer((outcome.converged - outcome.end) / 1000)
        writer.key("violations")
        writer.beginArray()
        for violation in violations {
            writer.beginObject()
            writer.key("invariant")
            writer.string(violation.invariant)
            writer.key("sentence")
            writer.string(violation.sentence)
            writer.key("lines")
            writer.beginArray()
            for line in violation.lines.prefix(Self.lineCountMax) { writer.string(line) }
            writer.endArray()
            writer.endObject()
        }
        writer.endArray()
        writer.key("command")
        writer.string(command)
        writer.endObject()
    }
}
