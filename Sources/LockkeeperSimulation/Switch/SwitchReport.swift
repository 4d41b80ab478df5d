package import LockkeeperDomain

/// What a simulation of the switch ends with.
package struct SwitchReport: Sendable {
    private let seed: UInt64
    private let counts: [(name: StaticString, count: Int)]
    private let violation: SwitchViolation?

    init(
        plan: SwitchPlan,
        history: SwitchHistory.State,
        evidence: SwitchEvidence,
        violation: SwitchViolation?,
        start: MonotonicInstant
    ) {
        seed = plan.seed
        self.violation = violation
        var (switches, kept, stored, refused) = (0, 0, 0, 0)
        for entry in history.entries {
            switch entry.line.statement {
            case .switched: switches += 1
            case .kept: kept += 1
            case .stored: stored += 1
            case .refused: refused += 1
            default: break
            }
        }
        let words = history.interventions.map(\.what)
        counts = [
            ("switches", switches), ("switches_refused", kept), ("pages_stored", stored),
            ("pages_refused", refused),
            ("messages", evidence.accounts.map(\.bodies.count).reduce(0, +)),
            ("kills", words.count { $0 == "killed" }),
            ("stops", words.count { $0 == "continued" }),
        ]
    }

    /// Whether nothing was wrong.
    package var isClean: Bool { violation == nil }

    /// The report as lines for people; the last one is the verdict.
    package var lines: [String] {
        let counts = counts.map { pair in
            "\(pair.name)".map { $0 == "_" ? " " : String($0) }.joined() + " \(pair.count)"
        }
        var lines = [counts.joined(separator: ", ") + ", seed \(seed)"]
        if let violation {
            lines += violation.story
            lines.append("broken: \(violation.invariant): \(violation.sentence).")
        } else {
            lines.append("No promise was broken.")
        }
        return lines
    }

    /// Writes the report as one object.
    package func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("v")
        writer.integer(1)
        writer.key("seed")
        writer.integer(seed)
        for pair in counts {
            writer.key(pair.name)
            writer.integer(pair.count)
        }
        writer.key("violation")
        if let violation {
            writer.beginObject()
            writer.key("invariant")
            writer.string(violation.invariant)
            writer.key("sentence")
            writer.string(violation.sentence)
            writer.key("story")
            writer.beginArray()
            for line in violation.story { writer.string(line) }
            writer.endArray()
            writer.endObject()
        } else {
            writer.null()
        }
        writer.endObject()
    }
}
