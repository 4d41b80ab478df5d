import LockkeeperDomain
import LockkeeperSQLite

/// A conversation as a batch finds it, and what the batch makes of it.
///
/// However many events touch a conversation, its row is written once, at the end of the batch
///
struct ConversationState {
    let row: Int64
    let id: [UInt8]
    private(set) var summary: MessageTable.Summary?
    /// The message that the summary is of, where this batch has changed it: its preview is made once.
    private var summarised: RowChange.Content?
    var topSeq: Int64
    var readSeq: Int64?
    var unread: Int64?
    var unreadMentions: Int64?
    /// Everything up to here is gone (M-7).
    var clearSeq: Int64?
    /// Something may have happened to the message that stands last: it is looked up again.
    var summaryIsStale = false

    private let stored: Stored
    /// Whether the batch made the row.
    private let isNew: Bool

    private struct Stored: Equatable {
        let summary: MessageTable.Summary?
        let topSeq: Int64
        let readSeq: Int64?
        let unread: Int64?
        let unreadMentions: Int64?
        let clearSeq: Int64?
    }

    /// Finds a conversation, or makes it.
    init(_ id: [UInt8], in connection: Connection) throws(SQLiteError) {
        self.id = id
        let select = try connection.statement(
            """
            SELECT id, last_message, last_place, last_at, top_seq, read_seq, unread, unread_mentions,
                clear_seq, last_preview, last_is_cut
            FROM lk_conversation WHERE conversation_id = ?1
            """
        )
        try select.bind(1, text: id)
        if try select.step() {
            row = select.int64(0)
            summary = select.optionalInt64(1).map {
                MessageTable.Summary(
                    message: $0,
                    place: select.int64(2),
                    serverAt: select.optionalInt64(3),
                    preview: select.optionalBytes(9).map {
                        MessagePreview(bytes: $0, isCut: select.int64(10) != 0)
                    }
                )
            }
            topSeq = select.int64(4)
            readSeq = select.optionalInt64(5)
            unread = select.optionalInt64(6)
            unreadMentions = select.optionalInt64(7)
            clearSeq = select.optionalInt64(8)
            select.reset()
            isNew = false
        } else {
            let insert = try connection.statement(
                "INSERT INTO lk_conversation (conversation_id) VALUES (?1)"
            )
            try insert.bind(1, text: id)
            try insert.run()
            row = connection.lastInsertRowID
            topSeq = 0
            isNew = true
        }
        stored = Stored(
            summary: summary,
            topSeq: topSeq,
            readSeq: readSeq,
            unread: unread,
            unreadMentions: unreadMentions,
            clearSeq: clearSeq
        )
    }

    /// What is known of a conversation itself.
    static func fields(
        of row: Int64,
        in connection: Connection
    ) throws -> Registers<ConversationField> {
        let select = try connection.statement(
            """
            SELECT version, registers, title, kind, muted, pinned, archived, marked_unread, parent,
                extra
            FROM lk_conversation WHERE id = ?1
            """
        )
        try select.bind(1, row)
        defer { select.reset() }
        guard try select.step() else { return Registers() }
        return try Registers(
            reading: select,
            from: 2,
            version: select.int64(0),
            exceptions: select.optionalBytes(1)
        )
    }

    /// Another message is the last one.
    mutating func setSummary(_ summary: MessageTable.Summary, of message: RowChange.Content) {
        self.summary = summary
        summarised = message
    }

    /// Whether a place lies where everything is gone.
    func isCleared(_ seq: Int64?) -> Bool {
        guard let seq, let clearSeq else { return false }
        return seq <= clearSeq
    }

    /// A message counts as unread now, or does no more.
    mutating func count(unread: Int64, mentions: Int64) {
        guard readSeq != nil else { return }
        self.unread = (self.unread ?? 0) + unread
        unreadMentions = (unreadMentions ?? 0) + mentions
    }

    /// Writes the row where the batch changed something.
    mutating func write(to table: MessageTable) throws(SQLiteError) {
        if summaryIsStale {
            summary = try table.summary(of: row)
        } else if let summarised {
            summary?.preview = summarised.preview
        }
        let present = Stored(
            summary: summary,
            topSeq: topSeq,
            readSeq: readSeq,
            unread: unread,
            unreadMentions: unreadMentions,
            clearSeq: clearSeq
        )
        guard present != stored else {
            if isNew { try removeUnlessUsed(on: table.connection) }
            return
        }
        let update = try table.connection.statement(
            """
            UPDATE lk_conversation SET last_message = ?2, last_place = ?3, last_at = ?4,
                top_seq = ?5, read_seq = ?6, unread = ?7, unread_mentions = ?8,
                clear_seq = ?9, last_preview = ?10, last_is_cut = ?11
            WHERE id = ?1
            """
        )
        try update.bind(1, row)
        try update.bind(2, summary?.message)
        try update.bind(3, summary?.place)
        try update.bind(4, summary?.serverAt)
        try update.bind(5, topSeq)
        try update.bind(6, readSeq)
        try update.bind(7, unread)
        try update.bind(8, unreadMentions)
        try update.bind(9, clearSeq)
        try update.bind(10, text: summary?.preview?.bytes)
        try update.bind(11, summary?.preview.map { $0.isCut ? 1 : 0 })
        try update.run()
    }

    /// Takes out a row that was made for events which were all put aside: nothing is known of the
    /// conversation, and a store that imports what is exported would not list it (I-5).
    private func removeUnlessUsed(on connection: Connection) throws(SQLiteError) {
        try Self.removeUnlessUsed(row, on: connection)
    }

    /// Takes out a row of a conversation of which nothing is known but that something was to be
    /// sent to it, and is not any more.
    static func removeUnlessUsed(_ id: [UInt8], on connection: Connection) throws(SQLiteError) {
        let select = try connection.statement(
            "SELECT id FROM lk_conversation WHERE conversation_id = ?1"
        )
        try select.bind(1, text: id)
        guard try select.step() else { return }
        let row = select.int64(0)
        select.reset()
        try removeUnlessUsed(row, on: connection)
    }

    private static func removeUnlessUsed(
        _ row: Int64,
        on connection: Connection
    ) throws(SQLiteError) {
        let delete = try connection.statement(
            """
            DELETE FROM lk_conversation
            WHERE id = ?1 AND version = 0 AND top_seq = 0
                AND coalesce(last_message, read_seq, clear_seq) IS NULL
                AND coalesce(registers, title, kind, muted, pinned, archived, marked_unread, parent,
                    extra) IS NULL
                AND NOT EXISTS (SELECT 1 FROM lk_outbox o
                    WHERE o.conversation_id = lk_conversation.conversation_id AND o.phase < 4)
                AND NOT EXISTS (SELECT 1 FROM lk_notify_after WHERE conversation = ?1)
                AND NOT EXISTS (SELECT 1 FROM lk_message WHERE conversation = ?1)
                AND NOT EXISTS (SELECT 1 FROM lk_member WHERE conversation = ?1)
                AND NOT EXISTS (SELECT 1 FROM lk_history WHERE conversation = ?1)
                AND NOT EXISTS (SELECT 1 FROM lk_position WHERE conversation = ?1)
                AND NOT EXISTS (SELECT 1 FROM lk_position_message WHERE conversation = ?1)
            """
        )
        try delete.bind(1, row)
        try delete.run()
    }
}
