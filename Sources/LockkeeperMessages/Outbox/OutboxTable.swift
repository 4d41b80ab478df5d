import LockkeeperDomain
import LockkeeperSQLite

/// The rows of `lk_outbox`, inside a transaction that is open on a connection.
struct OutboxTable {
    let connection: Connection

    /// One row.
    struct Row {
        let number: Int64
        let act: OutboxAct
        let conversation: [UInt8]
        let clientID: [UInt8]?
        let message: [UInt8]?
        let seq: Int64?
        let createdAt: Int64
        var state: AttemptState
    }

    /// What a new row says.
    struct Entry {
        var act: OutboxAct
        var conversation: [UInt8]
        var clientID: [UInt8]?
        var message: [UInt8]?
        var seq: Int64?
        /// The act as an event line.
        var content: [UInt8]
        /// Of a message what tells it from another one under its client id.
        var digest: [UInt8]?
        /// Milliseconds since 1970.
        var createdAt: Int64
    }

    /// What `phase` says of a message that was sent or taken back.
    static let ended: Int64 = 4

    private static let columns = """
        id, act, conversation_id, client_id, message_id, seq, created_at, phase, attempt, failures,
            unanswered, retry_boot, retry_at, reason
        """

    // MARK: - Reading

    /// What a recall that may still be done holds back: nobody is to read an edit, or a reaction, of what
    /// is to be gone. They go with the message once the recall is confirmed, and have their turn again
    /// where it is refused, parked or cancelled. One that an attempt has begun at is not held.
    private static let isHeld = """
        item.act IN ('edit', 'reaction') AND EXISTS (
            SELECT 1 FROM lk_outbox recall
            WHERE recall.conversation_id = item.conversation_id
                AND recall.message_id = item.message_id AND recall.act = 'recall'
                AND recall.phase < 4 AND recall.phase < 2)
        """

    /// The first item of each conversation that is neither parked, of unknown outcome nor held back by a
    /// recall, by number.
    func heads() throws -> [Row] {
        let select = try connection.prepare(
            """
            SELECT \(Self.columns) FROM lk_outbox WHERE id IN (
                SELECT min(id) FROM lk_outbox item
                WHERE phase < 4 AND phase < 2 AND NOT (phase = 0 AND \(Self.isHeld))
                GROUP BY conversation_id)
            ORDER BY id
            """
        )
        return try rows(select)
    }

    /// The next item of a conversation behind a number that is neither parked, of unknown outcome nor held
    /// back by a recall.
    func next(in conversation: [UInt8], after number: Int64) throws -> Row? {
        let select = try connection.prepare(
            """
            SELECT \(Self.columns) FROM lk_outbox item
            WHERE conversation_id = ?1 AND id > ?2 AND phase < 4 AND phase < 2
                AND NOT (phase = 0 AND \(Self.isHeld))
            ORDER BY id LIMIT 1
            """
        )
        try select.bind(1, text: conversation)
        try select.bind(2, number)
        return try rows(select).first
    }

    /// One item that has not ended.
    func row(_ number: Int64) throws -> Row? {
        let select = try connection.prepare(
            "SELECT \(Self.columns) FROM lk_outbox WHERE id = ?1 AND phase < 4"
        )
        try select.bind(1, number)
        return try rows(select).first
    }

    /// All items that have not ended, by number, those of one conversation or of all.
    func all(in conversation: [UInt8]? = nil, only act: OutboxAct? = nil) throws -> [Row] {
        let select = try connection.prepare(
            """
            SELECT \(Self.columns) FROM lk_outbox
            WHERE phase < 4 AND (?1 IS NULL OR conversation_id = ?1) AND (?2 IS NULL OR act = ?2)
            ORDER BY id
            """
        )
        try select.bind(1, text: conversation)
        try select.bind(2, text: act.map { Array($0.rawValue.utf8) })
        return try rows(select)
    }

    /// The items about a message that change it and have not ended, by number.
    func changes(of message: [UInt8], in conversation: [UInt8]) throws -> [Row] {
        let select = try connection.prepare(
            """
            SELECT \(Self.columns) FROM lk_outbox
            WHERE conversation_id = ?1 AND message_id = ?2 AND phase < 4 ORDER BY id
            """
        )
        try select.bind(1, text: conversation)
        try select.bind(2, text: message)
        return try rows(select).filter { $0.act.isMergedWhenConfirmed }
    }

    /// Whether a recall holds an item back.
    func isHeld(_ row: Row) throws -> Bool {
        guard row.act == .edit || row.act == .reaction else { return false }
        let select = try connection.prepare(
            "SELECT 1 FROM lk_outbox item WHERE id = ?1 AND \(Self.isHeld)"
        )
        try select.bind(1, row.number)
        return try select.step()
    }

    /// The act of an item as an event line; `nil` where it has ended.
    func content(_ number: Int64) throws -> [UInt8]? {
        let select = try connection.statement("SELECT content FROM lk_outbox WHERE id = ?1")
        try select.bind(1, number)
        guard try select.step() else { return nil }
        defer { select.reset() }
        return select.optionalBytes(0)
    }

    /// What is known of a message under a client id.
    struct Sent {
        let number: Int64
        let hasEnded: Bool
        /// What it became.
        let message: [UInt8]?
        let conversation: [UInt8]
        /// `nil` where this store has not sent it, or its text is forgotten.
        let digest: [UInt8]?
    }

    /// What is known of a message under a client id; `nil` where nothing is.
    func find(clientID: [UInt8]) throws -> Sent? {
        let select = try connection.statement(
            """
            SELECT id, phase, message_id, conversation_id, digest FROM lk_outbox
            WHERE client_id = ?1
            """
        )
        try select.bind(1, text: clientID)
        guard try select.step() else { return nil }
        defer { select.reset() }
        return Sent(
            number: select.int64(0),
            hasEnded: select.int64(1) == Self.ended,
            message: select.optionalBytes(2),
            conversation: select.bytes(3),
            digest: select.optionalBytes(4)
        )
    }

    /// The item of a message that is not confirmed yet, by its client id.
    func openItem(clientID: [UInt8]) throws -> Row? {
        let select = try connection.prepare(
            "SELECT \(Self.columns) FROM lk_outbox WHERE client_id = ?1 AND phase < 4"
        )
        try select.bind(1, text: clientID)
        return try rows(select).first
    }

    /// Whether another message of the account's own is known under an id of the server's. It looks through
    /// what is remembered: it is asked seldom, and an index would cost each message of the account's own.
    func isSent(
        _ message: [UInt8],
        in conversation: [UInt8],
        asOtherThan clientID: [UInt8]
    ) throws -> Bool {
        let select = try connection.statement(
            """
            SELECT 1 FROM lk_outbox
            WHERE conversation_id = ?1 AND message_id = ?2 AND phase = 4 AND client_id <> ?3 LIMIT 1
            """
        )
        try select.bind(1, text: conversation)
        try select.bind(2, text: message)
        try select.bind(3, text: clientID)
        defer { select.reset() }
        return try select.step()
    }

    /// Whether there is room for one more item.
    func hasRoom(_ countMax: Int) throws -> Bool {
        let select = try connection.statement(
            "SELECT 1 FROM lk_outbox WHERE phase < 4 LIMIT 1 OFFSET ?1"
        )
        try select.bind(1, countMax - 1)
        defer { select.reset() }
        return try !select.step()
    }

    /// Whether a newer item of the same kind and conversation says what this one says.
    func isSuperseded(_ row: Row) throws -> Bool {
        guard row.act.isSupersededByNewer else { return false }
        let select = try connection.statement(
            """
            SELECT 1 FROM lk_outbox
            WHERE conversation_id = ?1 AND act = ?2 AND id > ?3 AND seq >= ?4 AND phase < 4 LIMIT 1
            """
        )
        try select.bind(1, text: row.conversation)
        try select.bind(2, row.act.rawValue)
        try select.bind(3, row.number)
        try select.bind(4, row.seq ?? 0)
        defer { select.reset() }
        return try select.step()
    }

    // MARK: - Writing

    /// Puts an item in. Returns its number.
    func insert(_ entry: Entry) throws -> Int64 {
        let insert = try connection.statement(
            """
            INSERT INTO lk_outbox
                (act, conversation_id, client_id, message_id, seq, content, created_at, digest)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            """
        )
        try insert.bind(1, entry.act.rawValue)
        try insert.bind(2, text: entry.conversation)
        try insert.bind(3, text: entry.clientID)
        try insert.bind(4, text: entry.message)
        try insert.bind(5, entry.seq)
        try insert.bind(6, text: entry.content)
        try insert.bind(7, entry.createdAt)
        try insert.bind(8, blob: entry.digest)
        try insert.run()
        return connection.lastInsertRowID
    }

    /// Writes how far an item has come.
    func write(_ state: AttemptState, to number: Int64) throws {
        let update = try connection.statement(
            """
            UPDATE lk_outbox SET phase = ?2, attempt = ?3, failures = ?4, unanswered = ?5,
                retry_boot = ?6, retry_at = ?7, reason = ?8
            WHERE id = ?1 AND phase < 4
            """
        )
        try update.bind(1, number)
        try state.bind(to: update, from: 2)
        try update.run()
    }

    /// Writes the act of an item anew.
    func write(content: [UInt8], to number: Int64) throws {
        let update = try connection.statement(
            "UPDATE lk_outbox SET content = ?2 WHERE id = ?1 AND phase < 4"
        )
        try update.bind(1, number)
        try update.bind(2, text: content)
        try update.run()
    }

    /// An item is done with, or given up: of a message its client id is remembered, of another act
    /// nothing.
    func end(_ row: Row) throws {
        guard let clientID = row.clientID else { return try remove(row.number) }
        let update = try connection.statement(
            """
            UPDATE lk_outbox SET phase = 4, content = NULL, retry_boot = NULL, retry_at = NULL,
                reason = NULL
            WHERE client_id = ?1 AND phase < 4
            """
        )
        try update.bind(1, text: clientID)
        try update.run()
    }

    /// A message that had been told and had ended is not what the server has under its id: its item is
    /// open again, of unknown outcome.
    ///
    /// - Parameter content: the message as an event line.
    func reopen(
        clientID: [UInt8],
        message: [UInt8],
        content: [UInt8],
        because reason: String
    ) throws {
        let update = try connection.statement(
            """
            UPDATE lk_outbox SET phase = 2, content = ?3, message_id = NULL, reason = ?4
            WHERE client_id = ?1 AND message_id = ?2 AND phase = 4 AND attempt > 0
            """
        )
        try update.bind(1, text: clientID)
        try update.bind(2, text: message)
        try update.bind(3, text: content)
        try update.bind(4, reason)
        try update.run()
    }

    private func remove(_ number: Int64) throws {
        let delete = try connection.statement("DELETE FROM lk_outbox WHERE id = ?1")
        try delete.bind(1, number)
        try delete.run()
    }

    private func rows(_ select: Statement) throws -> [Row] {
        var rows: [Row] = []
        while try select.step() {
            // What a program with other acts put in is left to it.
            guard let act = OutboxAct(rawValue: select.string(1)) else { continue }
            rows.append(
                Row(
                    number: select.int64(0),
                    act: act,
                    conversation: select.bytes(2),
                    clientID: select.optionalBytes(3),
                    message: select.optionalBytes(4),
                    seq: select.optionalInt64(5),
                    createdAt: select.int64(6),
                    state: AttemptState(reading: select, from: 7)
                )
            )
        }
        return rows
    }
}

// MARK: - What the server has said

extension OutboxTable {
    /// Ends what an event says that the server knows, whatever its state: a message of the account's
    /// own by its client id, whether it is the confirmation or an echo (M-10); positions, deletions
    /// and clears that it has.
    ///
    /// It looks at the event and not at what became of it, so that the order in which echo,
    /// confirmation, recall and the item itself come does not matter. Every own message with a client
    /// id is remembered, so that one which a program sends again, not knowing, is not sent twice. Edits,
    /// recalls and reactions end by their confirmation alone: that somebody did the like says nothing
    /// of them, and telling them again does no harm.
    func hear(_ event: Event, ownID: [UInt8]?, memory: Int) throws {
        switch event {
        case .message(let message):
            guard let clientID = message.clientID else { return }
            let isOwn = message.isIncoming.map { !$0 } ?? (message.sender.bytes == ownID)
            if isOwn { try noteSent(clientID.bytes, as: message, memory: memory) }
        case .read(let read):
            guard read.reader == nil || read.reader?.bytes == ownID, let seq = read.sequence
            else { return }
            let act = read.kind == .read ? OutboxAct.read : .delivered
            try removePositions(act, in: read.conversation.bytes, upTo: seq)
        case .clear(let clear):
            try removePositions(.clear, in: clear.conversation.bytes, upTo: clear.sequence)
        case .delete(let delete):
            try removeActs([.delete], about: delete.id.bytes, in: delete.conversation.bytes)
        default: return
        }
    }

    private func noteSent(_ clientID: [UInt8], as message: MessageEvent, memory: Int) throws {
        let upsert = try connection.statement(
            """
            INSERT INTO lk_outbox (act, conversation_id, client_id, message_id, created_at, phase)
            VALUES ('send', ?1, ?2, ?3, ?4, 4)
            ON CONFLICT (client_id) DO UPDATE SET
                phase = 4, content = NULL, message_id = excluded.message_id, retry_boot = NULL,
                retry_at = NULL, reason = NULL,
                digest = CASE WHEN EXISTS (
                    SELECT 1 FROM lk_message m JOIN lk_conversation c ON c.id = m.conversation
                    WHERE c.conversation_id = excluded.conversation_id
                        AND m.message_id = excluded.message_id AND m.state > 1
                ) THEN NULL ELSE digest END
            WHERE phase < 4 OR message_id IS NULL
            """
        )
        try upsert.bind(1, text: message.conversation.bytes)
        try upsert.bind(2, text: clientID)
        try upsert.bind(3, text: message.id.bytes)
        try upsert.bind(4, message.sentAt.millisecondsSince1970)
        try upsert.run()
        let prune = try connection.statement(
            """
            DELETE FROM lk_outbox WHERE id <= (SELECT max(id) FROM lk_outbox) - ?1 AND phase = 4
            """
        )
        try prune.bind(1, memory)
        try prune.run()
    }

    /// A message has no content any more, and takes none: nobody is told of an edit or a reaction to it,
    /// and the text of the edit is gone from here too (M-6), with the digest by which a short text could
    /// be guessed.
    ///
    /// - Parameter isRecalled: whether it was recalled for all, so that a recall says nothing new.
    func forgetContent(of message: [UInt8], in conversation: [UInt8], isRecalled: Bool) throws {
        try removeActs(
            isRecalled ? [.edit, .reaction, .recall] : [.edit, .reaction],
            about: message,
            in: conversation
        )
        let update = try connection.statement(
            """
            UPDATE lk_outbox SET digest = NULL
            WHERE conversation_id = ?1 AND message_id = ?2 AND digest IS NOT NULL
            """
        )
        try update.bind(1, text: conversation)
        try update.bind(2, text: message)
        try update.run()
    }

    private func removeActs(
        _ acts: [OutboxAct],
        about message: [UInt8],
        in conversation: [UInt8]
    ) throws {
        let delete = try connection.statement(
            """
            DELETE FROM lk_outbox
            WHERE conversation_id = ?1 AND message_id = ?2 AND act = ?3 AND phase < 4
            """
        )
        for act in acts {
            try delete.bind(1, text: conversation)
            try delete.bind(2, text: message)
            try delete.bind(3, act.rawValue)
            try delete.run()
        }
    }

    /// Takes reports of a position out that a larger one makes pointless.
    ///
    /// - Parameter keepsAttempts: whether those that somebody may be at stay, because nobody has said
    ///   yet that the server knows better.
    func removePositions(
        _ act: OutboxAct,
        in conversation: [UInt8],
        upTo seq: Int64,
        keepsAttempts: Bool = false
    ) throws {
        let delete = try connection.statement(
            """
            DELETE FROM lk_outbox
            WHERE conversation_id = ?1 AND act = ?2 AND seq <= ?3 AND phase < 4
                AND (phase <> 1 OR NOT ?4)
            """
        )
        try delete.bind(1, text: conversation)
        try delete.bind(2, act.rawValue)
        try delete.bind(3, seq)
        try delete.bind(4, keepsAttempts ? 1 : 0)
        try delete.run()
    }
}

extension AttemptState {
    /// Reads the seven columns of a state.
    init(reading row: Statement, from first: Int) {
        phase = Phase(rawValue: row.int64(first)) ?? .parked
        attempt = row.int64(first + 1)
        failureCount = row.int64(first + 2)
        unansweredCount = row.int64(first + 3)
        if let boot = row.optionalBytes(first + 4), let instant = row.optionalInt64(first + 5) {
            retry = RetryTime(boot: boot, instant: MonotonicInstant(nanoseconds: instant))
        }
        reason = row.isNull(first + 6) ? nil : row.string(first + 6)
    }

    /// Binds the seven columns of a state.
    func bind(to statement: Statement, from first: Int) throws(SQLiteError) {
        try statement.bind(first, phase.rawValue)
        try statement.bind(first + 1, attempt)
        try statement.bind(first + 2, failureCount)
        try statement.bind(first + 3, unansweredCount)
        try statement.bind(first + 4, blob: retry?.boot)
        try statement.bind(first + 5, retry?.instant.nanoseconds)
        try statement.bind(first + 6, text: reason.map { Array($0.utf8) })
    }
}
