import LockkeeperDomain

extension MessageRow {
    /// The events that make this row in an empty store, with the same registers.
    ///
    /// Fields that stand at one version came with one event, or might have: there is one line per
    /// version, smallest first. A message's line needs some fields whatever their version; what it
    /// says of those at a smaller version is overtaken by the line in which they really stand.
    func events(conversation: ConversationID) throws(DamagedRegisters) -> [Event] {
        let id = MessageID(unchecked: messageID)
        if let recall {
            return [
                .recall(
                    RecallEvent(
                        conversation: conversation,
                        id: id,
                        version: max(recall.version, registers.version),
                        recaller: recall.by.map(PersonID.init(unchecked:)),
                        sequence: seq,
                        sender: bytes(.sender).map(PersonID.init(unchecked:)),
                        sentAt: instant(.sentAt),
                        isIncoming: flag(.incoming)
                    )
                )
            ]
        }
        var events: [Event] = []
        for version in registers.presentVersions {
            let fields = MessageField.allCases.filter {
                registers[$0] != nil && registers.version(of: $0) == version
            }
            let editFields: Set<MessageField> = [.editedBy, .editedAt]
            let isMessage =
                registers[.sender] != nil
                && (version < 2 || fields.contains { MessageField.onlyOfMessages.contains($0) })
            if isMessage {
                events.append(try message(conversation, id, at: version, fields))
            }
            if !isMessage || fields.contains(where: editFields.contains) {
                events.append(.edit(try edit(conversation, id, at: version, fields)))
            }
        }
        return events
    }

    private func message(
        _ conversation: ConversationID,
        _ id: MessageID,
        at version: Int64,
        _ fields: [MessageField]
    ) throws(DamagedRegisters) -> Event {
        guard let sender = bytes(.sender), let sentAt = instant(.sentAt), let body = text(.body)
        else { throw DamagedRegisters() }
        let fields = Set(fields)
        var message = MessageEvent(
            conversation: conversation,
            id: id,
            sequence: seq,
            sender: PersonID(unchecked: sender),
            sentAt: sentAt,
            body: body,
            version: version
        )
        if fields.contains(.kind) { message.kind = text(.kind) }
        if fields.contains(.counts) { message.counts = flag(.counts) }
        if fields.contains(.incoming) { message.isIncoming = flag(.incoming) }
        if fields.contains(.serverAt) { message.serverAt = instant(.serverAt) }
        if fields.contains(.clientID) {
            message.clientID = bytes(.clientID).map(ClientID.init(unchecked:))
        }
        if fields.contains(.replyTo) {
            message.replyTo = bytes(.replyTo).map(MessageID.init(unchecked:))
        }
        if fields.contains(.mentions) { message.mentions = try mentions() }
        if fields.contains(.mentionsMe) { message.mentionsMe = flag(.mentionsMe) }
        if fields.contains(.attachments) { message.attachments = try attachments() }
        if fields.contains(.expiresAt) { message.expiresAt = instant(.expiresAt) }
        if fields.contains(.extra) { message.extra = extra() }
        return .message(message)
    }

    private func edit(
        _ conversation: ConversationID,
        _ id: MessageID,
        at version: Int64,
        _ fields: [MessageField]
    ) throws(DamagedRegisters) -> EditEvent {
        let fields = Set(fields)
        var edit = EditEvent(conversation: conversation, id: id, version: version)
        if fields.contains(.editedBy) {
            edit.editor = bytes(.editedBy).map(PersonID.init(unchecked:))
        }
        if fields.contains(.editedAt) { edit.editedAt = instant(.editedAt) }
        if fields.contains(.body) { edit.body = text(.body) }
        if fields.contains(.mentions) { edit.mentions = try mentions() }
        if fields.contains(.mentionsMe) { edit.mentionsMe = flag(.mentionsMe) }
        if fields.contains(.attachments) { edit.attachments = try attachments() }
        if fields.contains(.expiresAt) { edit.expiresAt = instant(.expiresAt) }
        if fields.contains(.extra) { edit.extra = extra() }
        return edit
    }

    // MARK: - Stored values as the events hold them

    private func bytes(_ field: MessageField) -> [UInt8]? {
        if case .text(let bytes) = registers[field] { return bytes }
        return nil
    }

    private func text(_ field: MessageField) -> String? {
        bytes(field).map { String(decoding: $0, as: UTF8.self) }
    }

    private func flag(_ field: MessageField) -> Bool? {
        if case .integer(let number) = registers[field] { return number != 0 }
        return nil
    }

    private func instant(_ field: MessageField) -> Timestamp? {
        if case .integer(let milliseconds) = registers[field] {
            return Timestamp(stored: milliseconds)
        }
        return nil
    }

    private func extra() -> ExtraFields? { bytes(.extra).map(ExtraFields.init(canonical:)) }

    private func attachments() throws(DamagedRegisters) -> Attachments? {
        guard let stored = bytes(.attachments) else { return nil }
        guard let attachments = try? Attachments(stored: stored) else { throw DamagedRegisters() }
        return attachments
    }

    private func mentions() throws(DamagedRegisters) -> [PersonID]? {
        guard let stored = bytes(.mentions) else { return nil }
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
