import LockkeeperMessages

// Events as a test writes them: about conversation "c", said by "bob", unless they say otherwise.

func message(
    _ id: MessageID,
    seq: Int64?,
    _ body: String = "text",
    version: Int64 = 1,
    from sender: PersonID = "bob",
    in conversation: ConversationID = "c",
    sentAt: Int64 = 1_000
) -> Event {
    .message(
        MessageEvent(
            conversation: conversation,
            id: id,
            sequence: seq,
            sender: sender,
            sentAt: instant(sentAt),
            body: body,
            version: version
        )
    )
}

/// A message with other fields, which the closure sets.
func message(
    _ id: MessageID,
    seq: Int64?,
    _ body: String = "text",
    version: Int64 = 1,
    from sender: PersonID = "bob",
    in conversation: ConversationID = "c",
    sentAt: Int64 = 1_000,
    change: (inout MessageEvent) throws -> Void
) rethrows -> Event {
    var event = MessageEvent(
        conversation: conversation,
        id: id,
        sequence: seq,
        sender: sender,
        sentAt: instant(sentAt),
        body: body,
        version: version
    )
    try change(&event)
    return .message(event)
}

func edit(
    _ id: MessageID,
    version: Int64,
    _ body: String? = nil,
    change: (inout EditEvent) throws -> Void
) rethrows -> Event {
    var event = EditEvent(conversation: "c", id: id, version: version, body: body)
    try change(&event)
    return .edit(event)
}

func edit(_ id: MessageID, version: Int64, _ body: String? = nil) -> Event {
    .edit(EditEvent(conversation: "c", id: id, version: version, body: body))
}

func recall(
    _ id: MessageID,
    version: Int64 = 1,
    seq: Int64? = nil,
    from sender: PersonID? = nil,
    in conversation: ConversationID = "c"
) -> Event {
    .recall(
        RecallEvent(
            conversation: conversation,
            id: id,
            version: version,
            sequence: seq,
            sender: sender
        )
    )
}

func read(
    upTo seq: Int64,
    by reader: PersonID? = nil,
    _ kind: ReadEvent.Kind = .read,
    in conversation: ConversationID = "c"
) -> Event {
    .read(ReadEvent(conversation: conversation, sequence: seq, reader: reader, kind: kind))
}

func page(
    _ after: Cursor?,
    _ next: Cursor,
    done: Bool = false,
    of stream: StreamID = "inbox"
) -> SyncPage {
    SyncPage(stream: stream, after: after, next: next, done: done)
}

/// An instant of a test's own making, in milliseconds since 1970.
func instant(_ milliseconds: Int64) -> Timestamp {
    do {
        return try Timestamp(millisecondsSince1970: milliseconds)
    } catch {
        preconditionFailure("a test's instant lies outside of the format's: \(error)")
    }
}

func delete(_ id: MessageID, seq: Int64? = nil, version: Int64 = 0) -> Event {
    .delete(DeleteEvent(conversation: "c", id: id, sequence: seq, version: version))
}

func reaction(
    _ id: MessageID,
    by reactor: PersonID = "bob",
    _ emoji: String = "👍",
    slot: ReactionSlot? = nil,
    version: Int64 = 1,
    removed: Bool = false
) -> Event {
    .reaction(
        ReactionEvent(
            conversation: "c",
            id: id,
            reactor: reactor,
            emoji: emoji,
            slot: slot,
            version: version,
            removed: removed
        )
    )
}

func read(upTo id: MessageID, by reader: PersonID? = nil, _ kind: ReadEvent.Kind = .read) -> Event {
    .read(ReadEvent(conversation: "c", target: .message(id), reader: reader, kind: kind))
}

func conversation(
    _ id: ConversationID = "c",
    version: Int64 = 1,
    change: (inout ConversationEvent) -> Void
) -> Event {
    var event = ConversationEvent(conversation: id, version: version)
    change(&event)
    return .conversation(event)
}

func member(
    _ person: PersonID,
    version: Int64 = 1,
    role: String? = nil,
    removed: Bool = false
) -> Event {
    .member(
        MemberEvent(
            conversation: "c",
            person: person,
            version: version,
            role: role,
            removed: removed
        )
    )
}

func clear(upTo seq: Int64, in conversation: ConversationID = "c") -> Event {
    .clear(ClearEvent(conversation: conversation, sequence: seq))
}

func history(_ range: ClosedRange<Int64>, in conversation: ConversationID = "c") -> Event {
    .history(
        HistoryEvent(conversation: conversation, from: range.lowerBound, to: range.upperBound)
    )
}

func reset(_ expected: Cursor, of stream: StreamID = "inbox") -> Event {
    .reset(ResetEvent(stream: stream, expected: expected))
}

extension Event {
    /// The same event about another conversation, or in another stream.
    func moved(to conversation: ConversationID, stream: StreamID = "inbox") -> Event {
        func about<Value>(_ value: Value, _ path: WritableKeyPath<Value, ConversationID>) -> Value {
            var value = value
            value[keyPath: path] = conversation
            return value
        }
        switch self {
        case .message(let event): return .message(about(event, \.conversation))
        case .edit(let event): return .edit(about(event, \.conversation))
        case .recall(let event): return .recall(about(event, \.conversation))
        case .delete(let event): return .delete(about(event, \.conversation))
        case .reaction(let event): return .reaction(about(event, \.conversation))
        case .read(let event): return .read(about(event, \.conversation))
        case .conversation(let event): return .conversation(about(event, \.conversation))
        case .member(let event): return .member(about(event, \.conversation))
        case .clear(let event): return .clear(about(event, \.conversation))
        case .history(let event): return .history(about(event, \.conversation))
        case .page(var page):
            page.stream = stream
            return .page(page)
        case .reset(var reset):
            reset.stream = stream
            return .reset(reset)
        case .later: return self
        }
    }
}
