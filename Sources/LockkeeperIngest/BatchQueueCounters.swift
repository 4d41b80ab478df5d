/// What a queue holds and has done; nothing accepted is missing from the sum
/// `accepted = taken + queued + returned`, counted in elements.
package struct BatchQueueCounters: Sendable, Hashable {
    /// Elements accepted since the queue was made.
    package var acceptedCount = 0
    /// Elements taken in batches.
    package var takenCount = 0
    /// Elements given back when the queue was closed.
    package var returnedCount = 0
    /// Events that stand in the queue.
    package var queuedEventCount = 0
    /// Bytes that stand in the queue.
    package var queuedByteCount = 0
    /// Producers that wait at the bound.
    package var waitingCount = 0
}
