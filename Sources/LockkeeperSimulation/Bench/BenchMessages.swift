import CLockkeeperBaseline
import LockkeeperDomain
import LockkeeperMessages

/// The messages of one process of a benchmark: the same rows that the baseline writes in C, unless
/// something else is asked for.
struct BenchMessages {
    private let number: Int
    private var sequence: Int64 = 0
    private let body: String
    private var words: BenchWords?
    private var idGenerator: SeededGenerator?
    private let conversations: [ConversationID]
    private static let sender: PersonID = "u2"

    /// Messages of a process.
    ///
    /// - Parameters:
    ///   - number: the process's number, part of every id.
    ///   - words: where bodies come from; `nil`: all are the baseline's.
    ///   - seed: makes ids that come by chance, as a server's do; `nil`: they are counted, as the
    ///     baseline's are.
    init(number: Int, words: BenchWords? = nil, idsFrom seed: UInt64? = nil) {
        self.number = number
        self.words = words
        idGenerator = seed.map { SeededGenerator(seed: $0) }
        let count = LK_BASELINE_CONVERSATIONS
        body = String(repeating: "x", count: LK_BASELINE_BODY_BYTES)
        conversations = (0..<count).map { Self.conversation(Int($0), of: number) }
    }

    /// One of the conversations of a process, which take turns.
    static func conversation(_ index: Int, of number: Int) -> ConversationID {
        ConversationID(unchecked: Array("c\(number)-\(index)".utf8))
    }

    /// The next message.
    mutating func next() -> Event {
        sequence += 1
        return .message(
            MessageEvent(
                conversation: conversations[Int(sequence) % conversations.count],
                id: nextID(),
                sequence: sequence,
                sender: Self.sender,
                sentAt: Self.instant(1_796_000_000_000 + 1000 * sequence),
                body: words?.next() ?? body
            )
        )
    }

    /// The next messages.
    mutating func next(_ count: Int) -> [Event] { (0..<count).map { _ in next() } }

    /// The next messages as lines.
    mutating func nextLines(_ count: Int) -> [UInt8] {
        var encoder = EventEncoder()
        for event in next(count) { encoder.append(event) }
        return encoder.bytes
    }

    private mutating func nextID() -> MessageID {
        guard let random = idGenerator?.next() else {
            return MessageID(unchecked: Array("m\(number)-\(sequence)".utf8))
        }
        return MessageID(unchecked: Array(String(random, radix: 36).utf8))
    }

    private static func instant(_ milliseconds: Int64) -> Timestamp {
        do {
            return try Timestamp(millisecondsSince1970: milliseconds)
        } catch {
            preconditionFailure("a benchmark ends within the centuries that a timestamp knows")
        }
    }
}
