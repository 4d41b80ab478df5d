import LockkeeperDomain

/// One line of input, ready to be stored: an event, or a line that is no event and goes to
/// quarantine.
package struct DecodedLine: Sendable {
    let item: IngestItem
    /// What it counts against the bounds of queue and batch.
    package let byteCount: Int

    /// The event, where it is one.
    package var event: Event? {
        guard case .event(let event) = item else { return nil }
        return event
    }

    /// An event that was never a line.
    package init(_ event: Event) {
        self.init(event, byteCount: event.approximateByteCount)
    }

    /// A line that says an event.
    init(_ event: Event, byteCount: Int) {
        item = .event(event)
        self.byteCount = byteCount
    }

    /// A line that is no event.
    init(_ line: UnreadableLine) {
        item = .unreadable(line)
        byteCount = line.content.count
    }
}
