import LockkeeperDomain
import LockkeeperSQLite

/// Reads conversations as a list shows them, at an instant.
///
/// What has expired is still stored until it is removed, and is counted and summed up with the rest.
/// It is left out here, so that nobody sees it after its time.
struct ConversationReader {
    let connection: Connection
    let ownID: [UInt8]?
    /// Milliseconds since 1970.
    let now: Int64
    private let pending: PendingActs

    init(connection: Connection, ownID: [UInt8]?, now: Int64) throws(SQLiteError) {
        self.connection = connection
        self.ownID = ownID
        self.now = now
        pending = try PendingActs(on: connection)
    }

    private static let firstColumn = 15

    /// Reads a row whose columns are those of `MessageStore.conversationsQuery`.
    func read(_ row: Statement) throws(SQLiteError) -> ConversationInfo {
        let first = Self.firstColumn
        let id = ConversationID(unchecked: row.bytes(first))
        let number = row.int64(first + 1)
        var last =
            row.isNull(0)
            ? nil : LastMessage(ownID: ownID, reading: row)
        if let message = last, message.expiresAt.map({ $0.millisecondsSince1970 <= now }) ?? false {
            last = try lastUnexpired(of: number, id)
        }
        let readSeq = row.optionalInt64(first + 2)
        let expired = try readSeq.map { seq throws(SQLiteError) in
            try expiredUnread(in: number, above: seq)
        }
        let clearSeq = row.optionalInt64(first + 5)
        let topSeq = row.int64(first + 6)
        return ConversationInfo(
            id: id,
            lastAt: row.optionalInt64(first + 14).map(Timestamp.init(stored:)),
            last: last.map { pending.marked($0, in: id) },
            pendingCount: pending.sendCount(in: id),
            readSequence: readSeq,
            unread: row.optionalInt64(first + 3).map { Int($0 - (expired?.unread ?? 0)) },
            unreadMentions: row.optionalInt64(first + 4).map { Int($0 - (expired?.mentions ?? 0)) },
            unreadIsComplete: try readSeq.map { seq throws(SQLiteError) in
                try isComplete(number, from: max(seq, clearSeq ?? 0) + 1, to: topSeq)
            } ?? false,
            clearedSequence: clearSeq,
            title: row.isNull(first + 7) ? nil : row.string(first + 7),
            kind: row.isNull(first + 8) ? nil : row.string(first + 8),
            isMuted: row.int64(first + 9) != 0,
            isPinned: row.int64(first + 10) != 0,
            isArchived: row.int64(first + 11) != 0,
            isMarkedUnread: row.int64(first + 12) != 0,
            parent: row.optionalBytes(first + 13).map(ConversationID.init(unchecked:))
        )
    }

    /// Whether everything that the server has in a range of places was given: a range that lies above
    /// all that is known has nothing in it.
    private func isComplete(
        _ conversation: Int64,
        from: Int64,
        to: Int64
    ) throws(SQLiteError) -> Bool {
        guard from <= to else { return true }
        let select = try connection.statement(
            """
            SELECT to_seq FROM lk_history WHERE conversation = ?1 AND from_seq <= ?2
            ORDER BY from_seq DESC LIMIT 1
            """
        )
        try select.bind(1, conversation)
        try select.bind(2, from)
        defer { select.reset() }
        return try select.step() && select.int64(0) >= to
    }

    /// How many of the messages that are counted as unread have expired since.
    private func expiredUnread(
        in conversation: Int64,
        above seq: Int64
    ) throws(SQLiteError) -> (unread: Int64, mentions: Int64) {
        let select = try connection.statement(
            """
            SELECT count(*), ifnull(sum(ifnull(mentions_me, 0)), 0) FROM lk_message
            WHERE conversation = ?1 AND expires_at IS NOT NULL AND expires_at <= ?2 AND state = 1
                AND place > ?3 AND ifnull(counts, 1) AND ifnull(incoming, ifnull(sender <> ?4, 1))
            """
        )
        try select.bind(1, conversation)
        try select.bind(2, now)
        try select.bind(3, seq)
        try select.bind(4, text: ownID)
        defer { select.reset() }
        guard try select.step() else { return (0, 0) }
        return (select.int64(0), select.int64(1))
    }

    private func lastUnexpired(
        of conversation: Int64,
        _ id: ConversationID
    ) throws(SQLiteError) -> LastMessage? {
        let select = try connection.statement(MessageStore.timelineQuery)
        try select.bind(1, conversation)
        // Above every id: no text sorts after a blob.
        try select.bind(2, MessageRow.lastPlace)
        try select.bind(3, blob: [])
        try select.bind(4, 1)
        try select.bind(5, now)
        defer { select.reset() }
        guard try select.step() else { return nil }
        return LastMessage(StoredMessage(conversation: id, ownID: ownID, reading: select))
    }
}
