import LockkeeperDomain

/// What an event writes into the registers of its message: its fields, all at its version (M-2).
struct RegisterWrites {
    let version: Int64
    private(set) var fields: [(field: MessageField, value: FieldValue)] = []

    private init(version: Int64) { self.version = version }

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

    /// Only what a recalled message may keep (M-6).
    var keptAfterRecall: RegisterWrites {
        var kept = RegisterWrites(version: version)
        kept.fields = fields.filter { MessageField.keptAfterRecall.contains($0.field) }
        return kept
    }

    /// Everything but one field.
    func without(_ field: MessageField) -> RegisterWrites {
        var kept = RegisterWrites(version: version)
        kept.fields = fields.filter { $0.field != field }
        return kept
    }

    private mutating func add(_ field: MessageField, _ number: Int64?) {
        if let number { fields.append((field, .integer(number))) }
    }

    private mutating func add(_ field: MessageField, _ flag: Bool?) {
        add(field, flag.map { $0 ? 1 : 0 })
    }

    private mutating func add(_ field: MessageField, _ instant: Timestamp?) {
        add(field, instant?.millisecondsSince1970)
    }

    private mutating func add(_ field: MessageField, _ bytes: [UInt8]?) {
        if let bytes { fields.append((field, .text(bytes))) }
    }

    private mutating func add(_ field: MessageField, _ text: String?) {
        add(field, text.map { Array($0.utf8) })
    }
}

extension MessageRegisters {
    /// Writes what an event carries.
    mutating func write(_ writes: RegisterWrites) -> Outcome {
        var outcome = Outcome()
        for (field, value) in writes.fields {
            write(field, value, at: writes.version, into: &outcome)
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
}
