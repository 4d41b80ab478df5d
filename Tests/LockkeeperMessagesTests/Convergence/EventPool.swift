import LockkeeperDomain
import LockkeeperMessages

/// A few events that have much to do with each other: few ids, few versions, few values, so that
/// they meet in the same registers.
///
/// What I-5 exempts does not occur: no two ids share a `seq`, no two edges leave one cursor, and no
/// `reset` names a cursor that the stream can have, because whether it still has it is a matter of when.
struct EventPool: CustomStringConvertible {
    var steps: [PoolStep]

    /// Events and nothing else.
    init(events: [Event]) { steps = events.map(PoolStep.event) }

    init(steps: [PoolStep]) { self.steps = steps }

    /// The events among the steps.
    var events: [Event] { steps.compactMap(\.event) }

    static let eventCountMax = 12

    static let bodies = ["a", "b", "é"]
    private static let people: [PersonID] = ["bob", "me"]
    private static let ids: [MessageID] = ["m1", "m2", "m3"]

    /// One event for each line, so that a failing pool can be read and tried again.
    var description: String {
        steps.map(\.description).joined(separator: "\n")
    }

    /// A pool of 2 to ``eventCountMax`` events, or of `count`.
    static func random(_ generator: inout SeededGenerator, count: Int? = nil) -> EventPool {
        let count = count ?? Int.random(in: 2...eventCountMax, using: &generator)
        return EventPool(events: (0..<count).map { _ in event(&generator) })
    }

    /// Whether anything in it may end a message.
    var endsMessages: Bool {
        steps.contains { step in
            switch step {
            case .event(let event), .confirmation(let event, _), .refusal(let event):
                switch event {
                case .recall, .delete, .clear: true
                default: false
                }
            case .acceptance: false
            }
        }
    }

    /// A pool with what the account itself does among the events: a quarter of it or less.
    static func randomWithActs(_ generator: inout SeededGenerator, count: Int) -> EventPool {
        EventPool(
            steps: (0..<count).map { _ in
                Int.random(in: 0..<4, using: &generator) == 0
                    ? .act(&generator) : .event(event(&generator))
            }
        )
    }

    /// An edit, a recall or a reaction of the account's own.
    static func ownChange(_ generator: inout SeededGenerator) -> Event {
        switch Int.random(in: 0..<6, using: &generator) {
        case 0:
            return .recall(
                RecallEvent(
                    conversation: "c",
                    id: pick(ids, &generator),
                    version: .random(in: 0...3, using: &generator),
                    recaller: "me"
                )
            )
        case 1, 2:
            return .reaction(
                ReactionEvent(
                    conversation: "c",
                    id: pick(ids, &generator),
                    reactor: "me",
                    emoji: pick(["👍", "👎"], &generator),
                    slot: maybe(["one"], &generator),
                    version: .random(in: 1...2, using: &generator),
                    removed: .random(using: &generator)
                )
            )
        default:
            return .edit(
                EditEvent(
                    conversation: "c",
                    id: pick(ids, &generator),
                    version: .random(in: 2...3, using: &generator),
                    editor: "me",
                    editedAt: instant(.random(in: 5...6, using: &generator)),
                    body: pick(bodies, &generator)
                )
            )
        }
    }

    private static func event(_ generator: inout SeededGenerator) -> Event {
        switch Int.random(in: 0..<24, using: &generator) {
        case 0..<6: message(&generator)
        case 6..<9: edit(&generator)
        case 9, 10: recall(&generator)
        case 11: delete(&generator)
        case 12, 13: reaction(&generator)
        case 14, 15: read(&generator)
        case 16: readByMessage(&generator)
        case 17: conversation(&generator)
        case 18: member(&generator)
        case 19: clear(&generator)
        case 20: history(&generator)
        case 21: page(&generator)
        case 22: .reset(ResetEvent(stream: "inbox", expected: "never"))
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
        event.extra = maybe(messageExtras, &generator)
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
        event.extra = maybe(editExtras, &generator)
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

    private static func delete(_ generator: inout SeededGenerator) -> Event {
        let number = Int.random(in: ids.indices, using: &generator)
        let seq = maybe([Int64(2 * number + 1), Int64(2 * number + 2)], &generator)
        return .delete(
            DeleteEvent(
                conversation: "c",
                id: ids[number],
                sequence: seq,
                version: seq == nil ? 0 : .random(in: 0...3, using: &generator)
            )
        )
    }

    private static func reaction(_ generator: inout SeededGenerator) -> Event {
        .reaction(
            ReactionEvent(
                conversation: "c",
                id: pick(ids, &generator),
                reactor: pick(people, &generator),
                emoji: pick(["👍", "👎"], &generator),
                slot: maybe(["one"], &generator),
                version: .random(in: 1...2, using: &generator),
                removed: .random(using: &generator),
                extra: maybe(extras, &generator)
            )
        )
    }

    private static func readByMessage(_ generator: inout SeededGenerator) -> Event {
        .read(
            ReadEvent(
                conversation: "c",
                target: .message(pick(ids, &generator)),
                reader: maybe(people, &generator),
                kind: pick(ReadEvent.Kind.allCases, &generator)
            )
        )
    }

    private static func conversation(_ generator: inout SeededGenerator) -> Event {
        .conversation(
            ConversationEvent(
                conversation: "c",
                version: .random(in: 0...2, using: &generator),
                title: maybe(bodies, &generator),
                kind: maybe(["group"], &generator),
                muted: maybe([true, false], &generator),
                pinned: maybe([true, false], &generator),
                archived: maybe([true, false], &generator),
                markedUnread: maybe([true, false], &generator),
                parent: maybe(["p", "q"], &generator),
                extra: maybe(extras, &generator)
            )
        )
    }

    private static func member(_ generator: inout SeededGenerator) -> Event {
        .member(
            MemberEvent(
                conversation: "c",
                person: pick(people, &generator),
                version: .random(in: 0...2, using: &generator),
                role: maybe(["admin", "guest"], &generator),
                removed: .random(using: &generator),
                extra: maybe(extras, &generator)
            )
        )
    }

    private static func clear(_ generator: inout SeededGenerator) -> Event {
        .clear(ClearEvent(conversation: "c", sequence: .random(in: 1...5, using: &generator)))
    }

    private static func history(_ generator: inout SeededGenerator) -> Event {
        let from = Int64.random(in: 1...6, using: &generator)
        return .history(
            HistoryEvent(
                conversation: "c",
                from: from,
                to: .random(in: from...7, using: &generator)
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
    /// Unknown fields: some keys with several values, so that they meet at equal and other versions, and
    /// such as have the name of a field of another event.
    private static let extras = fields(
        #"{"x":1}"#,
        #"{"x":2}"#,
        #"{"x":1,"y":[1]}"#,
        #"{"y":null}"#
    )
    private static let messageExtras = extras + fields(#"{"by":"eve","x":3}"#)
    private static let editExtras = extras + fields(#"{"kind":"odd","z":0}"#)

    private static func fields(_ objects: String...) -> [ExtraFields] {
        objects.compactMap { try? ExtraFields($0) }
    }

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
