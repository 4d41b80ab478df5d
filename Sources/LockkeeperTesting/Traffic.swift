import LockkeeperDomain
public import LockkeeperMessages

/// Chat traffic as a server would send it, made from a seed.
///
/// Several conversations, texts in several scripts, edits, recalls, read positions, and events that
/// come again: what an ingesting client must bear. Pages of the stream `inbox` close groups of
/// events, so that the final cursor is known as well.
public struct Traffic: Sendable {
    /// The events in the order in which the server sent them first.
    public let events: [Event]

    /// How much to make, and of what.
    public struct Shape: Sendable {
        /// Messages in all.
        public var messageCount = 6000
        /// Conversations that they are spread over.
        public var conversationCount = 12
        /// People beside the account's own self.
        public var personCount = 30
        /// Of a thousand messages, how many are edited later.
        public var editsPerThousand = 40
        /// Of a thousand messages, how many are recalled later.
        public var recallsPerThousand = 10
        /// Events between two pages.
        public var pageEventCount = 50
        /// The stream that the pages belong to.
        public var stream: StreamID = "inbox"

        /// The defaults.
        public init() {}
    }

    /// Traffic for one account. The same seed and shape make the same events.
    ///
    /// - Parameters:
    ///   - seed: what it is drawn from.
    ///   - shape: how much of what.
    ///   - ownID: who the account is among the senders.
    public init(seed: UInt64, shape: Shape = Shape(), ownID: PersonID = "u1") {
        var generator = SeededGenerator(seed: seed)
        var maker = Maker(shape: shape, ownID: ownID)
        events = maker.make(using: &generator)
    }

    /// The events with redeliveries: some come again a little later, as from a server that had no
    /// answer.
    ///
    /// - Parameters:
    ///   - events: what the server has.
    ///   - perThousand: of a thousand events, behind how many an older one comes again.
    ///   - seed: what is drawn from.
    public static func withRedeliveries(
        _ events: [Event],
        perThousand: Int,
        seed: UInt64
    ) -> [Event] {
        var generator = SeededGenerator(seed: seed)
        var result: [Event] = []
        for (index, event) in events.enumerated() {
            result.append(event)
            if Int.random(in: 0..<1000, using: &generator) < perThousand {
                result.append(
                    events[Int.random(in: max(0, index - 200)...index, using: &generator)]
                )
            }
        }
        return result
    }
}

private struct Maker {
    let shape: Traffic.Shape
    let ownID: PersonID
    private var nextSeq: [Int64]
    private var events: [Event] = []
    private var pageCount = 0
    private var cursor: Cursor?
    private var instant: Int64 = 1_796_000_000_000

    private static let phrases = [
        "on my way", "did you see the lock on the second gate?", "今天玩成语接龙游戏吗",
        "オンラインで買うね", "끝말잇기 게임을 하자", "the water is level now 🚤", "c'est noté, à demain",
        "مرحبا، كيف الحال", "שלום, מה נשמע", "👍🏽", "👩‍👩‍👧‍👦 all here",
        "see https://example.org/gate?id=7&x=\"y\"",
        "ok", "two lines\nof text", "tabs\tand \\ backslashes", "zürich → café", "重跑gen后再看",
    ]

    init(shape: Traffic.Shape, ownID: PersonID) {
        self.shape = shape
        self.ownID = ownID
        nextSeq = Array(repeating: 1, count: shape.conversationCount)
    }

    mutating func make(using generator: inout SeededGenerator) -> [Event] {
        for number in 0..<shape.messageCount {
            makeMessage(number, using: &generator)
            if (number + 1).isMultiple(of: shape.pageEventCount) { makePage(isLast: false) }
        }
        makePage(isLast: true)
        return events
    }

    private mutating func makeMessage(_ number: Int, using generator: inout SeededGenerator) {
        // A few conversations are busy, most are not.
        let draw = Double.random(in: 0..<1, using: &generator)
        let index = Int(draw * draw * Double(shape.conversationCount))
        let conversation = ConversationID(unchecked: Array("room-\(index)".utf8))
        let person = Int.random(in: 0...shape.personCount, using: &generator)
        let sender = person == 0 ? ownID : PersonID(unchecked: Array("person-\(person)".utf8))
        let id = MessageID(unchecked: Array("m-\(index)-\(number)".utf8))
        instant += Int64.random(in: 10...90_000, using: &generator)
        let seq = nextSeq[index]
        nextSeq[index] += Int64.random(in: 1...3, using: &generator)
        let body = text(using: &generator)
        events.append(
            .message(
                MessageEvent(
                    conversation: conversation,
                    id: id,
                    sequence: seq,
                    sender: sender,
                    sentAt: at(instant),
                    body: body
                )
            )
        )
        let fate = Int.random(in: 0..<1000, using: &generator)
        if fate < shape.editsPerThousand {
            events.append(
                .edit(
                    EditEvent(
                        conversation: conversation,
                        id: id,
                        version: 2,
                        editor: sender,
                        editedAt: at(instant + 5000),
                        body: body + " (edited)"
                    )
                )
            )
        } else if fate < shape.editsPerThousand + shape.recallsPerThousand {
            events.append(
                .recall(
                    RecallEvent(conversation: conversation, id: id, version: 2, recaller: sender)
                )
            )
        } else if fate > 985 {
            events.append(.read(ReadEvent(conversation: conversation, sequence: seq)))
        }
    }

    private func text(using generator: inout SeededGenerator) -> String {
        let count = Int.random(in: 1...4, using: &generator)
        return (0..<count).map { _ in
            Self.phrases[Int.random(in: 0..<Self.phrases.count, using: &generator)]
        }.joined(separator: " ")
    }

    private mutating func makePage(isLast: Bool) {
        pageCount += 1
        let next = Cursor(unchecked: Array("cursor-\(pageCount)".utf8))
        events.append(
            .page(SyncPage(stream: shape.stream, after: cursor, next: next, done: isLast))
        )
        cursor = next
    }

    private func at(_ milliseconds: Int64) -> Timestamp {
        guard let instant = try? Timestamp(millisecondsSince1970: milliseconds) else {
            preconditionFailure("traffic stays in this century")
        }
        return instant
    }
}
