internal import LockkeeperDomain

/// Writes events as lines in their canonical form.
///
/// One event, one form: `type` first, then the fields in the order of the format's table, then
/// extra fields sorted by their keys. What the event does not carry and what equals a default of
/// the line (`version` 1 of a message, `done` false, `kind` "read" of a position) is left out. An
/// instant is in UTC. Decoding a line and encoding the event gives the canonical line; doing so
/// again gives the same bytes.
public struct EventEncoder {
    private var writer: JSONWriter

    /// An encoder that has written nothing.
    public init() { writer = JSONWriter() }

    /// The lines that have been written, each with its line end.
    public var bytes: [UInt8] { writer.bytes }

    /// Adds the line of one event.
    public mutating func append(_ event: Event) {
        write(event)
        writer.endLine()
    }

    /// The line of one event, without line end.
    public static func line(_ event: Event) -> [UInt8] {
        var encoder = EventEncoder()
        encoder.write(event)
        return encoder.bytes
    }

    private mutating func write(_ event: Event) {
        if case .later(let later) = event { return writer.raw(later.line) }
        writer.beginObject()
        switch event {
        case .message(let message): write(message)
        case .edit(let edit): write(edit)
        case .recall(let recall): write(recall)
        case .delete(let delete): write(delete)
        case .reaction(let reaction): write(reaction)
        case .read(let read): write(read)
        case .conversation(let conversation): write(conversation)
        case .member(let member): write(member)
        case .clear(let clear): write(clear)
        case .history(let history): write(history)
        case .page(let page): write(page)
        case .reset(let reset): write(reset)
        case .later: break
        }
        writer.endObject()
    }

    private mutating func write(_ message: MessageEvent) {
        write(.type, "message")
        write(.conversation, message.conversation)
        write(.id, message.id)
        write(.sequence, message.sequence)
        write(.sender, message.sender)
        write(.sentAt, message.sentAt)
        write(.body, message.body)
        let isDefault = message.version == MessageEvent.versionDefault
        write(.version, isDefault ? nil : message.version)
        write(.kind, message.kind)
        write(.counts, message.counts)
        write(.incoming, message.isIncoming)
        write(.serverAt, message.serverAt)
        write(.clientID, message.clientID)
        write(.replyTo, message.replyTo)
        write(.mentions, message.mentions)
        write(.mentionsMe, message.mentionsMe)
        write(.attachments, message.attachments)
        write(.expiresAt, message.expiresAt)
        write(message.extra)
    }

    private mutating func write(_ edit: EditEvent) {
        write(.type, "edit")
        write(.conversation, edit.conversation)
        write(.id, edit.id)
        write(.version, edit.version)
        write(.by, edit.editor)
        write(.editedAt, edit.editedAt)
        write(.body, edit.body)
        write(.mentions, edit.mentions)
        write(.mentionsMe, edit.mentionsMe)
        write(.attachments, edit.attachments)
        write(.expiresAt, edit.expiresAt)
        write(edit.extra)
    }

    private mutating func write(_ recall: RecallEvent) {
        write(.type, "recall")
        write(.conversation, recall.conversation)
        write(.id, recall.id)
        write(.version, recall.version)
        write(.by, recall.recaller)
        write(.sequence, recall.sequence)
        write(.sender, recall.sender)
        write(.sentAt, recall.sentAt)
        write(.incoming, recall.isIncoming)
        write(recall.extra)
    }

    private mutating func write(_ read: ReadEvent) {
        write(.type, "read")
        write(.conversation, read.conversation)
        write(.sequence, read.sequence)
        write(.id, read.message)
        write(.by, read.reader)
        write(.kind, read.kind == .read ? nil : read.kind.rawValue)
    }

    private mutating func write(_ delete: DeleteEvent) {
        write(.type, "delete")
        write(.conversation, delete.conversation)
        write(.id, delete.id)
        guard let sequence = delete.sequence else { return }
        write(.sequence, sequence)
        write(.version, delete.version == 0 ? nil : delete.version)
    }

    private mutating func write(_ reaction: ReactionEvent) {
        write(.type, "reaction")
        write(.conversation, reaction.conversation)
        write(.id, reaction.id)
        write(.by, reaction.reactor)
        write(.emoji, reaction.emoji)
        let isDefault = reaction.slot?.bytes == Array(reaction.emoji.utf8)
        write(.slot, isDefault ? nil : reaction.slot)
        write(.version, reaction.version)
        write(.removed, reaction.isRemoved ? true : nil)
        write(reaction.extra)
    }

    private mutating func write(_ conversation: ConversationEvent) {
        write(.type, "conversation")
        write(.conversation, conversation.conversation)
        write(.version, conversation.version)
        write(.title, conversation.title)
        write(.kind, conversation.kind)
        write(.muted, conversation.isMuted)
        write(.pinned, conversation.isPinned)
        write(.archived, conversation.isArchived)
        write(.markedUnread, conversation.isMarkedUnread)
        write(.parent, conversation.parent)
        write(conversation.extra)
    }

    private mutating func write(_ member: MemberEvent) {
        write(.type, "member")
        write(.conversation, member.conversation)
        write(.person, member.person)
        write(.version, member.version)
        write(.role, member.role)
        write(.removed, member.isRemoved ? true : nil)
        write(member.extra)
    }

    private mutating func write(_ clear: ClearEvent) {
        write(.type, "clear")
        write(.conversation, clear.conversation)
        write(.sequence, clear.sequence)
    }

    private mutating func write(_ history: HistoryEvent) {
        write(.type, "history")
        write(.conversation, history.conversation)
        write(.from, history.from)
        write(.to, history.to)
    }

    private mutating func write(_ reset: ResetEvent) {
        write(.type, "reset")
        write(.stream, reset.stream)
        write(.expected, reset.expected)
    }

    private mutating func write(_ page: SyncPage) {
        write(.type, "page")
        write(.stream, page.stream)
        if page.after == nil {
            writer.key(EventField.after.name)
            writer.null()
        }
        write(.after, page.after)
        write(.next, page.next)
        write(.done, page.isDone ? true : nil)
    }

    // One operation per kind of value; each leaves out what is absent.

    private mutating func write(_ field: EventField, _ text: String?) {
        guard let text else { return }
        writer.key(field.name)
        writer.string(text)
    }

    private mutating func write(_ field: EventField, _ value: Int64?) {
        guard let value else { return }
        writer.key(field.name)
        writer.integer(value)
    }

    private mutating func write(_ field: EventField, _ value: Bool?) {
        guard let value else { return }
        writer.key(field.name)
        writer.bool(value)
    }

    private mutating func write(_ field: EventField, _ instant: Timestamp?) {
        write(field, instant?.description)
    }

    private mutating func write<ID: ByteIdentifier>(_ field: EventField, _ identifier: ID?) {
        guard let identifier else { return }
        writer.key(field.name)
        writer.string(utf8: identifier.bytes)
    }

    private mutating func write<ID: ByteIdentifier>(_ field: EventField, _ identifiers: [ID]?) {
        guard let identifiers else { return }
        writer.key(field.name)
        writer.beginArray()
        for identifier in identifiers { writer.string(utf8: identifier.bytes) }
        writer.endArray()
    }

    private mutating func write(_ field: EventField, _ attachments: Attachments?) {
        guard let attachments else { return }
        writer.key(field.name)
        writer.raw(attachments.bytes)
    }

    private mutating func write(_ extra: ExtraFields?) {
        if let extra { writer.rawMembers(extra.memberBytes) }
    }
}
