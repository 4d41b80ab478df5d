import LockkeeperDomain
import LockkeeperSQLite
import LockkeeperText

// Confirmations that cannot be true (M-10). A program that tells the server may answer with the id of
// another message, or with a place that is taken: what was sent would vanish behind what is there, and
// nobody would tell it again. Such an answer ends no item, whichever of the two comes first.
extension BatchMerge {
    /// Why an event cannot be the confirmation that it seems to be; `nil` where it may, or is none.
    ///
    /// A confirmation is a message of the account's own at version 0 whose client id an open item has.
    /// The item's outcome is unknown then, and the event is not merged: all that it says is in the item.
    mutating func contradiction(of event: Event) throws -> String? {
        guard case .message(let message) = event, message.version == 0,
            let clientID = message.clientID, isOwn(message),
            var item = try outbox.openItem(clientID: clientID.bytes)
        else { return nil }
        guard let reason = try contradiction(of: message, clientID) else { return nil }
        item.state.contradict(answeredAttempt, because: reason)
        try outbox.write(item.state, to: item.number)
        return reason
    }

    private mutating func contradiction(
        of message: MessageEvent,
        _ clientID: ClientID
    ) throws -> String? {
        let index = try conversation(message.conversation)
        let answer = "the answer names the id \(message.id), which is"
        if let row = try table.find(message.id.bytes, in: conversations[index].row)?.row {
            let known = row.registers.bytes(.clientID)
            if let known, known != clientID.bytes {
                return "\(answer) that of another message of one's own"
            }
            if isSomebodyElses(row) { return "\(answer) that of somebody else's message" }
            // What was recalled or deleted has no client id any more; the outbox remembers it.
            let isAnothers =
                try known == nil
                && outbox.isSent(
                    message.id.bytes,
                    in: message.conversation.bytes,
                    asOtherThan: clientID.bytes
                )
            if isAnothers { return "\(answer) that of another message of one's own" }
            // The server's echo may leave the client id out. It has the same text then.
            if known == nil, row.state == .shown, row.registers.text(.body) != message.body {
                return "\(answer) that of a message with another text"
            }
        }
        if rules.seqIsUnique, let seq = message.sequence,
            try table.isTaken(seq, in: conversations[index].row, byOtherThan: message.id.bytes)
        {
            return "the answer names the place \(seq), which another message has"
        }
        return nil
    }

    /// Whether a message of the account's own is another one than the open item whose client id it has,
    /// so that the item does not end with it: the text of the item is nowhere else.
    ///
    /// In another conversation the item is not meant, and goes on. With another text in its own the
    /// client id was given twice, or the server or another device has changed the text: nobody can know
    /// which, so that the outcome is unknown and a person decides.
    func isAnother(_ event: Event) throws -> Bool {
        guard case .message(let message) = event, let clientID = message.clientID, isOwn(message),
            // Few messages of one's own have an open item; this look is an index search.
            let sent = try outbox.find(clientID: clientID.bytes), !sent.hasEnded,
            var item = try outbox.openItem(clientID: clientID.bytes)
        else { return false }
        guard item.conversation == message.conversation.bytes else { return true }
        var decoder = EventDecoder()
        guard let content = try outbox.content(item.number),
            case .message(let wanted) = try? decoder.decode(line: content),
            !wanted.mayBecome(message)
        else { return false }
        item.state.contradict(
            answeredAttempt,
            because: "the server has another text under its client id, as \(message.id)"
        )
        try outbox.write(item.state, to: item.number)
        return true
    }

    /// A message took the place of one that was confirmed under its id: the confirmation was wrong, and
    /// what was sent is unknown again, with its text.
    ///
    /// - Parameter row: what is stored under the id, before the message is merged.
    func reopen(_ row: MessageRow, where message: MessageEvent, at index: Int) throws {
        guard !isOwnAct, row.state == .shown, !isSomebodyElses(row),
            row.registers.version(of: .sender) == 0, row.registers.version(of: .body) == 0,
            let clientID = row.registers.bytes(.clientID),
            let sender = row.registers.bytes(.sender), sender == rules.ownID,
            let sentAt = row.registers.instant(.sentAt), let body = row.registers.text(.body)
        else { return }
        let isAnother =
            isOwn(message)
            ? message.clientID.map { $0.bytes != clientID } ?? false : true
        guard isAnother else { return }
        let registers = row.registers
        let sent = MessageEvent(
            conversation: message.conversation,
            id: MessageID(unchecked: clientID),
            sequence: nil,
            sender: PersonID(unchecked: sender),
            sentAt: sentAt,
            body: body,
            version: 0,
            kind: registers.text(.kind),
            clientID: ClientID(unchecked: clientID),
            replyTo: registers.bytes(.replyTo).map(MessageID.init(unchecked:)),
            mentions: try registers.bytes(.mentions).map(FieldValue.people),
            attachments: try registers.bytes(.attachments).map(Attachments.init(stored:)),
            expiresAt: registers.instant(.expiresAt),
            extra: ExtraFields(registers.extra(at: 0), beside: .message)
        )
        try outbox.reopen(
            clientID: clientID,
            message: row.messageID,
            content: EventEncoder.line(.message(sent)),
            because: "it was confirmed as \(message.id), under which the server has another message"
        )
    }

    /// A place that the answer to an attempt named is another message's: what was confirmed stands at the
    /// end again, until the server tells where it is.
    ///
    /// - Returns: whether the place is free now.
    mutating func yield(_ seq: Int64, to writes: RegisterWrites<MessageField>, at index: Int) throws
        -> Bool
    {
        guard writes.version > 0,
            let holder = try table.holder(of: seq, in: conversations[index].row),
            holder.row.registers.version(of: .seq) == 0,
            holder.row.registers.version(of: .sender) == 0,
            holder.row.registers[.clientID] != nil, !isSomebodyElses(holder.row)
        else { return false }
        var row = holder.row
        row.forgetPlace()
        try put(row, over: holder, at: index)
        return true
    }

    /// Merges a change of the account's own that the server has confirmed.
    ///
    /// - Parameter version: the version at which the server has it, where it says so. Else it stands at the
    ///   version at which it was handed out, until the server says what it has there.
    /// - Returns: why people see something else all the same; `nil` where they see it.
    mutating func takeConfirmed(_ event: Event, version: Int64?) throws -> String? {
        versionIsGuess = version == nil
        let event = version.map { event.at(version: $0) } ?? event
        try take(event)
        return try outbox.overtaken(event, isGuess: versionIsGuess)
    }

    private func isOwn(_ message: MessageEvent) -> Bool {
        message.isIncoming.map { !$0 } ?? (message.sender.bytes == rules.ownID)
    }

    /// Whether somebody else is known to have sent what is stored.
    private func isSomebodyElses(_ row: MessageRow) -> Bool {
        if let isIncoming = row.registers.flag(.incoming) { return isIncoming }
        return row.registers.bytes(.sender).map { $0 != rules.ownID } ?? false
    }
}

extension MessageEvent {
    /// Whether a server may have made a message of this one that was sent: it trims white space, changes
    /// line ends and normal forms, and gives attachments ids of its own. What search takes for one text
    /// is one here too.
    fileprivate func mayBecome(_ echo: MessageEvent) -> Bool {
        func words(_ text: String) -> ArraySlice<UInt8> {
            var words = TextFolding.folded(text)[...]
            if words.first == 0x20 { words.removeFirst() }
            if words.last == 0x20 { words.removeLast() }
            return words
        }
        guard (attachments?.ids.count ?? 0) == (echo.attachments?.ids.count ?? 0) else {
            return false
        }
        return body.utf8.elementsEqual(echo.body.utf8) || words(body) == words(echo.body)
    }
}

extension Event {
    /// An edit or a reaction at another version; other events as they are.
    fileprivate func at(version: Int64) -> Event {
        switch self {
        case .edit(var edit):
            edit.version = version
            return .edit(edit)
        case .reaction(var reaction):
            reaction.version = version
            return .reaction(reaction)
        default: return self
        }
    }
}
