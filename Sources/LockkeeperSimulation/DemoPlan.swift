import LockkeeperDomain
package import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperTesting

/// What a demo run does, decided before it begins.
package struct DemoPlan: Sendable {
    /// The events for the first account, redeliveries among them, in the server's order.
    package let events: [Event]
    /// The events for the second account.
    package let otherEvents: [Event]
    /// The events that a helper gets once its account was switched away from.
    package let lateEvents: [Event]
    /// The messages of a conversation that two processes are both given, while two show notifications.
    package let pushedEvents: [Event]
    /// What another device does with some of them: it recalls the last ones and reads the first ones.
    package let withdrawingEvents: [Event]
    /// The seed that repeats it.
    package let seed: UInt64

    /// A quarter of a minute of a busy server's day; enough that three helpers meet at the door.
    private static let messageCount = 20_000
    private static let otherMessageCount = 200
    private static let lateMessageCount = 50
    // Enough that both show some; few, because a program is started for each.
    private static let pushedMessageCount = 24
    private static let recalledCount = 4
    private static let readCount = 8
    private static let pushedConversation: ConversationID = "pushes"
    private static let redeliveriesPerThousand = 30

    /// Generated traffic.
    package init(seed: UInt64) {
        var shape = Traffic.Shape()
        shape.messageCount = Self.messageCount
        self.init(events: Traffic(seed: seed, shape: shape).events, seed: seed)
    }

    /// The events of a file of event lines, in its order.
    ///
    /// - Parameter skip: told of each line that is no event, and left out.
    /// - Throws: `SystemCallError` when it cannot be read, ``SimulationError`` when it has no event.
    package init(
        file path: String,
        seed: UInt64,
        skip: (Int, EventError) -> Void
    ) throws {
        var events: [Event] = []
        var decoder = LineDecoder()
        func take(_ number: Int, _ line: DecodedLine, _ error: EventError?) {
            if let event = line.event { events.append(event) }
            if let error { skip(number, error) }
        }
        let file = try FileDescriptor(opening: path)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
        defer { buffer.deallocate() }
        while case let count = try file.read(into: buffer), count > 0 {
            decoder.feed(UnsafeRawBufferPointer(rebasing: buffer[..<count]), take: take)
        }
        decoder.finish(take: take)
        guard !events.isEmpty else {
            throw SimulationError.unusableInput(path: path, reason: "it has no event")
        }
        self.init(events: events, seed: seed)
    }

    private init(events: [Event], seed: UInt64) {
        self.seed = seed
        self.events = Traffic.withRedeliveries(
            events,
            perThousand: Self.redeliveriesPerThousand,
            seed: seed &+ 1
        )
        var shape = Traffic.Shape()
        shape.messageCount = Self.otherMessageCount
        shape.conversationCount = 3
        otherEvents = Traffic(seed: seed &+ 2, shape: shape).events
        pushedEvents = (1...Self.pushedMessageCount).map { number in
            .message(
                MessageEvent(
                    conversation: Self.pushedConversation,
                    id: Self.pushedMessage(number),
                    sequence: Int64(number),
                    sender: "person-1",
                    sentAt: .earliest,
                    body: "look here"
                )
            )
        }
        withdrawingEvents =
            Self.recalledNumbers.map { number in
                .recall(
                    RecallEvent(
                        conversation: Self.pushedConversation,
                        id: Self.pushedMessage(number),
                        version: 2
                    )
                )
            } + [
                .read(
                    ReadEvent(
                        conversation: Self.pushedConversation,
                        sequence: Int64(Self.readCount)
                    )
                )
            ]
        lateEvents = (1...Self.lateMessageCount).map { number in
            .message(
                MessageEvent(
                    conversation: "after the switch",
                    id: MessageID(unchecked: Array("late-\(number)".utf8)),
                    sequence: Int64(number),
                    sender: "person-1",
                    sentAt: .earliest,
                    body: "this must not be stored"
                )
            )
        }
    }

    /// The messages that are to be shown, once each.
    package var pushedMessages: Set<ChatModel.Key> {
        Set((1...Self.pushedMessageCount).map(Self.pushedKey))
    }

    /// Those of them that are to be withdrawn, once each.
    package var withdrawnMessages: Set<ChatModel.Key> {
        Set((Array(1...Self.readCount) + Self.recalledNumbers).map(Self.pushedKey))
    }

    private static var recalledNumbers: [Int] {
        Array((pushedMessageCount - recalledCount + 1)...pushedMessageCount)
    }

    private static func pushedMessage(_ number: Int) -> MessageID {
        MessageID(unchecked: Array("push-\(number)".utf8))
    }

    private static func pushedKey(_ number: Int) -> ChatModel.Key {
        ChatModel.Key(pushedConversation, pushedMessage(number))
    }

    /// The events dealt out to helpers, a page's worth at a time, so that pages arrive at the store
    /// in an order that nobody chose.
    package func shares(of count: Int) -> [[Event]] {
        // A short file is dealt out in smaller parts, so that everybody gets one.
        let dealCount = max(1, min(Self.dealCountMax, events.count / count))
        var shares = Array(repeating: [Event](), count: count)
        for (index, start) in stride(from: 0, to: events.count, by: dealCount).enumerated() {
            shares[index % count] += events[start..<min(start + dealCount, events.count)]
        }
        return shares
    }

    private static let dealCountMax = 50
}
