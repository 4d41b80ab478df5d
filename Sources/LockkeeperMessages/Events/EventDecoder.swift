public import LockkeeperDomain

/// Makes events from lines.
///
/// It is strict: what it lets through has the shape, the types and the ranges of the event format,
/// so that the merge rules need no second look. A decoder keeps its memory from line to line; a
/// thread that reads many lines keeps one decoder.
public struct EventDecoder {
    private let limits: Limits
    private var fields: EventFields
    // Lines of one conversation follow each other: its id is shared instead of copied.
    private var lastConversation: ConversationID?

    /// A decoder with its bounds.
    public init(limits: Limits = Limits()) {
        self.limits = limits
        fields = EventFields(nestingDepthMax: limits.nestingDepthMax)
    }

    /// The event that a line says; the line has no line end.
    ///
    /// - Throws: ``EventError`` when the line is no event.
    public mutating func decode(line: UnsafeRawBufferPointer) throws(EventError) -> Event {
        guard line.count <= limits.lineByteCountMax else {
            throw EventError(
                .lineTooLong,
                reason: "a line has at most \(limits.lineByteCountMax) bytes"
            )
        }
        try fields.begin(line)
        defer { fields.end() }
        let event = try event(of: line)
        try event.validateRanges(limits: limits)
        return event
    }

    /// The event that a line says; the line has no line end.
    ///
    /// - Throws: ``EventError`` when the line is no event.
    public mutating func decode(line: [UInt8]) throws(EventError) -> Event {
        try line.withUnsafeBufferPointer { bytes throws(EventError) in
            try decode(line: UnsafeRawBufferPointer(bytes))
        }
    }

    private mutating func event(of line: UnsafeRawBufferPointer) throws(EventError) -> Event {
        let isMessage = !fields.present.has(.type) || fields.isText(.type, "message")
        if isMessage { return .message(try message()) }
        let type = try fields.string(.type)
        switch type {
        case "edit": return .edit(try edit())
        case "recall": return .recall(try recall())
        case "delete": return .delete(try delete())
        case "reaction": return .reaction(try reaction())
        case "read": return .read(try read())
        case "conversation": return .conversation(try conversationState())
        case "member": return .member(try member())
        case "clear":
            return .clear(
                ClearEvent(
                    conversation: try conversation(),
                    sequence: try fields.integer(.sequence)
                )
            )
        case "history":
            return .history(
                HistoryEvent(
                    conversation: try conversation(),
                    from: try fields.integer(.from),
                    to: try fields.integer(.to)
                )
            )
        case "page": return .page(try page())
        case "reset":
            return .reset(
                ResetEvent(
                    stream: try fields.identifier(.stream),
                    expected: try fields.identifier(.expected)
                )
            )
        default:
            return .later(LaterEvent(type: type, line: JSONWriter.canonicalized(line)))
        }
    }

    private mutating func message() throws(EventError) -> MessageEvent {
        MessageEvent(
            conversation: try conversation(),
            id: try fields.identifier(.id),
            sequence: try fields.integerIfPresent(.sequence),
            sender: try fields.identifier(.sender),
            sentAt: try fields.timestamp(.sentAt),
            body: try fields.string(.body),
            version: try fields.integerIfPresent(.version) ?? MessageEvent.versionDefault,
            kind: try fields.stringIfPresent(.kind),
            counts: try fields.boolIfPresent(.counts),
            isIncoming: try fields.boolIfPresent(.incoming),
            serverAt: try fields.timestampIfPresent(.serverAt),
            clientID: try fields.identifierIfPresent(.clientID),
            replyTo: try fields.identifierIfPresent(.replyTo),
            mentions: try fields.identifiersIfPresent(.mentions),
            mentionsMe: try fields.boolIfPresent(.mentionsMe),
            attachments: try fields.attachmentsIfPresent(),
            expiresAt: try fields.timestampIfPresent(.expiresAt),
            extra: try fields.extra(beside: .message)
        )
    }

    private mutating func edit() throws(EventError) -> EditEvent {
        EditEvent(
            conversation: try conversation(),
            id: try fields.identifier(.id),
            version: try fields.integer(.version),
            editor: try fields.identifierIfPresent(.by),
            editedAt: try fields.timestampIfPresent(.editedAt),
            body: try fields.stringIfPresent(.body),
            mentions: try fields.identifiersIfPresent(.mentions),
            mentionsMe: try fields.boolIfPresent(.mentionsMe),
            attachments: try fields.attachmentsIfPresent(),
            expiresAt: try fields.timestampIfPresent(.expiresAt),
            extra: try fields.extra(beside: .edit)
        )
    }

    private mutating func recall() throws(EventError) -> RecallEvent {
        RecallEvent(
            conversation: try conversation(),
            id: try fields.identifier(.id),
            version: try fields.integer(.version),
            recaller: try fields.identifierIfPresent(.by),
            sequence: try fields.integerIfPresent(.sequence),
            sender: try fields.identifierIfPresent(.sender),
            sentAt: try fields.timestampIfPresent(.sentAt),
            isIncoming: try fields.boolIfPresent(.incoming),
            extra: try fields.extra(beside: .recall)
        )
    }

    private mutating func delete() throws(EventError) -> DeleteEvent {
        var event = DeleteEvent(
            conversation: try conversation(),
            id: try fields.identifier(.id),
            sequence: try fields.integerIfPresent(.sequence)
        )
        // The version is that of the place; a deletion itself has none.
        let version = try fields.integerIfPresent(.version)
        if event.sequence != nil, let version { event.version = version }
        return event
    }

    private mutating func reaction() throws(EventError) -> ReactionEvent {
        ReactionEvent(
            conversation: try conversation(),
            id: try fields.identifier(.id),
            reactor: try fields.identifier(.by),
            emoji: try fields.string(.emoji),
            slot: try fields.identifierIfPresent(.slot),
            version: try fields.integer(.version),
            removed: try fields.boolIfPresent(.removed) ?? false,
            extra: try fields.extra(beside: .reaction)
        )
    }

    /// A position by `seq`, else by `id`.
    private mutating func read() throws(EventError) -> ReadEvent {
        let conversation = try conversation()
        let target: ReadEvent.Target =
            if let sequence = try fields.integerIfPresent(.sequence) {
                .sequence(sequence)
            } else {
                .message(try fields.identifier(.id))
            }
        return ReadEvent(
            conversation: conversation,
            target: target,
            reader: try fields.identifierIfPresent(.by),
            kind: try readKind()
        )
    }

    private mutating func conversationState() throws(EventError) -> ConversationEvent {
        ConversationEvent(
            conversation: try conversation(),
            version: try fields.integer(.version),
            title: try fields.stringIfPresent(.title),
            kind: try fields.stringIfPresent(.kind),
            muted: try fields.boolIfPresent(.muted),
            pinned: try fields.boolIfPresent(.pinned),
            archived: try fields.boolIfPresent(.archived),
            markedUnread: try fields.boolIfPresent(.markedUnread),
            parent: try fields.identifierIfPresent(.parent),
            extra: try fields.extra(beside: .conversation)
        )
    }

    private mutating func member() throws(EventError) -> MemberEvent {
        MemberEvent(
            conversation: try conversation(),
            person: try fields.identifier(.person),
            version: try fields.integer(.version),
            role: try fields.stringIfPresent(.role),
            removed: try fields.boolIfPresent(.removed) ?? false,
            extra: try fields.extra(beside: .member)
        )
    }

    private func page() throws(EventError) -> SyncPage {
        SyncPage(
            stream: try fields.identifier(.stream),
            after: try fields.nullableIdentifier(.after),
            next: try fields.identifier(.next),
            done: try fields.boolIfPresent(.done) ?? false
        )
    }

    private func readKind() throws(EventError) -> ReadEvent.Kind {
        guard let text = try fields.stringIfPresent(.kind) else { return .read }
        guard let kind = ReadEvent.Kind(rawValue: text) else {
            throw EventError(
                .invalidValue,
                field: EventField.kind.text,
                at: fields.offset(of: .kind),
                reason: "the kind of a position is \"read\" or \"delivered\""
            )
        }
        return kind
    }

    private mutating func conversation() throws(EventError) -> ConversationID {
        if let last = lastConversation, let text = fields.plainText(.conversation),
            last.bytes.withUnsafeBytes({ $0.hasSameBytes(as: text) })
        {
            return last
        }
        let conversation: ConversationID = try fields.identifier(.conversation)
        lastConversation = conversation
        return conversation
    }
}
