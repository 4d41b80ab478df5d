import LockkeeperDomain
import LockkeeperMessages

/// A few events that have much to do with each other: few ids, few versions, few values, so that
/// they meet in the same registers.
///
/// What I-5 exempts does not occur: no two ids share a `seq`, no two edges leave one cursor.
struct EventPool: CustomStringConvertible {
    var events: [Event]

    static let eventCountMax = 8

    private static let bodies = ["a", "b", "é"]
    private static let people: [PersonID] = ["bob", "me"]
    private static let ids: [MessageID] = ["m1", "m2", "m3"]

    /// One event for each line, so that a failing pool can be read and tried again.
    var description: String {
        events.map { String(decoding: EventEncoder.line($0), as: UTF8.self) }
            .joined(separator: "\n")
    }

    /// A pool of 2 to ``eventCountMax`` events, or of `count`.
    static func random(_ generator: inout SeededGenerator, count: Int? = nil) -> EventPool {
        let count = count ?? Int.random(in: 2...eventCountMax, using: &generator)
        return EventPool(events: (0..<count).map { _ in event(&generator) })
    }

    private static func event(_ generator: inout SeededGenerator) -> Event {
        switch Int.random(in: 0..<12, using: &generator) {
        case 0..<4: message(&generator)
        case 4..<7: edit(&generator)
        case 7: recall(&generator)
        case 8, 9: read(&generator)
        case 10: page(&generator)
        default: later(&generator)
        }
    }

    private static func message(_ generator: inout SeededGenerator) -> Event {
        let number = Int.random(in: ids.indices, using: &generator)
        let version = Int64.random(in: 0...2, using: &generator)
        // Each id has two places of its own.
        let seq = Int64(2 * number + Int.random(in: 1...2, using: &generator))
        var event = MessageEvent(
            conversation: "c",
            id: ids[number],
            sequence: version == 0 && Bool.random(using: &generator) ? nil : seq,
            sender: pick(people, &generator),
            sentAt: time(&generator),
            body: pick(bodies, &generator),
            version: version
        )
        event.kind = maybe(["text", "poll"], &generator)
        event.counts = maybe([true, false], &generator)
        event.isIncoming = maybe([true, false], &generator)
        event.serverAt = maybe([instant(1), instant(2)], &generator)
        event.clientID = maybe(["x", "y"], &generator)
        event.mentionsMe = maybe([true, false], &generator)
        event.mentions = maybe([[], ["me"], ["bob", "me"]], &generator)
        event.attachments = maybe(attachments, &generator)
        event.extra = maybe(extras, &generator)
        return .message(event)
    }

    private static func edit(_ generator: inout SeededGenerator) -> Event {
        var event = EditEvent(
            conversation: "c",
            id: pick(ids, &generator),
            version: .random(in: 2...3, using: &generator)
        )
        event.body = maybe(bodies, &generator)
        event.editor = maybe(people, &generator)
        event.editedAt = maybe([instant(5), instant(6)], &generator)
        event.mentionsMe = maybe([true, false], &generator)
        event.attachments = maybe(attachments, &generator)
        event.extra = maybe(extras, &generator)
        return .edit(event)
    }

    private static func recall(_ generator: inout SeededGenerator) -> Event {
        let number = Int.random(in: ids.indices, using: &generator)
        var event = RecallEvent(
            conversation: "c",
            id: ids[number],
            version: .random(in: 0...4, using: &generator)
        )
        event.recaller = maybe(people, &generator)
        event.sequence = maybe([Int64(2 * number + 1)], &generator)
        event.sender = maybe(people, &generator)
        event.sentAt = maybe([instant(1), instant(2)], &generator)
        event.isIncoming = maybe([true, false], &generator)
        return .recall(event)
    }

    private static func read(_ generator: inout SeededGenerator) -> Event {
        .read(
            ReadEvent(
                conversation: "c",
                sequence: .random(in: 0...7, using: &generator),
                reader: maybe(people, &generator),
                kind: pick(ReadEvent.Kind.allCases, &generator)
            )
        )
    }

    private static func page(_ generator: inout SeededGenerator) -> Event {
        let chain: [Cursor?] = [nil, "c1", "c2", "c3"]
        let start = Int.random(in: 0..<3, using: &generator)
        // Whether it is the last is said by the edge, not drawn: a redelivery says the same.
        return .page(
            SyncPage(
                stream: "inbox",
                after: chain[start],
                next: chain[start + 1] ?? "c1",
                done: start == 2
            )
        )
    }

    private static func later(_ generator: inout SeededGenerator) -> Event {
        let number = Int.random(in: 0...1, using: &generator)
        return .later(LaterEvent(type: "new", line: Array(#"{"type":"new","n":\#(number)}"#.utf8)))
    }

    // MARK: - Values

    private static let attachments = ["[]", #"[{"id":"a"}]"#, #"[{"id":"a","url":"1"}]"#]
        .compactMap { try? Attachments($0) }
    private static let extras = [#"{"x":1}"#, #"{"y":[1]}"#].compactMap { try? ExtraFields($0) }

    private static func time(_ generator: inout SeededGenerator) -> Timestamp {
        instant(.random(in: 1...3, using: &generator))
    }

    private static func pick<Value>(_ values: [Value], _ generator: inout SeededGenerator) -> Value
    {
        values[Int.random(in: values.indices, using: &generator)]
    }

    private static func maybe<Value>(
        _ values: [Value],
        _ generator: inout SeededGenerator
    ) -> Value? {
        Bool.random(using: &generator) ? pick(values, &generator) : nil
    }
}
