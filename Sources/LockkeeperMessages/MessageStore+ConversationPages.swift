import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
package import LockkeeperSQLite

/// A place in the list of conversations (M-14): pinned ones first, then by when the server took the
/// last message, newest first, then by id.
public struct ConversationPlace: Sendable, Hashable {
    /// Whether it is among the pinned ones.
    public let isPinned: Bool
    /// When the server took the last message; `nil` stands behind all that have one.
    public let lastAt: Timestamp?
    /// The conversation.
    public let id: ConversationID

    /// A place.
    public init(isPinned: Bool, lastAt: Timestamp?, id: ConversationID) {
        self.isPinned = isPinned
        self.lastAt = lastAt
        self.id = id
    }
}

extension ConversationInfo {
    /// Where it stands in the list, to page from.
    public var place: ConversationPlace {
        ConversationPlace(isPinned: isPinned, lastAt: lastAt, id: id)
    }
}

extension MessageStore {
    /// The next page of the list of conversations: those that stand behind a place.
    ///
    /// Pages are cut by keys. A conversation that gets a message meanwhile moves to the front, where
    /// the first page shows it.
    ///
    /// - Parameters:
    ///   - place: where the page begins; the conversation at the place is not in it.
    ///   - limit: the largest number of conversations.
    public func conversations(
        after place: ConversationPlace,
        limit: Int
    ) async throws -> [ConversationInfo] {
        let list = conversationList(after: place, limit: limit)
        return try await session.database.readConnection(list)
    }

    /// Reads a page of the list of conversations on a connection.
    package func conversationList(
        after place: ConversationPlace,
        limit: Int
    ) -> @Sendable (Connection) throws -> [ConversationInfo] {
        precondition(limit > 0, "a page has at least one conversation")
        let (ownID, wallClock) = (rules.ownID, wallClock)
        return { connection in
            let reader = try ConversationReader(
                connection: connection,
                ownID: ownID,
                now: wallClock.milliseconds()
            )
            let select = try connection.statement(Self.conversationOfRowQuery)
            var page: [ConversationInfo] = []
            for row in try Self.rows(after: place, limit: limit, on: connection) {
                try select.bind(1, row)
                if try select.step() { page.append(try reader.read(select)) }
                select.reset()
            }
            return page
        }
    }

    /// The rows behind a place. The list's keys run in different directions, so that no one
    /// comparison finds them: each part is a range of the index.
    private static func rows(
        after place: ConversationPlace,
        limit: Int,
        on connection: Connection
    ) throws(SQLiteError) -> [Int64] {
        var rows: [Int64] = []
        func take(_ query: StaticString, _ pinned: Bool, _ at: Int64?, _ id: [UInt8]?)
            throws(SQLiteError)
        {
            guard rows.count < limit else { return }
            let select = try connection.statement(query)
            defer { select.reset() }
            try select.bind(1, pinned ? 1 : 0)
            try select.bind(2, at)
            try select.bind(3, limit - rows.count)
            if let id { try select.bind(4, text: id) }
            while try select.step() { rows.append(select.int64(0)) }
        }
        // The same instant, then older ones, then those without a message.
        try take(
            sameInstantQuery,
            place.isPinned,
            place.lastAt?.millisecondsSince1970,
            place.id.bytes
        )
        if let lastAt = place.lastAt {
            try take(olderQuery, place.isPinned, lastAt.millisecondsSince1970, nil)
            try take(sameInstantQuery, place.isPinned, nil, [])
        }
        if place.isPinned {
            try take(olderQuery, false, .max, nil)
            try take(sameInstantQuery, false, nil, [])
        }
        return rows
    }

    /// A query of ``conversations(after:limit:)``; its plan is asserted by a test.
    static let sameInstantQuery: StaticString = """
        SELECT id FROM lk_conversation
        WHERE ifnull(pinned, 0) = ?1 AND last_at IS ?2 AND conversation_id > ?4
            AND (clear_seq IS NULL OR last_message IS NOT NULL)
        ORDER BY conversation_id LIMIT ?3
        """

    /// Another one.
    static let olderQuery: StaticString = """
        SELECT id FROM lk_conversation
        WHERE ifnull(pinned, 0) = ?1 AND last_at < ?2
            AND (clear_seq IS NULL OR last_message IS NOT NULL)
        ORDER BY last_at DESC, conversation_id LIMIT ?3
        """

    /// Another one: its columns are those of ``conversationsQuery``.
    static let conversationOfRowQuery: StaticString = """
        SELECT m.message_id, m.seq, m.sender, m.sent_at, m.server_at, m.version, m.recall_version,
            m.kind, m.incoming, m.state, m.edited_at, m.expires_at,
            typeof(m.attachments) <> 'null', c.last_preview, c.last_is_cut,
            c.conversation_id, c.id, c.read_seq, c.unread, c.unread_mentions, c.clear_seq,
            c.top_seq, c.title, c.kind, c.muted, c.pinned, c.archived, c.marked_unread,
            c.parent, c.last_at
        FROM lk_conversation c LEFT JOIN lk_message m ON m.id = c.last_message
        WHERE c.id = ?1
        """
}
