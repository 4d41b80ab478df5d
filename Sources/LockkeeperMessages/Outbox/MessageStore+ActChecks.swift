import Lockkeeper
import LockkeeperCrypto
import LockkeeperDomain
import LockkeeperSQLite

// What a person's act may not say. An event of the server's is taken as the rules say: it may well know
// more than this store.
extension MessageStore {
    /// Refuses a place above the last one that anything has named: clearing or reading it would take
    /// messages away, or hide that they came, which nobody has seen yet.
    ///
    /// - Throws: ``LockkeeperError`` with the code `invalidInput`.
    static func checkIsKnown(
        _ sequence: Int64,
        in conversation: ConversationID,
        on connection: Connection
    ) throws {
        if sequence == 0, try ConversationRow.find(conversation, in: connection) != nil { return }
        let known = try highestKnown(in: conversation, on: connection)
        guard sequence > known || sequence == 0 else { return }
        throw LockkeeperError.unusable(
            "place \(sequence)",
            known == 0
                ? "is above everything that is known of this conversation, which is nothing"
                : "is above \(known), the last place of this conversation that is known, so that it"
                    + " would reach messages which nobody has seen",
            remedy: known == 0
                ? "Name a conversation that 'lockkeeper conversations' lists."
                : "Name \(known) or a place before it."
        )
    }

    /// Refuses a message of which nothing is known: what has that id may still come, and nobody would see
    /// it. One that was not sent yet has an item that can be cancelled.
    ///
    /// - Throws: ``LockkeeperError`` with the code `invalidInput`.
    static func checkIsKnown(
        _ id: MessageID,
        in conversation: ConversationID,
        on connection: Connection
    ) throws {
        let row = try ConversationRow.find(conversation, in: connection)
        let table = MessageTable(connection: connection)
        if let row, try table.find(id.bytes, in: row) != nil { return }
        if let error = try notSentYet(id, on: connection) { throw error }
        throw LockkeeperError.unusable(
            "message \(id)",
            "is not known in this conversation",
            remedy: "Name a message that the timeline shows."
        )
    }

    /// Why an act about a message that waits in the outbox, under its client id, cannot be done; `nil` for
    /// any other message.
    static func notSentYet(
        _ id: MessageID,
        on connection: Connection
    ) throws -> LockkeeperError? {
        let outbox = OutboxTable(connection: connection)
        return try outbox.openItem(clientID: id.bytes).map { item in
            .unusable(
                "message \(id)",
                "is not sent yet: it is item \(item.number) of the outbox",
                remedy: "Take it back with 'lockkeeper outbox cancel \(item.number)'."
            )
        }
    }

    /// The last place that messages, ranges of history, positions or a clear have named; 0 where
    /// nothing has.
    private static func highestKnown(
        in conversation: ConversationID,
        on connection: Connection
    ) throws -> Int64 {
        let select = try connection.statement(
            """
            SELECT max(c.top_seq, ifnull(c.read_seq, 0), ifnull(c.clear_seq, 0),
                ifnull((SELECT max(to_seq) FROM lk_history WHERE conversation = c.id), 0),
                ifnull((SELECT max(seq) FROM lk_position WHERE conversation = c.id), 0))
            FROM lk_conversation c WHERE c.conversation_id = ?1
            """
        )
        try select.bind(1, text: conversation.bytes)
        defer { select.reset() }
        return try select.step() ? select.int64(0) : 0
    }

    /// A place below which a clear takes no more messages than one transaction should, or `nil` where
    /// the whole clear does not.
    func partOfClear(
        of conversation: ConversationID,
        upTo sequence: Int64
    ) async throws -> Int64? {
        try await session.database.readConnection { connection in
            guard let row = try ConversationRow.find(conversation, in: connection) else {
                return nil
            }
            let select = try connection.statement(
                """
                SELECT place FROM lk_message
                WHERE conversation = ?1 AND state IN (1, 2) AND place < ?2
                ORDER BY place LIMIT 1 OFFSET ?3
                """
            )
            try select.bind(1, row)
            try select.bind(2, sequence)
            try select.bind(3, Self.clearedMessageCount)
            defer { select.reset() }
            return try select.step() ? select.int64(0) : nil
        }
    }

    /// Tens of milliseconds of work.
    private static let clearedMessageCount = 2_000

    /// Another message has the client id of one that is to be sent.
    static func clientIDTaken(
        _ draft: OutgoingMessage,
        by known: OutboxTable.Sent
    ) -> LockkeeperError {
        let other =
            known.conversation == draft.conversation.bytes
            ? "another content" : "another conversation"
        return LockkeeperError(
            .exists,
            subject: "client id \(draft.clientID)",
            explanation: "a message of \(other) was sent under it, and this one was not",
            answer: .fixProgram,
            remedy:
                "Send it under a client id of its own; the same one says that it is the same message."
        )
    }
}

extension OutgoingMessage {
    /// What tells it from another message under its client id: everything but times, which a program
    /// that sends again computes anew.
    var digest: [UInt8] {
        let event = MessageEvent(
            conversation: conversation,
            id: MessageID(unchecked: clientID.bytes),
            sequence: nil,
            sender: PersonID(unchecked: []),
            sentAt: Timestamp(stored: 0),
            body: body,
            version: 0,
            kind: kind,
            clientID: clientID,
            replyTo: replyTo,
            mentions: mentions,
            attachments: attachments,
            extra: extra
        )
        return SHA256.digest(of: EventEncoder.line(.message(event)))
    }
}
