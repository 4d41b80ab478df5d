import LockkeeperDomain

/// What an event writes into registers: its fields, all at its version (M-2).
struct RegisterWrites<Field: RegisterField> {
    let version: Int64
    /// Whether nobody but the account itself has named the version.
    var isGuess = false
    private(set) var fields: [(field: Field, value: FieldValue)] = []

    /// Nothing yet.
    init(version: Int64) { self.version = version }

    /// Only some of the fields.
    func only(_ kept: [Field]) -> RegisterWrites {
        var writes = self
        writes.fields = fields.filter { kept.contains($0.field) }
        return writes
    }

    /// Everything but one field.
    func without(_ field: Field) -> RegisterWrites {
        var writes = self
        writes.fields = fields.filter { $0.field != field }
        return writes
    }

    /// The value that is written to a field.
    subscript(field: Field) -> FieldValue? { fields.first { $0.field == field }?.value }

    private mutating func add(_ field: Field, _ number: Int64?) {
        if let number { fields.append((field, .integer(number))) }
    }

    private mutating func add(_ field: Field, _ flag: Bool?) {
        add(field, flag.map { $0 ? 1 : 0 })
    }

    private mutating func add(_ field: Field, _ instant: Timestamp?) {
        add(field, instant?.millisecondsSince1970)
    }

    private mutating func add(_ field: Field, _ bytes: [UInt8]?) {
        if let bytes { fields.append((field, .text(bytes))) }
    }

    private mutating func add(_ field: Field, _ text: String?) {
        add(field, text.map { Array($0.utf8) })
    }
}

extension RegisterWrites<MessageField> {
    init(_ event: MessageEvent) {
        self.init(version: event.version)
        add(.seq, event.sequence)
        add(.sender, event.sender.bytes)
        add(.sentAt, event.sentAt)
        add(.body, event.body)
        add(.kind, event.kind)
        add(.counts, event.counts)
        add(.incoming, event.isIncoming)
        add(.serverAt, event.serverAt)
        add(.clientID, event.clientID?.bytes)
        add(.replyTo, event.replyTo?.bytes)
        add(.mentions, event.mentions.map(FieldValue.canonical(mentions:)))
        add(.mentionsMe, event.mentionsMe)
        add(.attachments, event.attachments?.bytes)
        add(.expiresAt, event.expiresAt)
        add(.extra, event.extra?.bytes)
    }

    init(_ event: EditEvent) {
        self.init(version: event.version)
        add(.body, event.body)
        add(.mentions, event.mentions.map(FieldValue.canonical(mentions:)))
        add(.mentionsMe, event.mentionsMe)
        add(.attachments, event.attachments?.bytes)
        add(.expiresAt, event.expiresAt)
        add(.editedBy, event.editor?.bytes)
        add(.editedAt, event.editedAt)
        add(.extra, event.extra?.bytes)
    }

    init(_ event: RecallEvent) {
        self.init(version: event.version)
        add(.seq, event.sequence)
        add(.sender, event.sender?.bytes)
        add(.sentAt, event.sentAt)
        add(.incoming, event.isIncoming)
    }

    init(_ event: DeleteEvent) {
        self.init(version: event.version)
        add(.seq, event.sequence)
    }
}

extension RegisterWrites<ConversationField> {
    init(_ event: ConversationEvent) {
        self.init(version: event.version)
        add(.title, event.title)
        add(.kind, event.kind)
        add(.muted, event.isMuted)
        add(.pinned, event.isPinned)
        add(.archived, event.isArchived)
        add(.markedUnread, event.isMarkedUnread)
        add(.parent, event.parent?.bytes)
        add(.extra, event.extra?.bytes)
    }
}

extension RegisterWrites<MemberField> {
    init(_ event: MemberEvent) {
        self.init(version: event.version)
        add(.role, event.role)
        // Always: who says nothing of it says that the person is there.
        add(.removed, event.isRemoved)
        add(.extra, event.extra?.bytes)
    }
}

extension Registers {
    /// Writes what an event carries.
    mutating func write(_ writes: RegisterWrites<Field>) -> Outcome {
        var outcome = Outcome()
        for (field, value) in writes.fields {
            write(field, value, at: writes.version, isGuess: writes.isGuess, into: &outcome)
        }
        return outcome
    }
}

extension FieldValue {
    /// Mentions as they are stored: a JSON array in the order in which they came.
    static func canonical(mentions: [PersonID]) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginArray()
        for person in mentions { writer.string(utf8: person.bytes) }
        writer.endArray()
        return writer.bytes
    }

    /// The people in a stored array.
    static func people(_ stored: [UInt8]) throws(DamagedRegisters) -> [PersonID] {
        do {
            return try stored.withUnsafeBytes { buffer in
                var scanner = JSONScanner(buffer)
                var people: [PersonID] = []
                try scanner.beginArray()
                while try scanner.nextElement() {
                    people.append(PersonID(unchecked: try scanner.readStringBytes()))
                }
                try scanner.finish()
                return people
            }
        } catch {
            throw DamagedRegisters()
        }
    }
}
