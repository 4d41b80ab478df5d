import LockkeeperDomain
import LockkeeperSQLite

/// The statements on `lk_message`.
struct MessageTable {
    let connection: Connection

    /// A row with its number.
    struct Stored {
        let id: Int64
        let row: MessageRow
    }

    /// The last message of a conversation in its order (M-14).
    struct Summary: Equatable {
        let message: Int64
        let place: Int64
        let serverAt: Int64?
        /// The beginning of its text.
        var preview: MessagePreview?
    }

    /// Inserts a row unless its id is known; `changes` says which.
    ///
    /// This is the fast path of M-2: most events are new messages, and an insert that does nothing on
    /// conflict tells new from known in the one statement that is needed anyway.
    func insert(_ row: MessageRow) throws(SQLiteError) -> Int64? {
        let insert = try connection.statement(Self.insertRow)
        try row.bind(to: insert)
        try insert.run()
        return connection.changes > 0 ? connection.lastInsertRowID : nil
    }

    /// Inserts a new message straight from its event. What the event leaves out stays unbound, which
    /// is NULL: most messages say only a few of the fields.
    func insert(
        _ event: MessageEvent,
        into conversation: Int64
    ) throws(SQLiteError) -> Int64? {
        let insert = try connection.statement(
            """
            INSERT INTO lk_message (conversation, message_id, state, version, seq, sender, sent_at,
                body, kind, counts, incoming, server_at, client_id, reply_to, mentions, mentions_me,
                attachments, expires_at, extra)
            VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                ?18)
            ON CONFLICT (conversation, message_id) DO NOTHING
            """
        )
        try insert.bind(1, conversation)
        try insert.bind(2, text: event.id.bytes)
        try insert.bind(3, event.version)
        if let sequence = event.sequence { try insert.bind(4, sequence) }
        try insert.bind(5, text: event.sender.bytes)
        try insert.bind(6, event.sentAt.millisecondsSince1970)
        try insert.bind(7, event.body)
        if let kind = event.kind { try insert.bind(8, kind) }
        if let counts = event.counts { try insert.bind(9, counts ? 1 : 0) }
        if let isIncoming = event.isIncoming { try insert.bind(10, isIncoming ? 1 : 0) }
        try bindRest(of: event, to: insert)
        try insert.run()
        return connection.changes > 0 ? connection.lastInsertRowID : nil
    }

    private func bindRest(of event: MessageEvent, to insert: Statement) throws(SQLiteError) {
        if let serverAt = event.serverAt { try insert.bind(11, serverAt.millisecondsSince1970) }
        if let clientID = event.clientID { try insert.bind(12, text: clientID.bytes) }
        if let replyTo = event.replyTo { try insert.bind(13, text: replyTo.bytes) }
        if let mentions = event.mentions {
            try insert.bind(14, text: FieldValue.canonical(mentions: mentions))
        }
        if let mentionsMe = event.mentionsMe { try insert.bind(15, mentionsMe ? 1 : 0) }
        if let attachments = event.attachments { try insert.bind(16, text: attachments.bytes) }
        if let expiresAt = event.expiresAt { try insert.bind(17, expiresAt.millisecondsSince1970) }
        if let extra = event.extra { try insert.bind(18, text: extra.bytes) }
    }

    /// Writes a row back.
    func update(_ id: Int64, _ row: MessageRow) throws(SQLiteError) {
        let update = try connection.statement(Self.updateRow)
        try row.bind(to: update)
        try update.bind(28, id)
        try update.run()
    }

    /// The row of a message.
    func find(_ message: [UInt8], in conversation: Int64) throws -> Stored? {
        let select = try connection.statement(
            "SELECT * FROM lk_message WHERE conversation = ?1 AND message_id = ?2"
        )
        try select.bind(1, conversation)
        try select.bind(2, text: message)
        guard try select.step() else { return nil }
        defer { select.reset() }
        return Stored(id: select.int64(0), row: try MessageRow(reading: select))
    }

    /// A row by its number.
    func find(row id: Int64) throws -> Stored? {
        let select = try connection.statement("SELECT * FROM lk_message WHERE id = ?1")
        try select.bind(1, id)
        guard try select.step() else { return nil }
        defer { select.reset() }
        return Stored(id: id, row: try MessageRow(reading: select))
    }

    /// Some of the messages that a clear takes out: those that any event placed up to `seq` and that
    /// are not gone.
    func reached(
        byClearUpTo seq: Int64,
        in conversation: Int64,
        limit: Int
    ) throws -> [Stored] {
        var found: [Stored] = []
        for query in [Self.selectShownUpTo, Self.selectHiddenUpTo, Self.selectOncePlacedUpTo]
        where found.isEmpty {
            let select = try connection.statement(query)
            try select.bind(1, conversation)
            try select.bind(2, seq)
            try select.bind(3, limit)
            while try select.step() {
                found.append(
                    Stored(id: select.int64(0), row: try MessageRow(reading: select))
                )
            }
        }
        return found
    }

    /// Some of the rows that are gone and have their place up to `seq`.
    func gone(upTo seq: Int64, in conversation: Int64, limit: Int) throws -> [Stored] {
        let select = try connection.statement(
            """
            SELECT * FROM lk_message
            WHERE conversation = ?1 AND place <= ?2 AND state IN (0, 3, 4) AND state = 4 LIMIT ?3
            """
        )
        try select.bind(1, conversation)
        try select.bind(2, seq)
        try select.bind(3, limit)
        var found: [Stored] = []
        while try select.step() {
            found.append(Stored(id: select.int64(0), row: try MessageRow(reading: select)))
        }
        return found
    }

    /// Whether the time of any message is over.
    func hasExpired(at now: Int64) throws(SQLiteError) -> Bool {
        let select = try connection.statement(
            """
            SELECT 1 FROM lk_message
            WHERE expires_at IS NOT NULL AND expires_at <= ?1 AND state = 1 LIMIT 1
            """
        )
        try select.bind(1, now)
        defer { select.reset() }
        return try select.step()
    }

    /// Some of the messages whose time is over, the oldest first.
    func expired(at now: Int64, limit: Int) throws -> [Stored] {
        let select = try connection.statement(
            """
            SELECT * FROM lk_message
            WHERE expires_at IS NOT NULL AND expires_at <= ?1 AND state = 1
            ORDER BY expires_at LIMIT ?2
            """
        )
        try select.bind(1, now)
        try select.bind(2, limit)
        var found: [Stored] = []
        while try select.step() {
            found.append(Stored(id: select.int64(0), row: try MessageRow(reading: select)))
        }
        return found
    }

    /// Removes a row that has no content any more, and the positions that name it.
    func remove(_ id: Int64) throws(SQLiteError) {
        for statement: StaticString in [
            "DELETE FROM lk_position_message WHERE message = ?1",
            "DELETE FROM lk_message WHERE id = ?1",
        ] {
            let delete = try connection.statement(statement)
            try delete.bind(1, id)
            try delete.run()
        }
    }

    /// Whether another message holds a seq.
    func isTaken(
        _ seq: Int64,
        in conversation: Int64,
        byOtherThan message: [UInt8]
    ) throws(SQLiteError) -> Bool {
        // One index has the rows that are shown, another the rest.
        for query in [Self.selectShownAt, Self.selectHiddenAt] {
            let select = try connection.statement(query)
            try select.bind(1, conversation)
            try select.bind(2, seq)
            try select.bind(3, text: message)
            defer { select.reset() }
            if try select.step() { return true }
        }
        return false
    }

    /// The message that is shown at a place.
    func holder(of seq: Int64, in conversation: Int64) throws -> Stored? {
        let select = try connection.statement(
            """
            SELECT * FROM lk_message
            WHERE conversation = ?1 AND place = ?2 AND state IN (1, 2) AND state = 1 LIMIT 1
            """
        )
        try select.bind(1, conversation)
        try select.bind(2, seq)
        guard try select.step() else { return nil }
        defer { select.reset() }
        return Stored(id: select.int64(0), row: try MessageRow(reading: select))
    }

    /// The last placed message of a conversation.
    func summary(of conversation: Int64) throws(SQLiteError) -> Summary? {
        let select = try connection.statement(
            """
            SELECT id, place, ifnull(server_at, sent_at), body FROM lk_message
            WHERE conversation = ?1 AND state IN (1, 2)
            ORDER BY place DESC, message_id DESC LIMIT 1
            """
        )
        try select.bind(1, conversation)
        guard try select.step() else { return nil }
        defer { select.reset() }
        return Summary(
            message: select.int64(0),
            place: select.int64(1),
            serverAt: select.optionalInt64(2),
            preview: select.isNull(3) ? nil : select.withBytes(3, MessagePreview.init(of:))
        )
    }

    /// How many messages count as unread in a range of places, and how many of them mention the
    /// account (M-9).
    func countUnread(
        in conversation: Int64,
        above lower: Int64,
        upTo upper: Int64,
        ownID: [UInt8]?
    ) throws(SQLiteError) -> (unread: Int64, mentions: Int64) {
        let select = try connection.statement(
            """
            SELECT count(*), ifnull(sum(ifnull(mentions_me, 0)), 0) FROM lk_message
            WHERE conversation = ?1 AND place > ?2 AND place <= ?3 AND state IN (1, 2)
                AND state = 1 AND ifnull(counts, 1) AND ifnull(incoming, ifnull(sender <> ?4, 1))
            """
        )
        try select.bind(1, conversation)
        try select.bind(2, lower)
        try select.bind(3, upper)
        try select.bind(4, text: ownID)
        defer { select.reset() }
        guard try select.step() else { return (0, 0) }
        return (select.int64(0), select.int64(1))
    }

    /// Whether as many messages wait for their seq and sender as may.
    func hasRoomForWaiting(_ countMax: Int) throws(SQLiteError) -> Bool {
        let select = try connection.statement(
            "SELECT 1 FROM lk_message WHERE state = 0 LIMIT 1 OFFSET ?1"
        )
        try select.bind(1, countMax - 1)
        defer { select.reset() }
        return try !select.step()
    }
}

// MARK: - Statements

extension MessageTable {
    private static let insertRow: StaticString = """
        INSERT INTO lk_message (conversation, message_id, state, version, registers, seq, sender,
            sent_at, kind, counts, incoming, server_at, client_id, reply_to, mentions_me,
            expires_at, edited_by, edited_at, body, mentions, attachments, extra, recall_version,
            recall_by, least_seq, most_seq, other_senders)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
            ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27)
        ON CONFLICT (conversation, message_id) DO NOTHING
        """

    private static let updateRow: StaticString = """
        UPDATE lk_message SET conversation = ?1, message_id = ?2, state = ?3, version = ?4,
            registers = ?5, seq = ?6, sender = ?7, sent_at = ?8, kind = ?9, counts = ?10,
            incoming = ?11, server_at = ?12, client_id = ?13, reply_to = ?14, mentions_me = ?15,
            expires_at = ?16, edited_by = ?17, edited_at = ?18, body = ?19, mentions = ?20,
            attachments = ?21, extra = ?22, recall_version = ?23, recall_by = ?24,
            least_seq = ?25, most_seq = ?26, other_senders = ?27
        WHERE id = ?28
        """

    private static let selectShownUpTo: StaticString = """
        SELECT * FROM lk_message
        WHERE conversation = ?1 AND place <= ?2 AND state IN (1, 2) LIMIT ?3
        """

    private static let selectHiddenUpTo: StaticString = """
        SELECT * FROM lk_message
        WHERE conversation = ?1 AND place <= ?2 AND state IN (0, 3, 4) AND state <> 4 LIMIT ?3
        """

    private static let selectOncePlacedUpTo: StaticString = """
        SELECT * FROM lk_message
        WHERE conversation = ?1 AND least_seq <= ?2 AND state <> 4 LIMIT ?3
        """

    private static let selectShownAt: StaticString = """
        SELECT 1 FROM lk_message
        WHERE conversation = ?1 AND place = ?2 AND state IN (1, 2) AND message_id <> ?3 LIMIT 1
        """

    private static let selectHiddenAt: StaticString = """
        SELECT 1 FROM lk_message
        WHERE conversation = ?1 AND place = ?2 AND state IN (0, 3, 4) AND message_id <> ?3 LIMIT 1
        """
}
