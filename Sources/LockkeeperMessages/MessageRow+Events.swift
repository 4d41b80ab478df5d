import LockkeeperDomain

extension MessageRow {
    /// The events that make this row in an empty store, with the same registers.
    ///
    /// - Parameter authority: whether edits and recalls must say who their author is (M-5).
    func events(
        conversation: ConversationID,
        authority: ServerContract.Authority
    ) throws(DamagedRegisters) -> [Event] {
        let maker = EventMaker(row: self, conversation: conversation, authority: authority)
        switch state {
        case .gone: return maker.gone()
        case .recalled, .recalledWaiting: return try maker.recalled()
        case .shown, .waiting: return try maker.shown()
        }
    }
}

/// Makes the events of one row.
private struct EventMaker {
    let row: MessageRow
    let conversation: ConversationID
    let authority: ServerContract.Authority

    private var id: MessageID { MessageID(unchecked: row.messageID) }
    private var registers: Registers<MessageField> { row.registers }

    /// The places that events gave the message beside the one that stands. They are said at version
    /// 0, and last: what stands is not moved by them, so that nobody else's place is asked for.
    private var otherPlaces: [Int64] {
        var places: [Int64] = []
        if let least = row.leastSeq, least != row.seq { places.append(least) }
        if let most = row.mostSeq, most != row.seq { places.append(most) }
        return places
    }

    func gone() -> [Event] {
        func delete(_ seq: Int64?, version: Int64) -> Event {
            .delete(
                DeleteEvent(conversation: conversation, id: id, sequence: seq, version: version)
            )
        }
        let version = row.seq == nil ? 0 : registers.version(of: .seq)
        return [delete(row.seq, version: version)] + otherPlaces.map { delete($0, version: 0) }
    }

    func recalled() throws(DamagedRegisters) -> [Event] {
        guard let recall = row.recall else { throw DamagedRegisters() }
        return authority.recallsNeedAuthor ? try recalledByAuthor() : recalledByServer(recall)
    }

    private func recalledByServer(_ recall: MessageRow.Recall) -> [Event] {
        let recaller = recall.by.map(PersonID.init(unchecked:))
        var events = [
            Event.recall(
                RecallEvent(
                    conversation: conversation,
                    id: id,
                    version: max(recall.version, registers.version),
                    recaller: recaller,
                    sequence: row.seq,
                    sender: registers.bytes(.sender).map(PersonID.init(unchecked:)),
                    sentAt: registers.instant(.sentAt),
                    isIncoming: registers.flag(.incoming)
                )
            )
        ]
        for place in otherPlaces {
            events.append(
                .recall(
                    RecallEvent(
                        conversation: conversation,
                        id: id,
                        version: 0,
                        recaller: recaller,
                        sequence: place
                    )
                )
            )
        }
        return events
    }

    /// Only messages say who the author is, and where the message stands: they come before the recall,
    /// without text.
    private func recalledByAuthor() throws(DamagedRegisters) -> [Event] {
        let version = row.seq == nil ? 0 : registers.version(of: .sender)
        guard case .message(var stands) = try bare(seq: row.seq, version: version, body: "") else {
            throw DamagedRegisters()
        }
        stands.isIncoming = registers.flag(.incoming)
        var events = [Event.message(stands)]
        for place in otherPlaces { events.append(try bare(seq: place, body: "")) }
        events += try otherAuthors(body: "")
        events.append(
            .recall(
                RecallEvent(
                    conversation: conversation,
                    id: id,
                    version: 0,
                    recaller: stands.sender
                )
            )
        )
        return events
    }

    /// Fields that stand at one version came with one event, or might have: there is one line per
    /// version, smallest first. A message's line needs some fields whatever their version; what it
    /// says of those at a smaller version is overtaken by the line in which they really stand.
    func shown() throws(DamagedRegisters) -> [Event] {
        var events: [Event] = []
        let editor = registers.bytes(.editedBy)
        for version in registers.presentVersions {
            let fields = MessageField.allCases.filter {
                $0 != .extra && registers[$0] != nil && registers.version(of: $0) == version
            }
            // An unknown field of the one may have the name of a known field of the other.
            let extra = registers.extra(at: version)
            let names = Set(extra.map(\.key))
            let isOfMessage =
                version < 2 || fields.contains { MessageField.onlyOfMessages.contains($0) }
                || authority.editsNeedAuthor && editor == nil
                || !names.isDisjoint(with: EventFieldSet.edit.names)
            let isMessage = registers[.sender] != nil && isOfMessage
            if isMessage { events.append(try message(at: version, fields, extra)) }
            let editFields: Set<MessageField> = [.editedBy, .editedAt]
            if !isMessage || fields.contains(where: editFields.contains)
                || !names.isDisjoint(with: EventFieldSet.message.names)
            {
                events.append(.edit(try edit(at: version, fields, extra)))
            }
        }
        guard registers[.sender] != nil else { return events }
        for place in otherPlaces { events.append(try bare(seq: place)) }
        return try events + otherAuthors(body: nil)
    }

    /// Messages that name the other authors; `body` instead of the text where there is one.
    private func otherAuthors(body: String?) throws(DamagedRegisters) -> [Event] {
        var events: [Event] = []
        for sender in row.otherSenders {
            let sender = PersonID(unchecked: sender)
            events.append(try bare(seq: nil, sender: sender, body: body))
        }
        return events
    }

    /// A message that says no more than it must.
    private func bare(
        seq: Int64?,
        version: Int64 = 0,
        sender: PersonID? = nil,
        body: String? = nil
    ) throws(DamagedRegisters) -> Event {
        guard let stands = registers.bytes(.sender), let sentAt = registers.instant(.sentAt),
            let body = body ?? registers.text(.body)
        else { throw DamagedRegisters() }
        return .message(
            MessageEvent(
                conversation: conversation,
                id: id,
                sequence: seq,
                sender: sender ?? PersonID(unchecked: stands),
                sentAt: sentAt,
                body: body,
                version: version
            )
        )
    }

    private func message(
        at version: Int64,
        _ fields: [MessageField],
        _ extra: [ExtraFields.Member]
    ) throws(DamagedRegisters) -> Event {
        guard case .message(var message) = try bare(seq: row.seq, version: version) else {
            throw DamagedRegisters()
        }
        let fields = Set(fields)
        if fields.contains(.kind) { message.kind = registers.text(.kind) }
        if fields.contains(.counts) { message.counts = registers.flag(.counts) }
        if fields.contains(.incoming) { message.isIncoming = registers.flag(.incoming) }
        if fields.contains(.serverAt) { message.serverAt = registers.instant(.serverAt) }
        if fields.contains(.clientID) {
            message.clientID = registers.bytes(.clientID).map(ClientID.init(unchecked:))
        }
        if fields.contains(.replyTo) {
            message.replyTo = registers.bytes(.replyTo).map(MessageID.init(unchecked:))
        }
        if fields.contains(.mentions) { message.mentions = try mentions() }
        if fields.contains(.mentionsMe) { message.mentionsMe = registers.flag(.mentionsMe) }
        if fields.contains(.attachments) { message.attachments = try attachments() }
        if fields.contains(.expiresAt) { message.expiresAt = registers.instant(.expiresAt) }
        message.extra = ExtraFields(extra, beside: .message)
        return .message(message)
    }

    private func edit(
        at version: Int64,
        _ fields: [MessageField],
        _ extra: [ExtraFields.Member]
    ) throws(DamagedRegisters) -> EditEvent {
        let fields = Set(fields)
        var edit = EditEvent(conversation: conversation, id: id, version: version)
        // An author's edit must say whose it is. Said at a smaller version than it stands at, it is
        // overtaken by the line of the newest edit.
        if fields.contains(.editedBy) || authority.editsNeedAuthor {
            edit.editor = registers.bytes(.editedBy).map(PersonID.init(unchecked:))
        }
        if fields.contains(.editedAt) { edit.editedAt = registers.instant(.editedAt) }
        if fields.contains(.body) { edit.body = registers.text(.body) }
        if fields.contains(.mentions) { edit.mentions = try mentions() }
        if fields.contains(.mentionsMe) { edit.mentionsMe = registers.flag(.mentionsMe) }
        if fields.contains(.attachments) { edit.attachments = try attachments() }
        if fields.contains(.expiresAt) { edit.expiresAt = registers.instant(.expiresAt) }
        edit.extra = ExtraFields(extra, beside: .edit)
        return edit
    }

    private func attachments() throws(DamagedRegisters) -> Attachments? {
        guard let stored = registers.bytes(.attachments) else { return nil }
        guard let attachments = try? Attachments(stored: stored) else { throw DamagedRegisters() }
        return attachments
    }

    private func mentions() throws(DamagedRegisters) -> [PersonID]? {
        guard let stored = registers.bytes(.mentions) else { return nil }
        return try FieldValue.people(stored)
    }
}
