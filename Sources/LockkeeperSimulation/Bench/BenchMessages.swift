import CLockkeeperBaseline
import LockkeeperDomain
import LockkeeperMessages

/// The messages of one process of a benchmark: the same rows that the baseline writes in C.
struct BenchMessages {
    private let number: Int
    private var sequence: Int64 = 0
    private let body: String
    private let conversations: [ConversationID]
    private static let sender: PersonID = "u2"

    init(number: Int) {
        self.number = number
        let count = LK_BASELINE_CONVERSATIONS
        body = String(repeating: "x", count: LK_BASELINE_BODY_BYTES)
        conversations = (0..<count).map {
            ConversationID(unchecked: Array("c\(number)-\($0)".utf8))
        }
    }

    /// The next message.
    mutating func next() -> Event {
        sequence += 1
        return .message(
            MessageEvent(
                conversation: conversations[Int(sequence) % conversations.count],
                id: MessageID(unchecked: Array("m\(number)-\(sequence)".utf8)),
                sequence: sequence,
                sender: Self.sender,
                sentAt: Self.instant(1_796_000_000_000 + 1000 * sequence),
                body: body
            )
        )
    }

    /// The next messages.
    mutating func next(_ count: Int) -> [Event] { (0..<count).map { _ in next() } }

    private static func instant(_ milliseconds: Int64) -> Timestamp {
        do {
            return try Timestamp(millisecondsSince1970: milliseconds)
        } catch {
            preconditionFailure("a benchmark ends within the centuries that a timestamp knows")
        }
    }
}
