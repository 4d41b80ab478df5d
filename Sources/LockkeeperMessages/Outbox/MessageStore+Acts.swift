import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

// What the account itself does, and takes nothing back of: messages that it sends, and what it has read,
// deleted and cleared for itself. Such an act is merged at once, so that it is seen, and put into the
// outbox in the same transaction, so that the server is told, whatever becomes of this process (M-10,
// R-59). What the server may refuse to everybody's eyes stands in `MessageStore+Changes.swift`.
extension MessageStore {
    /// What became of an act.
    public struct ActReceipt: Sendable, Hashable {
        /// The item that tells the server; `nil` where it says nothing new.
        public let item: Int64?
        /// What became of it here.
        public let receipt: Receipt
    }

    /// Puts a message into the outbox. It is shown behind all others until the server, or an echo, ties
    /// it to an id and a place. The same message under the same client id again changes nothing.
    ///
    /// - Throws: ``LockkeeperError`` — `invalidInput` where the account was added without its own id, or
    ///   the message cannot be stored; `exists` where another message has the client id; `outboxFull`;
    ///   and what ``AccountDatabase/write(durability:waitMax:usesReserve:_:)`` throws.
    public func send(_ draft: OutgoingMessage) async throws -> SendReceipt {
        let own = try ownPersonNeeded()
        let now = Timestamp(stored: session.wallClock.milliseconds())
        let message = MessageEvent(
            conversation: draft.conversation,
            id: MessageID(unchecked: draft.clientID.bytes),
            sequence: nil,
            sender: own,
            sentAt: now,
            body: draft.body,
            version: 0,
            kind: draft.kind,
            clientID: draft.clientID,
            replyTo: draft.replyTo,
            mentions: draft.mentions,
            attachments: draft.attachments,
            expiresAt: draft.expiresAt,
            extra: draft.extra
        )
        let event = Event.message(message)
        try check(event)
        let digest = draft.digest
        return try await session.database.submit(
            durability: .durable,
            waitMax: nil
        ) { [self] connection, topics in
            let table = OutboxTable(connection: connection)
            if let known = try table.find(clientID: draft.clientID.bytes) {
                guard
                    known.conversation == draft.conversation.bytes,
                    known.digest == nil || known.digest == digest
                else { throw Self.clientIDTaken(draft, by: known) }
                return SendReceipt(
                    clientID: draft.clientID,
                    item: known.hasEnded ? nil : known.number,
                    isNew: false,
                    message: known.message.map(MessageID.init(unchecked:))
                )
            }
            let number = try put(
                OutboxTable.Entry(
                    act: .send,
                    conversation: draft.conversation.bytes,
                    clientID: draft.clientID.bytes,
                    content: EventEncoder.line(event),
                    digest: digest,
                    createdAt: now.millisecondsSince1970
                ),
                into: table
            )
            // The conversation is listed from now on, though nothing of it has come yet.
            _ = try ConversationState(draft.conversation.bytes, in: connection)
            topics.insert(draft.conversation.bytes)
            return SendReceipt(
                clientID: draft.clientID,
                item: number,
                isNew: true,
                message: nil
            )
        }.value
    }

    /// Deletes a message for the account, on all its devices; others keep it (M-7).
    ///
    /// - Throws: ``LockkeeperError`` — `invalidInput` where no such message is known, or it was not sent
    ///   yet; `outboxFull`, and what ``AccountDatabase/write(durability:waitMax:usesReserve:_:)`` throws.
    @discardableResult
    public func delete(
        _ id: MessageID,
        in conversation: ConversationID
    ) async throws -> ActReceipt {
        try await act(
            .delete,
            about: id,
            in: conversation,
            .delete(DeleteEvent(conversation: conversation, id: id)),
            usesReserve: true
        )
    }

    /// Takes away everything of a conversation up to a place, for the account on all its devices (M-7).
    /// Many messages go in several transactions, the oldest first, so that nobody waits long; each is a
    /// clear of its own, which the next one supersedes.
    ///
    /// - Throws: ``LockkeeperError`` — `invalidInput` where the place lies above the last one that is
    ///   known, `outboxFull`, and what ``AccountDatabase/write(durability:waitMax:usesReserve:_:)`` throws.
    @discardableResult
    public func clear(
        _ conversation: ConversationID,
        upTo sequence: Int64
    ) async throws -> ActReceipt {
        try await session.database.readConnection { connection in
            try Self.checkIsKnown(sequence, in: conversation, on: connection)
        }
        while let part = try await partOfClear(of: conversation, upTo: sequence) {
            _ = try await clearPart(conversation, upTo: part, durability: .committed)
        }
        return try await clearPart(conversation, upTo: sequence, durability: .durable)
    }

    private func clearPart(
        _ conversation: ConversationID,
        upTo sequence: Int64,
        durability: Durability
    ) async throws -> ActReceipt {
        try await act(
            .clear,
            upTo: sequence,
            in: conversation,
            .clear(ClearEvent(conversation: conversation, sequence: sequence)),
            durability: durability,
            usesReserve: true
        )
    }

    /// Moves the account's own position in a conversation; a smaller one changes nothing. A report that
    /// still waits is superseded by a newer one of the same conversation.
    ///
    /// - Parameters:
    ///   - conversation: the conversation.
    ///   - sequence: up to and with this place; 0 says that nothing is read and that this is known.
    ///   - kind: read, or delivered only.
    /// - Throws: ``LockkeeperError`` — `invalidInput` where the place lies above the last one that is
    ///   known, `outboxFull`, and what ``AccountDatabase/write(durability:waitMax:usesReserve:_:)`` throws.
    @discardableResult
    public func markRead(
        _ conversation: ConversationID,
        upTo sequence: Int64,
        _ kind: ReadEvent.Kind = .read
    ) async throws -> ActReceipt {
        try await act(
            kind == .read ? .read : .delivered,
            upTo: sequence,
            in: conversation,
            .read(ReadEvent(conversation: conversation, sequence: sequence, kind: kind))
        )
    }

    // MARK: - Means

    var ownPerson: PersonID? { rules.ownID.map(PersonID.init(unchecked:)) }

    func ownPersonNeeded() throws -> PersonID {
        if let ownPerson { return ownPerson }
        throw LockkeeperError.unusable(
            "account \(session.token.account)",
            "was added without its own id, so that nobody can be named as the one who did it",
            remedy:
                "An account is given that id when it is added, by 'lockkeeper account add --own-id';"
                + " one that has nothing yet can be removed and added again."
        )
    }

    /// Merges what the account does and puts a report of it into the outbox. Where the act changes
    /// nothing that is stored, the server knows it or an item tells it already.
    ///
    /// - Parameter usesReserve: for what takes content away, so that it can be done on a full disk.
    private func act(
        _ act: OutboxAct,
        about id: MessageID? = nil,
        upTo seq: Int64? = nil,
        in conversation: ConversationID,
        _ event: Event,
        durability: Durability = .durable,
        usesReserve: Bool = false
    ) async throws -> ActReceipt {
        let now = session.wallClock.milliseconds()
        try check(event)
        let ((item, result), commit) = try await session.database.submit(
            durability: durability,
            waitMax: nil,
            usesReserve: usesReserve
        ) { [self] connection, topics in
            if let seq { try Self.checkIsKnown(seq, in: conversation, on: connection) }
            if let id { try Self.checkIsKnown(id, in: conversation, on: connection) }
            let result = try merge(
                closing: nil,
                onGap: .wait,
                isOwnAct: true,
                on: connection,
                topics: &topics
            ) { try $0.take(event) }
            guard result.outcomes.inserted + result.outcomes.updated > 0 else {
                return (Int64?.none, result)
            }
            let table = OutboxTable(connection: connection)
            if act.isSupersededByNewer, let seq {
                try table.removePositions(
                    act,
                    in: conversation.bytes,
                    upTo: seq,
                    keepsAttempts: true
                )
            }
            let number = try put(
                OutboxTable.Entry(
                    act: act,
                    conversation: conversation.bytes,
                    message: id?.bytes,
                    seq: seq,
                    content: EventEncoder.line(event),
                    createdAt: now
                ),
                into: table
            )
            return (number, result)
        }
        return ActReceipt(item: item, receipt: Receipt(result, commit))
    }

    func put(_ entry: OutboxTable.Entry, into table: OutboxTable) throws -> Int64 {
        guard try table.hasRoom(rules.limits.outboxItemCountMax) else {
            throw LockkeeperError(
                .outboxFull,
                subject: "account \(session.token.account)",
                explanation:
                    "\(counted(rules.limits.outboxItemCountMax, "item")) wait for the server",
                answer: .retry,
                remedy:
                    "Let the outbox be told, or cancel items; 'lockkeeper outbox list' lists them."
            )
        }
        return try table.insert(entry)
    }

    func check(_ event: Event) throws {
        do throws(EventError) {
            try event.validate(limits: rules.limits)
        } catch {
            throw LockkeeperError.unusable(
                "an act of account \(session.token.account)",
                "\(error)",
                remedy: "Change what it says."
            )
        }
    }
}
