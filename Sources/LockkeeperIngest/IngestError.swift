/// Why the queue did not take an element. Whatever the reason, the element was not accepted: it is
/// still the producer's.
package enum IngestError: Error, CustomStringConvertible {
    /// Thrown when the queue stands at its bound and the producer did not want to wait.
    case full
    /// Thrown when one element is larger than the whole queue, so that waiting would never end.
    case elementTooLarge(eventCount: Int, byteCount: Int)
    /// Thrown when the producer was cancelled while it waited.
    case cancelled
    /// Thrown when the element came after the end of input.
    case finished
    /// Thrown when the queue was closed; carries what it was closed with.
    case closed(any Error)

    /// The problem as a sentence, with what to do.
    package var description: String {
        switch self {
        case .full:
            "the ingest queue is full: pause, ask for smaller pages or have the packet sent again"
        case .elementTooLarge(let eventCount, let byteCount):
            "\(eventCount) events with \(byteCount) bytes are more than the whole ingest queue"
                + " holds: offer them in smaller parts"
        case .cancelled: "the producer was cancelled while the ingest queue was full"
        case .finished: "the ingest queue takes nothing after the end of its input"
        case .closed(let reason): "the ingest queue was closed: \(reason)"
        }
    }
}
