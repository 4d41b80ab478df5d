public import LockkeeperDomain

// The ranges of the event format, for events from lines and from programs alike.
extension Event {
    /// Checks what an event's types leave open: ranges, the size of the body, that identifiers are
    /// text, and that extra fields have names of their own.
    ///
    /// - Throws: ``EventError`` when the event cannot be stored.
    public func validate(limits: Limits = Limits()) throws(EventError) {
        try validateRanges(limits: limits)
        switch self {
        case .message(let message):
            try checkText(message.conversation, .conversation)
            try checkText(message.id, .id)
            try checkText(message.sender, .sender)
            try checkText(message.clientID, .clientID)
            try checkText(message.replyTo, .replyTo)
            for person in message.mentions ?? [] { try checkText(person, .mentions) }
            try check(message.extra, beside: .message)
        case .edit(let edit):
            try checkText(edit.conversation, .conversation)
            try checkText(edit.id, .id)
            try checkText(edit.editor, .by)
            for person in edit.mentions ?? [] { try checkText(person, .mentions) }
            try check(edit.extra, beside: .edit)
        case .recall(let recall):
            try checkText(recall.conversation, .conversation)
            try checkText(recall.id, .id)
            try checkText(recall.recaller, .by)
            try checkText(recall.sender, .sender)
            try check(recall.extra, beside: .recall)
        case .read(let read):
            try checkText(read.conversation, .conversation)
            try checkText(read.reader, .by)
            try checkText(read.message, .id)
        case .delete(let delete):
            try checkText(delete.conversation, .conversation)
            try checkText(delete.id, .id)
        case .reaction(let reaction):
            try checkText(reaction.conversation, .conversation)
            try checkText(reaction.id, .id)
            try checkText(reaction.reactor, .by)
            try checkText(reaction.slot, .slot)
            try check(reaction.extra, beside: .reaction)
        case .conversation(let event):
            try checkText(event.conversation, .conversation)
            try checkText(event.parent, .parent)
            try check(event.extra, beside: .conversation)
        case .member(let member):
            try checkText(member.conversation, .conversation)
            try checkText(member.person, .person)
            try check(member.extra, beside: .member)
        case .clear(let clear): try checkText(clear.conversation, .conversation)
        case .history(let history): try checkText(history.conversation, .conversation)
        case .reset(let reset):
            try checkText(reset.stream, .stream)
            try checkText(reset.expected, .expected)
        case .page(let page):
            try checkText(page.stream, .stream)
            try checkText(page.after, .after)
            try checkText(page.next, .next)
        case .later:
            break
        }
    }

    /// The part of ``validate(limits:)`` that a decoded line does not pass by its making.
    func validateRanges(limits: Limits) throws(EventError) {
        switch self {
        case .message(let message):
            try check(message.version, .version, from: 0)
            if let sequence = message.sequence {
                try check(sequence, .sequence, from: 1)
            } else if !message.isProvisional {
                let reason = "only a message of version 0 may have no seq"
                throw EventError(.missing, field: EventField.sequence.text, reason: reason)
            }
            try check(body: message.body, limits: limits)
        case .edit(let edit):
            try check(edit.version, .version, from: 2)
            if let body = edit.body { try check(body: body, limits: limits) }
        case .recall(let recall):
            try check(recall.version, .version, from: 0)
            if let sequence = recall.sequence { try check(sequence, .sequence, from: 1) }
        case .delete(let delete):
            if let sequence = delete.sequence { try check(sequence, .sequence, from: 1) }
            try check(delete.version, .version, from: 0)
        case .reaction(let reaction):
            try check(reaction.version, .version, from: 0)
            try check(emoji: reaction.emoji)
        case .read(let read):
            if let sequence = read.sequence { try check(sequence, .sequence, from: 0) }
        case .conversation(let conversation):
            try check(conversation.version, .version, from: 0)
            try check(length: conversation.title, .title, limits: limits)
            try check(length: conversation.kind, .kind, limits: limits)
        case .member(let member):
            try check(member.version, .version, from: 0)
            try check(length: member.role, .role, limits: limits)
        case .clear(let clear):
            try check(clear.sequence, .sequence, from: 1)
        case .history(let history):
            try check(history.from, .from, from: 1)
            try check(history.to, .to, from: history.from)
        case .page, .reset, .later:
            break
        }
    }

    private func check(
        _ value: Int64,
        _ field: EventField,
        from least: Int64
    ) throws(EventError) {
        guard value < least || value > JSONScanner.integerMax else { return }
        throw EventError(
            .outOfRange,
            field: field.text,
            reason: "the integer lies outside of \(least) to 2^53 − 1"
        )
    }

    private func check(body: String, limits: Limits) throws(EventError) {
        guard body.utf8.count > limits.bodyByteCountMax else { return }
        throw EventError(
            .bodyTooLong,
            field: EventField.body.text,
            reason: "a body has at most \(limits.bodyByteCountMax) bytes"
        )
    }

    /// A text beside the body has no more bytes than a body.
    private func check(
        length text: String?,
        _ field: EventField,
        limits: Limits
    ) throws(EventError) {
        guard let text, text.utf8.count > limits.bodyByteCountMax else { return }
        throw EventError(
            .bodyTooLong,
            field: field.text,
            reason: "a \(field.text) has at most \(limits.bodyByteCountMax) bytes"
        )
    }

    /// An emoji is what names its slot unless the event names another one, so that it has the length
    /// of an identifier.
    private func check(emoji: String) throws(EventError) {
        do throws(IdentifierError) {
            _ = try ReactionSlot(bytes: Array(emoji.utf8))
        } catch {
            throw EventError(error, field: EventField.emoji.text)
        }
    }

    /// A line can say an identifier only if it is text: exported otherwise, it would be another.
    private func checkText<ID: ByteIdentifier>(
        _ identifier: ID?,
        _ field: EventField
    ) throws(EventError) {
        guard let identifier, !identifier.bytes.withUnsafeBytes(isUTF8) else { return }
        throw EventError(.notUTF8, field: field.text, reason: "a \(ID.noun) is text in UTF-8")
    }

    private func check(_ extra: ExtraFields?, beside known: EventFieldSet) throws(EventError) {
        guard let extra else { return }
        let names = EventField.allCases.filter(known.has).map(\.text)
        let keys: [[UInt8]]
        do throws(JSONError) {
            keys = try extra.keys
        } catch {
            throw EventError(error)
        }
        for name in names where keys.contains(Array(name.utf8)) {
            let reason = "an extra field has the name of a field of its event"
            throw EventError(.reservedField, field: name, reason: reason)
        }
    }
}
