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
