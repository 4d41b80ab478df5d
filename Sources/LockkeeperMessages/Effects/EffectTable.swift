import LockkeeperDomain
import LockkeeperSQLite

/// The rows of `lk_effect` and what belongs to them, inside a transaction that is open on a connection.
///
/// ```
/// (none) ──notify──▶ notify, never shown ──takeBack──▶ (none)
///                       │ claim      ▲ fail, refuse, give back
///                       ▼            │
///                    notify, attempted ──confirm──▶ notified ──takeBack──▶ withdraw ──▶ (none)
///                       └──takeBack──▶ withdraw ────────────────────────────┘
/// ```
///
/// An attempt that had no answer may have shown it: from then on `shown` says so, and taking back makes
/// a withdraw. Of what nobody can have shown there is none (M-11).
///
/// One row per message holds both, so that there is one effect of a kind per message, and a withdraw is
/// never handed out before its notify was let go: they share a claim.
struct EffectTable {
    let connection: Connection

    /// A message is to be told.
    func notify(_ message: Int64) throws {
        let insert = try connection.statement(
            "INSERT INTO lk_effect (message) VALUES (?1) ON CONFLICT DO NOTHING"
        )
        try insert.bind(1, message)
        try insert.run()
    }

    // MARK: - Taking back

    /// A message is to be told no more.
    func takeBack(_ message: Int64) throws {
        try run(
            "DELETE FROM lk_effect WHERE message = ?1 AND kind = 0 AND phase <> 1 AND NOT shown",
            message
        )
        if connection.changes > 0 { return }
        try run(
            """
            UPDATE lk_effect SET kind = 1, phase = 0, failures = 0, unanswered = 0,
                retry_boot = NULL, retry_at = NULL, reason = NULL
            WHERE message = ?1 AND kind = 0
            """,
            message
        )
        if connection.changes > 0 { return }
        try run("DELETE FROM lk_notified WHERE message = ?1", message)
        if connection.changes == 0 { return }
        try run("INSERT INTO lk_effect (message, kind) VALUES (?1, 1)", message)
    }

    /// A message's row was removed, long after the message itself was: nothing is told of it any more.
    func forget(_ message: Int64) throws {
        try run("DELETE FROM lk_effect WHERE message = ?1", message)
        try run("DELETE FROM lk_notified WHERE message = ?1", message)
    }

    /// The messages of a range of places are to be told no more.
    func takeBack(in conversation: Int64, above lower: Int64, upTo upper: Int64) throws {
        // By what was told, which is less than what was read.
        let select = try connection.statement(
            """
            SELECT e.message FROM (
                SELECT message FROM lk_effect WHERE kind = 0
                UNION ALL SELECT message FROM lk_notified) e
            JOIN lk_message m ON m.id = e.message
            WHERE m.conversation = ?1 AND m.place > ?2 AND m.place <= ?3
            """
        )
        try select.bind(1, conversation)
        try select.bind(2, lower)
        try select.bind(3, upper)
        var messages: [Int64] = []
        while try select.step() { messages.append(select.int64(0)) }
        for message in messages { try takeBack(message) }
    }

    /// The messages of which people were told and whose time is over by `now`, and when that of the next
    /// one is.
    ///
    /// - Returns: nothing where no message has an end, which is nearly always.
    func expired(at now: Int64) throws -> (messages: [Int64], next: Int64?) {
        let any = try connection.statement(
            "SELECT 1 FROM lk_message WHERE expires_at IS NOT NULL AND state = 1 LIMIT 1"
        )
        defer { any.reset() }
        guard try any.step() else { return ([], nil) }
        let select = try connection.statement(
            """
            SELECT n.message, m.expires_at FROM lk_notified n JOIN lk_message m ON m.id = n.message
            WHERE m.expires_at IS NOT NULL AND m.state = 1
            """
        )
        var (messages, next): ([Int64], Int64?) = ([], nil)
        while try select.step() {
            let end = select.int64(1)
            if end <= now { messages.append(select.int64(0)) } else { next = min(next ?? end, end) }
        }
        return (messages, next)
    }

    // MARK: - Handing out

    /// One row.
    struct Row {
        let message: Int64
        let kind: Effect.Kind
        var state: AttemptState
        /// Whether an attempt that had no answer may have shown it.
        let wasShown: Bool

        /// Whether it may stand before a person's eyes.
        var mayBeShown: Bool { kind == .notify && (wasShown || state.phase == .attempting) }
    }

    /// The rows behind a message, oldest message first.
    func rows(after message: Int64 = .min, limit: Int) throws -> [Row] {
        let select = try connection.statement(
            """
            SELECT message, kind, phase, attempt, failures, unanswered, retry_boot, retry_at, reason,
                shown
            FROM lk_effect WHERE message > ?1 ORDER BY message LIMIT ?2
            """
        )
        try select.bind(1, message)
        try select.bind(2, limit)
        var rows: [Row] = []
        while try select.step() { rows.append(Row(reading: select)) }
        return rows
    }

    /// The row of a message.
    func row(_ message: Int64) throws -> Row? {
        let select = try connection.statement(
            """
            SELECT message, kind, phase, attempt, failures, unanswered, retry_boot, retry_at, reason,
                shown
            FROM lk_effect WHERE message = ?1
            """
        )
        try select.bind(1, message)
        guard try select.step() else { return nil }
        defer { select.reset() }
        return Row(reading: select)
    }

    /// Writes how far a row has come.
    func write(_ state: AttemptState, to message: Int64) throws {
        let update = try connection.statement(
            """
            UPDATE lk_effect SET phase = ?2, attempt = ?3, failures = ?4, unanswered = ?5,
                retry_boot = ?6, retry_at = ?7, reason = ?8, shown = shown OR ?5 > 0
            WHERE message = ?1
            """
        )
        try update.bind(1, message)
        try state.bind(to: update, from: 2)
        try update.run()
    }

    /// A row was confirmed.
    func confirm(_ row: Row) throws {
        try remove(row.message)
        if row.kind == .notify {
            try run(
                "INSERT INTO lk_notified (message) VALUES (?1) ON CONFLICT DO NOTHING",
                row.message
            )
        }
    }

    /// Takes a row out.
    func remove(_ message: Int64) throws {
        try run("DELETE FROM lk_effect WHERE message = ?1", message)
    }

    // MARK: - Where nothing is told

    /// Up to where a conversation notifies of nothing: all places where it is muted.
    func quietPlace(_ conversation: Int64) throws -> Int64 {
        let select = try connection.statement(
            """
            SELECT ifnull(c.muted, 0), q.seq FROM lk_conversation c
            LEFT JOIN lk_notify_after q ON q.conversation = c.id WHERE c.id = ?1
            """
        )
        try select.bind(1, conversation)
        defer { select.reset() }
        guard try select.step() else { return 0 }
        return select.int64(0) == 1 ? MessageRow.lastPlace : select.optionalInt64(1) ?? 0
    }

    /// Raises up to where a conversation notifies of nothing.
    func raiseNotifyAfter(_ conversation: Int64, to seq: Int64) throws {
        let upsert = try connection.statement(
            """
            INSERT INTO lk_notify_after (conversation, seq) VALUES (?1, ?2)
            ON CONFLICT (conversation) DO UPDATE SET seq = excluded.seq
            WHERE seq < excluded.seq
            """
        )
        try upsert.bind(1, conversation)
        try upsert.bind(2, seq)
        try upsert.run()
    }

    /// Whether the messages of a stream's pages may notify; live ones, which have none, always.
    func policy(of stream: StreamID?) throws -> EffectPolicy {
        guard let stream else { return .decide }
        let select = try connection.statement("SELECT 1 FROM lk_quiet_stream WHERE stream = ?1")
        try select.bind(1, text: stream.bytes)
        defer { select.reset() }
        return try select.step() ? .suppress : .decide
    }

    /// Says whether the pages of a stream notify of nothing.
    func setQuiet(_ stream: [UInt8], _ isQuiet: Bool) throws {
        let statement = try connection.statement(
            isQuiet
                ? "INSERT INTO lk_quiet_stream (stream) VALUES (?1) ON CONFLICT DO NOTHING"
                : "DELETE FROM lk_quiet_stream WHERE stream = ?1"
        )
        try statement.bind(1, text: stream)
        try statement.run()
    }

    private func run(_ sql: StaticString, _ message: Int64) throws {
        let statement = try connection.statement(sql)
        try statement.bind(1, message)
        try statement.run()
    }
}

extension EffectTable.Row {
    fileprivate init(reading row: Statement) {
        message = row.int64(0)
        kind = row.int64(1) == 1 ? .withdraw : .notify
        state = AttemptState(reading: row, from: 2)
        wasShown = row.int64(9) != 0
    }
}
