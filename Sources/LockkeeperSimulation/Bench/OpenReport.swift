package import LockkeeperDomain

/// How long openings took.
package struct OpenReport: Sendable, Hashable {
    /// An opening of a store whose log was not copied.
    package struct LongLog: Sendable, Hashable {
        /// The log's size.
        package let byteCount: Int64
        /// From nothing to the head of the commit log.
        package let opening: Duration
        /// From nothing to the receipt of a durable write.
        package let toWrite: Duration
    }

    /// Openings of the small store.
    let few: NotifyReport.Delays
    /// Openings of the large one.
    let many: NotifyReport.Delays
    /// How many times as long the large one takes, by medians.
    package var ratio: Double { many.p50 / few.p50 }
    /// With a long log, where that was measured.
    package var longLog: LongLog?

    init(few: [Duration], many: [Duration]) {
        self.few = NotifyReport.Delays(few)
        self.many = NotifyReport.Delays(many)
    }

    /// Writes it as one JSON object.
    package func write(into writer: inout JSONWriter) {
        writer.beginObject()
        for (name, delays) in [("few", few), ("many", many)] {
            writer.key(name)
            delays.write(into: &writer)
        }
        writer.key("ratio")
        writer.double((ratio * 1000).rounded() / 1000)
        if let longLog {
            writer.key("long_log")
            writer.beginObject()
            writer.key("bytes")
            writer.integer(longLog.byteCount)
            for (name, time) in [("open_us", longLog.opening), ("to_write_us", longLog.toWrite)] {
                writer.key(name)
                writer.double(time.microseconds.rounded())
            }
            writer.endObject()
        }
        writer.endObject()
    }

    /// The report for people.
    package var lines: [String] {
        var lines = [
            "few: \(few.sentence); many: \(many.sentence); \(decimal(ratio)) times as long"
        ]
        if let longLog {
            lines.append(
                "with a log of \(longLog.byteCount) bytes: open after"
                    + " \(decimal(longLog.opening.secondCount)) s, a write durable after"
                    + " \(decimal(longLog.toWrite.secondCount)) s"
            )
        }
        return lines
    }
}
