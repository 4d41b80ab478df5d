import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

// Changes of messages that the server may refuse: edits, recalls and reactions of the account's own.
//
// Such a change is an item of the outbox and nothing else until the server has confirmed it, or told of
// it by itself: only then is it merged. Until then the message is read with the change beside it
// (``StoredMessage/pendingChange``). So a change that is refused, or that a person cancels, leaves
// nothing behind that would have to be undone, and a recall that is refused has destroyed nothing.
extension MessageStore {
    /// Gives a message a new text, once the server has confirmed it.
    ///
    /// - Throws: ``LockkeeperError`` — `invalidInput` where no such message is shown, it is being
    ///   recalled, or its authors alone may edit it; `outboxFull`; and what ``AccountDatabase/write(durability:waitMax:usesReserve:_:)``
    ///   throws.
    @discardableResult
    public func edit(
        _ id: MessageID,
        in conversation: ConversationID,
        body: String
    ) async throws -> ActReceipt {
        let editedAt = Timestamp(stored: session.wallClock.milliseconds())
        return try await change(.edit, id, in: conversation) {
            [self] message, open, connection in
            guard let row = message?.row, isShown(row) else {
                throw try notShown(id, on: connection)
            }
            try checkAuthor(of: row, where: rules.authority.editsNeedAuthor)
            guard !open.contains(where: { $0.isLive && $0.row.act == .recall }) else {
                throw LockkeeperError.unusable(
                    "message \(id)",
                    "is being recalled",
                    remedy: "Cancel the recall first: 'lockkeeper outbox list' names it."
                )
            }
            var (version, newest) = (max(row.version, 1), row.registers.bytes(.body))
            for item in open {
                guard case .edit(let edit) = item.event else { continue }
                version = max(version, edit.version)
                if item.isLive { newest = edit.body.map { Array($0.utf8) } ?? newest }
            }
            guard newest != Array(body.utf8) else { return nil }
            return Change(
                event: .edit(
                    EditEvent(
                        conversation: conversation,
                        id: id,
                        version: version + 1,
                        editor: ownPerson,
                        editedAt: editedAt,
                        body: body
                    )
                ),
                // What was refused before is not what is wanted any more.
                replaced: open.filter { $0.row.act == .edit && !$0.isLive }
            )
        }
    }

    /// Recalls a message: its content is gone here, and in every place, once the server has confirmed
    /// it (M-6). Edits of it that wait go with it then; until then they are held back, and where the recall
    /// is refused or cancelled they have their turn again.
    ///
    /// - Throws: ``LockkeeperError`` — `invalidInput` where no such message is shown, or its authors
    ///   alone may recall it; `outboxFull`; and what ``AccountDatabase/write(durability:waitMax:usesReserve:_:)`` throws.
    @discardableResult
    public func recall(
        _ id: MessageID,
        in conversation: ConversationID
    ) async throws -> ActReceipt {
        try await change(.recall, id, in: conversation) { [self] message, open, connection in
            guard let row = message?.row, row.registers[.sender] != nil else {
                throw try notShown(id, on: connection)
            }
            try checkAuthor(of: row, where: rules.authority.recallsNeedAuthor)
            let isTold = open.contains { $0.isLive && $0.row.act == .recall }
            if row.recall != nil || isTold { return nil }
            return Change(
                event: .recall(
                    RecallEvent(
                        conversation: conversation,
                        id: id,
                        version: row.version,
                        recaller: ownPerson
                    )
                ),
                replaced: []
            )
        }
    }

    /// Puts a reaction on a message, or takes it away, once the server has confirmed it (M-8).
    ///
    /// - Parameters:
    ///   - emoji: the reaction.
    ///   - id: the message.
    ///   - conversation: its conversation.
    ///   - slot: what it replaces where a person has only so many: a constant for one per person; the
    ///     emoji where nothing is said.
    ///   - removed: takes it away.
    /// - Throws: ``LockkeeperError`` — `invalidInput` where no such message is shown, or the account was
    ///   added without its own id; `outboxFull`, and what ``AccountDatabase/write(durability:waitMax:usesReserve:_:)`` throws.
    @discardableResult
    public func react(
        _ emoji: String,
        to id: MessageID,
        in conversation: ConversationID,
        slot: ReactionSlot? = nil,
        removed: Bool = false
    ) async throws -> ActReceipt {
        let own = try ownPersonNeeded()
        return try await change(.reaction, id, in: conversation) {
            [self] message, open, connection in
            guard let message, isShown(message.row) else {
                throw try notShown(id, on: connection)
            }
            var reaction = ReactionEvent(
                conversation: conversation,
                id: id,
                reactor: own,
                emoji: emoji,
                slot: slot,
                version: 1,
                removed: removed
            )
            let stands = try ReactionTable(connection: connection).find(
                of: own.bytes,
                slot: reaction.slotBytes,
                on: message.id
            )
            // What stands, or will stand once what is on its way has been confirmed.
            var newest = stands.map { ($0.emoji, $0.isRemoved) }
            reaction.version = (stands?.version ?? 0) + 1
            var replaced: [OpenChange] = []
            for item in open {
                guard case .reaction(let other) = item.event,
                    other.slotBytes == reaction.slotBytes
                else { continue }
                reaction.version = max(reaction.version, other.version + 1)
                if item.isLive {
                    newest = (Array(other.emoji.utf8), other.isRemoved)
                } else {
                    replaced.append(item)
                }
            }
            if let newest, newest == (Array(emoji.utf8), removed) { return nil }
            return Change(event: .reaction(reaction), replaced: replaced)
        }
    }

    // MARK: - Means

    /// An item about a message that has not ended.
    private struct OpenChange {
        let row: OutboxTable.Row
        let event: Event

        /// Whether it may still be done without anybody's asking.
        var isLive: Bool { OutboxItem.State(row.state.phase).isOnItsWay }
    }

    /// What is put into the outbox, and what goes for it.
    private struct Change {
        let event: Event
        let replaced: [OpenChange]
    }

    private func change(
        _ act: OutboxAct,
        _ id: MessageID,
        in conversation: ConversationID,
        _ make:
            @escaping @Sendable (MessageTable.Stored?, [OpenChange], Connection) throws -> Change?
    ) async throws -> ActReceipt {
        let now = session.wallClock.milliseconds()
        let (item, commit) = try await session.database.submit(
            durability: .durable,
            waitMax: nil,
            // What takes content away can be done on a full disk.
            usesReserve: act == .recall
        ) { [self] connection, topics in
            let table = OutboxTable(connection: connection)
            let message = try ConversationRow.find(conversation, in: connection).flatMap {
                try MessageTable(connection: connection).find(id.bytes, in: $0)
            }
            let open = try table.changes(of: id.bytes, in: conversation.bytes).compactMap {
                row -> OpenChange? in
                guard
                    let item = try table.content(row.number).flatMap({
                        OutboxItem(row, content: $0)
                    })
                else { return nil }
                return OpenChange(row: row, event: item.event)
            }
            guard let change = try make(message, open, connection) else { return Int64?.none }
            try check(change.event)
            for item in change.replaced { try table.end(item.row) }
            topics.insert(conversation.bytes)
            return try put(
                OutboxTable.Entry(
                    act: act,
                    conversation: conversation.bytes,
                    message: id.bytes,
                    content: EventEncoder.line(change.event),
                    createdAt: now
                ),
                into: table
            )
        }
        return ActReceipt(item: item, receipt: Receipt(BatchResult(), commit))
    }

    /// Whether people see a message with its content: one whose time is over they do not.
    private func isShown(_ row: MessageRow) -> Bool {
        row.state == .shown
            && row.registers.integer(.expiresAt).map { $0 > session.wallClock.milliseconds() }
                ?? true
    }

    private func notShown(_ id: MessageID, on connection: Connection) throws -> LockkeeperError {
        if let error = try Self.notSentYet(id, on: connection) { return error }
        return .unusable(
            "message \(id)",
            "is not shown in this conversation",
            remedy: "Name a message that the timeline shows."
        )
    }

    /// Under the contract *author* nobody but the author changes a message. Under *server* whether
    /// somebody may, a moderator for example, is the server's to say, which confirms it or refuses.
    ///
    /// - Parameter isNeeded: whether the contract asks for the author.
    private func checkAuthor(of row: MessageRow, where isNeeded: Bool) throws {
        guard isNeeded else { return }
        if let own = rules.ownID, row.isAuthor(own) { return }
        throw LockkeeperError.unusable(
            "message \(MessageID(unchecked: row.messageID))",
            "is somebody else's, and its author alone may change it (contract '\(rules.authority.rawValue)')",
            remedy: "Change messages of the account's own."
        )
    }
}
