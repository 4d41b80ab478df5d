import LockkeeperDomain

/// What the losers of a conflict belong to: a message, a person's part in a conversation, or a
/// conversation itself.
struct LoserSubject {
    let conversation: [UInt8]
    var message: [UInt8]?
    var person: [UInt8]?

    /// What an accepted loser is known by: its line; of attachments their ids alone, because the
    /// rest may differ without being a contradiction.
    func key<Field: RegisterField>(of loser: Registers<Field>.Loser) -> [UInt8] {
        guard message != nil, loser.field.name == MessageField.attachments.name,
            case .text(let stored) = loser.value,
            let attachments = try? Attachments(stored: stored)
        else { return line(of: loser) }
        var writer = JSONWriter()
        writer.beginArray()
        let ids = attachments.ids.map(\.bytes).sorted { $0.lexicographicallyPrecedes($1) }
        for id in ids { writer.string(utf8: id) }
        writer.endArray()
        let value = FieldValue.text(writer.bytes)
        return line(
            of: Registers.Loser(field: loser.field, version: loser.version, value: value)
        )
    }

    /// A loser as the line that is put aside: the same value gives the same bytes, by which it is counted
    /// and known again.
    func line<Field: RegisterField>(of loser: Registers<Field>.Loser) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        if message == nil {
            writer.key("type")
            writer.string(person == nil ? "conversation" : "member")
        }
        writer.key("conversation")
        writer.string(utf8: conversation)
        if let message {
            writer.key("id")
            writer.string(utf8: message)
        }
        if let person {
            writer.key("who")
            writer.string(utf8: person)
        }
        writer.key("version")
        writer.integer(loser.version)
        writer.key(loser.field.name)
        switch loser.value {
        // Stored flags are numbers.
        case .integer(let number) where message == nil: writer.bool(number != 0)
        case .integer(let number): writer.integer(number)
        case .text(let bytes):
            let isAttachments = message != nil && loser.field.name == MessageField.attachments.name
            // An unknown field stands in an object of its own: it may have the name of a known one.
            if isAttachments || loser.field == .extra {
                writer.raw(bytes)
            } else {
                writer.string(utf8: bytes)
            }
        }
        writer.endObject()
        return writer.bytes
    }
}

/// A value that lost a conflict, read from the line that was put aside.
struct Lost {
    let conversation: ConversationID
    let value: Value

    /// What it is a value of.
    enum Value {
        case message(MessageID, Registers<MessageField>.Loser)
        case conversation(Registers<ConversationField>.Loser)
        case member(PersonID, Registers<MemberField>.Loser)
        case reaction(ReactionEvent)
    }

    /// Reads a line; `nil` for what is none of these.
    init?(_ line: [UInt8], limits: Limits) {
        var decoder = EventDecoder(limits: limits)
        switch try? decoder.decode(line: line) {
        case .conversation(let event):
            let writes = RegisterWrites<ConversationField>(event)
            guard let field = writes.fields.first?.field,
                let value = field == .extra ? Self.unknownField(event.extra) : writes[field]
            else { return nil }
            conversation = event.conversation
            self.value = .conversation(
                Registers.Loser(field: field, version: event.version, value: value)
            )
        case .member(let event):
            let writes = RegisterWrites<MemberField>(event)
            // An event without a role and anything unknown says nothing but whether the person is there.
            let unknown = Self.unknownField(event.extra)
            let field: MemberField = unknown != nil ? .extra : event.role == nil ? .removed : .role
            guard let value = unknown ?? writes[field] else { return nil }
            conversation = event.conversation
            self.value = .member(
                event.person,
                Registers.Loser(field: field, version: event.version, value: value)
            )
        case .reaction(let event):
            conversation = event.conversation
            value = .reaction(event)
        default:
            guard let read = Self.message(line) else { return nil }
            self = read
        }
    }

    /// The unknown field that a line puts aside, which stands under the name `extra`.
    private static func unknownField(_ extra: ExtraFields?) -> FieldValue? {
        let members = extra.flatMap { try? ExtraFields.members(of: $0.bytes) }
        let name = Array(MessageField.extra.name.utf8)
        return members?.first { $0.key == name }.map { .text($0.value) }
    }

    /// Reads a value of a message, which is no event: a message has more fields.
    private static func message(_ line: [UInt8]) -> Lost? {
        var fields = EventFields(nestingDepthMax: Limits().nestingDepthMax)
        return line.withUnsafeBytes { bytes -> Lost? in
            do throws(EventError) {
                try fields.begin(bytes)
                defer { fields.end() }
                return try Lost(fields)
            } catch {
                return nil
            }
        }
    }

    private init?(_ fields: EventFields) throws(EventError) {
        conversation = try fields.identifier(.conversation)
        let id: MessageID = try fields.identifier(.id)
        let version = try fields.integer(.version)
        func loser(_ field: MessageField, _ value: FieldValue) -> Value {
            .message(id, Registers.Loser(field: field, version: version, value: value))
        }
        let texts: [(EventField, MessageField)] = [(.body, .body), (.sender, .sender)]
        for (name, field) in texts {
            guard let text = try fields.stringIfPresent(name) else { continue }
            value = loser(field, .text(Array(text.utf8)))
            return
        }
        for (name, field) in [(EventField.sequence, MessageField.seq), (.incoming, .incoming)] {
            guard let number = try fields.integerIfPresent(name) else { continue }
            value = loser(field, .integer(number))
            return
        }
        if let attachments = try fields.attachmentsIfPresent() {
            value = loser(.attachments, .text(attachments.bytes))
            return
        }
        let extra = try fields.extra(beside: [.conversation, .id, .version])
        guard let unknown = Self.unknownField(extra) else { return nil }
        value = loser(.extra, unknown)
    }
}
