import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
package import LockkeeperSQLite

extension MessageStore {
    /// A page of a conversation, newest first: the messages that stand before a place. A recalled
    /// one keeps its place without text (M-6); one that has expired is not shown.
    ///
    /// Pages are cut by keys, not by counts, so that messages which arrive meanwhile shift nothing.
    ///
    /// - Parameters:
    ///   - conversation: the conversation; of an unknown one the page is empty.
    ///   - place: where the page ends; `nil` begins with the newest.
    ///   - limit: the largest number of messages.
    /// - Throws: what ``AccountDatabase/read(_:)`` throws.
    public func timeline(
        _ conversation: ConversationID,
        before place: MessagePlace? = nil,
        limit: Int
    ) async throws -> [StoredMessage] {
        let page = page(of: conversation, before: place, limit: limit)
        return try await session.database.readConnection(page)
    }

    /// Reads a page of a timeline on a connection.
    package func page(
        of conversation: ConversationID,
        before place: MessagePlace?,
        limit: Int
    ) -> @Sendable (Connection) throws -> [StoredMessage] {
        precondition(limit > 0, "a page has at least one message")
        let (ownID, wallClock) = (rules.ownID, wallClock)
        return { connection in
            guard let row = try ConversationRow.find(conversation, in: connection) else {
                return []
            }
            let select = try connection.statement(Self.timelineQuery)
            try select.bind(5, wallClock.milliseconds())
            try select.bind(1, row)
            if let place {
                try select.bind(2, place.sequence ?? MessageRow.lastPlace)
                try select.bind(3, text: place.id?.bytes ?? [])
            } else {
                // Above every id: no text sorts after a blob.
                try select.bind(2, MessageRow.lastPlace)
                try select.bind(3, blob: [])
            }
            try select.bind(4, limit)
            var page: [StoredMessage] = []
            page.reserveCapacity(min(limit, 1000))
            let pending = try PendingActs(in: conversation, on: connection)
            while try select.step() {
                let message = StoredMessage(
                    conversation: conversation,
                    ownID: ownID,
                    reading: select
                )
                page.append(pending.marked(message))
            }
            return page
        }
    }

    /// The query of ``timeline(_:before:limit:)``; its plan is asserted by a test.
    static let timelineQuery: StaticString = """
        SELECT message_id, seq, sender, sent_at, server_at, body, version, kind, incoming, state,
            edited_at, reply_to, client_id, attachments, extra, recall_version, expires_at
        FROM lk_message
        WHERE conversation = ?1 AND (place, message_id) < (?2, ?3) AND state IN (1, 2)
            AND (expires_at IS NULL OR expires_at > ?5)
        ORDER BY place DESC, message_id DESC LIMIT ?4
        """

    /// One message, whatever became of it; `nil` where no event has named it.
    public func message(
        _ id: MessageID,
        in conversation: ConversationID
    ) async throws -> StoredMessage? {
        let (ownID, wallClock) = (rules.ownID, wallClock)
        return try await session.database.readConnection { connection in
            guard let row = try ConversationRow.find(conversation, in: connection) else {
                return nil
            }
            let select = try connection.statement(
                """
                SELECT message_id, seq, sender, sent_at, server_at, body, version, kind, incoming,
                    state, edited_at, reply_to, client_id, attachments, extra, recall_version,
                    expires_at
                FROM lk_message WHERE conversation = ?1 AND message_id = ?2
                """
            )
            try select.bind(1, row)
            try select.bind(2, text: id.bytes)
            guard try select.step() else { return nil }
            defer { select.reset() }
            return try PendingActs(in: conversation, on: connection).marked(
                StoredMessage(conversation: conversation, ownID: ownID, reading: select)
                    .asSeen(at: wallClock.milliseconds())
            )
        }
    }

    /// The conversations, pinned ones first, then by when the server took their last message, newest
    /// first (M-14). One that was cleared is not listed until a message above comes (M-7).
    public func conversations(limit: Int? = nil) async throws -> [ConversationInfo] {
        try await session.database.readConnection(conversationList(limit: limit))
    }

    /// Reads the list of conversations on a connection.
    package func conversationList(
        limit: Int?
    ) -> @Sendable (Connection) throws -> [ConversationInfo] {
        let (ownID, wallClock) = (rules.ownID, wallClock)
        return { connection in
            let select = try connection.statement(Self.conversationsQuery)
            try select.bind(1, limit ?? -1)
            let reader = try ConversationReader(
                connection: connection,
                ownID: ownID,
                now: wallClock.milliseconds()
            )
            var list: [ConversationInfo] = []
            while try select.step() { list.append(try reader.read(select)) }
            return list
        }
    }

    /// The query of ``conversations(limit:)``; its plan is asserted by a test.
    static let conversationsQuery: StaticString = """
        SELECT m.message_id, m.seq, m.sender, m.sent_at, m.server_at, m.version, m.recall_version,
            m.kind, m.incoming, m.state, m.edited_at, m.expires_at,
            typeof(m.attachments) <> 'null', c.last_preview, c.last_is_cut,
            c.conversation_id, c.id, c.read_seq, c.unread, c.unread_mentions, c.clear_seq,
            c.top_seq, c.title, c.kind, c.muted, c.pinned, c.archived, c.marked_unread,
            c.parent, c.last_at
        FROM lk_conversation c LEFT JOIN lk_message m ON m.id = c.last_message
        WHERE c.clear_seq IS NULL OR c.last_message IS NOT NULL
        ORDER BY ifnull(c.pinned, 0) DESC, c.last_at DESC, c.conversation_id LIMIT ?1
        """

    /// One conversation; `nil` where no event has named it.
    public func conversation(_ id: ConversationID) async throws -> ConversationInfo? {
        let (ownID, wallClock) = (rules.ownID, wallClock)
        return try await session.database.readConnection { connection in
            let select = try connection.statement(
                """
                SELECT m.message_id, m.seq, m.sender, m.sent_at, m.server_at, m.version, m.recall_version,
                    m.kind, m.incoming, m.state, m.edited_at, m.expires_at,
                    typeof(m.attachments) <> 'null', c.last_preview, c.last_is_cut,
                    c.conversation_id, c.id, c.read_seq, c.unread, c.unread_mentions, c.clear_seq,
                    c.top_seq, c.title, c.kind, c.muted, c.pinned, c.archived, c.marked_unread,
                    c.parent, c.last_at
                FROM lk_conversation c LEFT JOIN lk_message m ON m.id = c.last_message
                WHERE c.conversation_id = ?1
                """
            )
            try select.bind(1, text: id.bytes)
            guard try select.step() else { return nil }
            defer { select.reset() }
            return try ConversationReader(
                connection: connection,
                ownID: ownID,
                now: wallClock.milliseconds()
            ).read(select)
        }
    }

    /// Where the cursors of all streams stand. A stream without one needs a full sync (M-12).
    ///
    /// What is answered is durable: a server that is asked from a cursor may forget what lies before
    /// it, so that a cursor which the power takes back would lose messages (5.2).
    public func cursors() async throws -> [StreamID: Cursor] {
        try await session.database.readConnection { connection in
            let select = try connection.statement("SELECT stream, value FROM lk_cursor")
            var cursors: [StreamID: Cursor] = [:]
            while try select.step() {
                cursors[StreamID(unchecked: select.bytes(0))] = Cursor(unchecked: select.bytes(1))
            }
            try connection.syncLog()
            return cursors
        }
    }

    /// The pages that wait for an earlier one, with what their streams expect.
    public func waitingPages() async throws -> [PageGap] {
        try await session.database.readConnection { connection in
            let select = try connection.statement(
                """
                SELECT e.stream, c.value, e.after FROM lk_edge e
                LEFT JOIN lk_cursor c ON c.stream = e.stream
                WHERE e.passed IS NULL ORDER BY e.stream, e.id
                """
            )
            var gaps: [PageGap] = []
            while try select.step() {
                gaps.append(
                    PageGap(
                        stream: StreamID(unchecked: select.bytes(0)),
                        expected: select.optionalBytes(1).map(Cursor.init(unchecked:)),
                        found: Cursor(unchecked: select.bytes(2))
                    )
                )
            }
            return gaps
        }
    }

    /// What was put aside, oldest first, without its bytes.
    public func quarantine() async throws -> [QuarantinedItem] {
        try await session.database.readConnection { connection in
            let select = try connection.statement(
                """
                SELECT id, reason, explanation, conversation_id, message_id, count, byte_count,
                    digest, x'', first_at, last_at
                FROM lk_quarantine WHERE accepted = 0 ORDER BY id
                """
            )
            var items: [QuarantinedItem] = []
            while try select.step() { items.append(QuarantinedItem(reading: select)) }
            return items
        }
    }

    /// One thing that was put aside, with its bytes.
    public func quarantined(_ number: Int64) async throws -> QuarantinedItem? {
        try await session.database.readConnection { connection in
            let select = try connection.statement(
                """
                SELECT id, reason, explanation, conversation_id, message_id, count, byte_count,
                    digest, content, first_at, last_at
                FROM lk_quarantine WHERE id = ?1 AND accepted = 0
                """
            )
            try select.bind(1, number)
            guard try select.step() else { return nil }
            defer { select.reset() }
            return QuarantinedItem(reading: select)
        }
    }
}

extension QuarantinedItem {
    init(reading row: Statement) {
        self.init(
            number: row.int64(0),
            reason: row.string(1),
            explanation: row.string(2),
            conversation: row.optionalBytes(3).map(ConversationID.init(unchecked:)),
            message: row.optionalBytes(4).map(MessageID.init(unchecked:)),
            count: Int(row.int64(5)),
            byteCount: Int(row.int64(6)),
            digest: row.bytes(7),
            content: row.bytes(8),
            firstAt: Timestamp(stored: row.int64(9)),
            lastAt: Timestamp(stored: row.int64(10))
        )
    }
}

/// Looks up a conversation's row.
enum ConversationRow {
    static func find(
        _ conversation: ConversationID,
        in connection: Connection
    ) throws(SQLiteError) -> Int64? {
        let select = try connection.statement(
            "SELECT id FROM lk_conversation WHERE conversation_id = ?1"
        )
        try select.bind(1, text: conversation.bytes)
        guard try select.step() else { return nil }
        defer { select.reset() }
        return select.int64(0)
    }
}
