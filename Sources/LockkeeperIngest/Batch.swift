package import LockkeeperDomain

/// Elements that are written in one transaction, in the order in which they were offered.
package struct Batch<Element: Sendable>: Sendable {
    /// The elements, at least one.
    package var elements: [Element]
    /// The events in them.
    package var eventCount: Int
    /// The bytes of their events.
    package var byteCount: Int
    /// When the oldest was offered: what lies between then and now is the queue's share of the
    /// delay.
    package var oldestOfferedAt: MonotonicInstant
}
