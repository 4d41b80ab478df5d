package import LockkeeperDomain

/// What a demo run ends with: a table of its processes, and the verdict.
package struct DemoReport: Sendable {
    /// One line per helper.
    package var helpers: [Row] = []
    /// Ranges that the follower saw.
    package var rangeCount = 0
    /// Commits of the first account.
    package var commitCount = 0
    /// Whether anything was lost.
    package var verdict: DemoVerdict
    /// The seed of the traffic.
    package var seed: UInt64

    /// One helper, over all its lives.
    package struct Row: Sendable {
        /// The helper.
        package let name: String
        /// Lines that were written to it.
        package var sent = 0
        /// Events that became something new.
        package var stored = 0
        /// Events that were known or overtaken.
        package var duplicate = 0
        /// Events that were put aside.
        package var quarantined = 0
        /// Events that it could not store.
        package var refused = 0
        /// Its commits that have a receipt.
        package var commits = 0
        /// How long its batches stood in line.
        package var waits = WaitHistogram()
    }

    /// The sums of all helpers.
    package var total: Row {
        var total = Row(name: "all")
        for row in helpers {
            total.sent += row.sent
            total.stored += row.stored
            total.duplicate += row.duplicate
            total.quarantined += row.quarantined
            total.refused += row.refused
            total.commits += row.commits
            total.waits.add(row.waits)
        }
        return total
    }

    /// The report as lines for people; the last one is the verdict.
    package var lines: [String] {
        let header = [
            "process", "sent", "stored", "duplicate", "put aside", "refused", "commits",
            "wait p50", "wait p99",
        ]
        let rows = [header] + (helpers + [total]).map(Self.cells)
        let widths = header.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        var lines = rows.map { cells in
            cells.indices.map { column in
                let padding = String(repeating: " ", count: widths[column] - cells[column].count)
                return column == 0 ? cells[column] + padding : padding + cells[column]
            }.joined(separator: "  ")
        }
        lines.append("commits of alice: \(commitCount), ranges seen: \(rangeCount), seed: \(seed)")
        lines += verdict.losses.dropFirst()
        lines.append(verdict.sentence)
        return lines
    }

    /// Writes the report as one object.
    package func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("v")
        writer.integer(1)
        writer.key("helpers")
        writer.beginArray()
        for row in helpers { Self.write(row, into: &writer) }
        writer.endArray()
        writer.key("commits")
        writer.integer(commitCount)
        writer.key("ranges")
        writer.integer(rangeCount)
        writer.key("seed")
        writer.integer(seed)
        writer.key("losses")
        writer.beginArray()
        for loss in verdict.losses { writer.string(loss) }
        writer.endArray()
        writer.key("verdict")
        writer.string(verdict.sentence)
        writer.endObject()
    }

    private static func cells(_ row: Row) -> [String] {
        [row.name]
            + [row.sent, row.stored, row.duplicate, row.quarantined, row.refused, row.commits]
            .map(String.init)
            + [text(row.waits.quantile(0.5)), text(row.waits.quantile(0.99))]
    }

    /// Milliseconds with two digits behind the point.
    private static func text(_ duration: Duration) -> String {
        let hundredths = duration.wholeNanoseconds / 10_000
        let digits = String(hundredths % 100 + 100).dropFirst()
        return "\(hundredths / 100).\(digits) ms"
    }

    private static func write(_ row: Row, into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("process")
        writer.string(row.name)
        let members: [(StaticString, Int)] = [
            ("sent", row.sent), ("stored", row.stored), ("duplicate", row.duplicate),
            ("quarantined", row.quarantined), ("refused", row.refused), ("commits", row.commits),
        ]
        for (key, value) in members {
            writer.key(key)
            writer.integer(value)
        }
        writer.key("wait_p50_ms")
        writer.double(row.waits.quantile(0.5).milliseconds)
        writer.key("wait_p99_ms")
        writer.double(row.waits.quantile(0.99).milliseconds)
        writer.endObject()
    }
}
