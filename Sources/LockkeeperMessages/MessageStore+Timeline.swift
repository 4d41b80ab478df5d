import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite

// Timelines read onwards, and around a message; where they have gaps.
extension MessageStore {
    /// A page of a conversation, newest first: the messages that stand behind a place, those next to it.
    ///
    /// - Parameters:
    ///   - conversation: the conversation; of an unknown one the page is empty.
    ///   - place: where the page begins. The message at the place is not in it.
    ///   - limit: the largest number of messages.
    /// - Throws: what ``AccountDatabase/read(_:)`` throws.
    public func timeline(
        _ conversation: ConversationID,
        after place: MessagePlace,
        limit: Int
    ) async throws -> [StoredMessage] {
        precondition(limit > 0, "a page has at least one message")
        return try await session.database.readConnection { [self] connection in
            guard let row = try ConversationRow.find(conversation, in: connection) else {
                return []
            }
            return try page(
                of: conversation,
                row,
                from: place.sequence ?? MessageRow.lastPlace,
                // A place without an id stands before all messages of its seq.
                place.id?.bytes ?? [],
                limit: limit,
                on: connection
            )
        }
    }

    /// A page of a conversation, newest first, with a message in its middle: what is drawn when
    /// somebody goes to a message that was found or answered.
    ///
    /// - Parameters:
    ///   - conversation: the conversation.
    ///   - id: the message in the middle.
    ///   - limit: the largest number of messages, the one in the middle included. There are
    ///     fewer where the conversation has fewer on one side.
    /// - Returns: the page, around the message's place where the message itself is not shown; `nil`
    ///   where no place of it is known.
    /// - Throws: what ``AccountDatabase/read(_:)`` throws.
    public func timeline(
        _ conversation: ConversationID,
        around id: MessageID,
        limit: Int
    ) async throws -> [StoredMessage]? {
        precondition(limit > 0, "a page has at least one message")
        return try await session.database.readConnection { [self] connection in
            guard let row = try ConversationRow.find(conversation, in: connection),
                let sequence = try Self.place(of: id, in: row, on: connection)
            else { return nil }
            // Both in one snapshot: nothing is missing or twice in the middle.
            let newer =
                limit < 2
                ? []
                : try page(
                    of: conversation,
                    row,
                    from: sequence,
                    id.bytes,
                    limit: limit / 2,
                    on: connection
                )
            // Nothing stands between an id and the same with one more zero byte.
            let next = MessageID(unchecked: id.bytes + [0])
            let upToIt = page(
                of: conversation,
                before: MessagePlace(sequence: sequence, id: next),
                limit: limit - newer.count
            )
            return try newer + upToIt(connection)
        }
    }

    /// The parts of a conversation's history that are known to be missing, ascending: what lies
    /// between ranges that the server has given (M-13). Nothing is known to be missing before the
    /// first of them, or behind the last.
    public func gaps(of conversation: ConversationID) async throws -> [ClosedRange<Int64>] {
        try await session.database.readConnection { connection in
            guard let row = try ConversationRow.find(conversation, in: connection) else {
                return []
            }
            let select = try connection.statement(Self.historyQuery)
            try select.bind(1, row)
            var gaps: [ClosedRange<Int64>] = []
            var end: Int64?
            while try select.step() {
                let from = select.int64(0)
                if let end, end < from - 1 { gaps.append(end + 1...from - 1) }
                end = max(end ?? 0, select.int64(1))
            }
            return gaps
        }
    }

    /// The parts of a conversation that are known to be missing between two neighbouring messages,
    /// ascending: a message that stands in a gap has one on both sides.
    ///
    /// - Parameters:
    ///   - gaps: what ``gaps(of:)`` says.
    ///   - older: the one before; `nil` where there is none.
    ///   - newer: the one behind; `nil` where there is none.
    public static func gaps(
        _ gaps: [ClosedRange<Int64>],
        between older: StoredMessage?,
        and newer: StoredMessage?
    ) -> [ClosedRange<Int64>] {
        // What has no seq stands behind everything that has one.
        let above = older.map { $0.sequence ?? .max } ?? 0
        let below = newer?.sequence ?? .max
        return gaps.compactMap { gap in
            guard above < below else { return nil }
            let (from, to) = (max(gap.lowerBound, above + 1), min(gap.upperBound, below - 1))
            return from <= to ? from...to : nil
        }
    }

    /// The query of ``gaps(of:)``; its plan is asserted by a test.
    static let historyQuery: StaticString = """
        SELECT from_seq, to_seq FROM lk_history WHERE conversation = ?1 ORDER BY from_seq
        """

    /// The query of ``timeline(_:after:limit:)``; its plan is asserted by a test.
    static let timelineAfterQuery: StaticString = """
        SELECT message_id, seq, sender, sent_at, server_at, body, version, kind, incoming, state,
            edited_at, reply_to, client_id, attachments, extra, recall_version, expires_at
        FROM lk_message
        WHERE conversation = ?1 AND (place, message_id) > (?2, ?3) AND state IN (1, 2)
            AND (expires_at IS NULL OR expires_at > ?5)
        ORDER BY place, message_id LIMIT ?4
        """

    private func page(
        of conversation: ConversationID,
        _ row: Int64,
        from place: Int64,
        _ id: [UInt8],
        limit: Int,
        on connection: Connection
    ) throws -> [StoredMessage] {
        let select = try connection.statement(Self.timelineAfterQuery)
        try select.bind(1, row)
        try select.bind(2, place)
        try select.bind(3, text: id)
        try select.bind(4, limit)
        try select.bind(5, session.wallClock.milliseconds())
        let pending = try PendingActs(in: conversation, on: connection)
        var page: [StoredMessage] = []
        while try select.step() {
            let message = StoredMessage(
                conversation: conversation,
                ownID: rules.ownID,
                reading: select
            )
            page.append(pending.marked(message))
        }
        return page.reversed()
    }

    private static func place(
        of id: MessageID,
        in row: Int64,
        on connection: Connection
    ) throws -> Int64? {
        let select = try connection.statement(
            """
            SELECT place FROM lk_message
            WHERE conversation = ?1 AND message_id = ?2 AND (seq IS NOT NULL OR state IN (1, 2))
            """
        )
        try select.bind(1, row)
        try select.bind(2, text: id.bytes)
        defer { select.reset() }
        return try select.step() ? select.int64(0) : nil
    }
}
