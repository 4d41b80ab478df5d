import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

// Members of objects, so that a command says names and values and nothing else.
extension JSONWriter {
    /// Writes a member whose value is text.
    mutating func member(_ key: StaticString, _ text: String?) {
        self.key(key)
        if let text { string(text) } else { null() }
    }

    /// Writes a member whose value is an identifier.
    mutating func member(_ key: StaticString, _ identifier: (some ByteIdentifier)?) {
        self.key(key)
        if let identifier { string(utf8: identifier.bytes) } else { null() }
    }

    /// Writes a member whose value is a number.
    mutating func member(_ key: StaticString, _ number: (some BinaryInteger)?) {
        self.key(key)
        if let number { integer(number) } else { null() }
    }

    /// Writes a member whose value is true or false.
    mutating func member(_ key: StaticString, _ flag: Bool) {
        self.key(key)
        bool(flag)
    }

    /// Writes a member whose value is an instant.
    mutating func member(_ key: StaticString, _ instant: Timestamp?) {
        member(key, instant?.description)
    }

    /// Writes a member whose value is an array of the first and the last line of something.
    mutating func member(_ key: StaticString, _ lines: ClosedRange<Int>) {
        self.key(key)
        beginArray()
        integer(lines.lowerBound)
        integer(lines.upperBound)
        endArray()
    }

    /// Writes a member whose value is a duration: milliseconds, to the microsecond.
    mutating func member(_ key: StaticString, milliseconds duration: Duration) {
        self.key(key)
        double((duration.milliseconds * 1000).rounded() / 1000)
    }

    /// Writes a member whose value is a list of texts.
    mutating func member(_ key: StaticString, _ texts: [String]) {
        self.key(key)
        beginArray()
        for text in texts { string(text) }
        endArray()
    }

    /// Begins an object of the output that is printed for programs; the number is that of its form.
    mutating func beginVersionedObject() {
        beginObject()
        member("v", 1)
    }

    /// Writes pages that wait for an earlier one.
    mutating func member(_ key: StaticString, _ gaps: [PageGap]) {
        self.key(key)
        beginArray()
        for gap in gaps {
            beginObject()
            member("stream", gap.stream)
            member("expected", gap.expected)
            member("found", gap.found)
            endObject()
        }
        endArray()
    }

    /// Writes where cursors stand, sorted by their streams.
    mutating func member(_ key: StaticString, _ cursors: [StreamID: Cursor?]) {
        self.key(key)
        beginObject()
        for (stream, cursor) in cursors.sorted(by: { $0.key < $1.key }) {
            self.key(stream.description)
            if let cursor { string(utf8: cursor.bytes) } else { null() }
        }
        endObject()
    }

    /// Writes how long the stages of writes took, by their names.
    mutating func member(_ key: StaticString, _ stages: [StageTiming]) {
        self.key(key)
        beginObject()
        for timing in stages {
            self.key(timing.stage.rawValue)
            beginObject()
            member("count", timing.count)
            member("total_ms", milliseconds: timing.total)
            member("p50_ms", milliseconds: timing.quantile(0.5))
            member("p99_ms", milliseconds: timing.quantile(0.99))
            member("max_ms", milliseconds: timing.largest)
            endObject()
        }
        endObject()
    }

    /// Writes the members that say what became of events.
    mutating func members(_ outcomes: OutcomeCounts) {
        member("inserted", outcomes.inserted)
        member("updated", outcomes.updated)
        member("duplicate", outcomes.duplicate)
        member("stale", outcomes.stale)
        member("quarantined", outcomes.quarantined)
    }
}
