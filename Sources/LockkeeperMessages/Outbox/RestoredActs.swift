import Lockkeeper
import LockkeeperDomain
import LockkeeperSQLite

/// What a restored backup makes of what was to be done outside.
///
/// Between the backup and the restore it may have been done, and nothing here tells. So every item counts
/// as one whose attempt had no answer:
///
/// - A message is of unknown outcome, unless the server refuses doubles: then it is told again, as a
///   repetition.
/// - An edit or a reaction is of unknown outcome too: others may have followed, which it would overwrite.
/// - A recall, a deletion, a clear and a position only grow: they are told again.
/// - A message that was sent since is known by its client id, as far as the replaced database can be read:
///   a program that sends it again makes no second one.
/// - A notification is not shown again. It counts as shown, so that it is withdrawn when the message is
///   read: who shows notifications ignores one that is not there.
enum RestoredActs {
    /// Says what was held.
    static let settle: RestoreStep = { connection, replaced, account in
        let table = RestoredTable(connection: connection)
        let left =
            replaced.map { (try? RestoredTable(connection: $0).open(above: table)) ?? 0 } ?? 0
        let refusesDoubles = account.contract.refusesDoubles
        let heldMessages = refusesDoubles ? 0 : try table.hold("send")
        let heldChanges = try table.hold("edit") + table.hold("reaction")
        let repeated = try table.repeatRest()
        let notifications = try table.dropNotifications()
        if let replaced {
            // What cannot be read of a damaged database is not known; the server tells of it again.
            let sent = (try? RestoredTable(connection: replaced).sent()) ?? []
            try table.remember(sent)
        }
        var notes: [String] = []
        if left > 0 {
            notes.append(
                "Told to nobody: \(counted(left, "item")) that came into the outbox after the backup was"
                    + " made. The database that was replaced has them, in the account's folder"
                    + " 'damaged'."
            )
        }
        if heldMessages + heldChanges > 0 {
            notes.append(
                "Held as unknown: \(counted(heldMessages, "message")) and"
                    + " \(counted(heldChanges, "change")) that the server had not been told of when the"
                    + " backup was made, and that may have reached it since. 'lockkeeper outbox list'"
                    + " names them; 'outbox retry ITEM' tells one again, 'outbox cancel ITEM' gives it"
                    + " up."
            )
        }
        if repeated > 0 {
            notes.append(
                "Told again as repetitions: \(counted(repeated, "item")) of the outbox. It does no harm:"
                    + " the server refuses doubles, or they say the same again."
            )
        }
        if notifications > 0 {
            notes.append(
                "Not shown again: \(counted(notifications, "notification")) that waited and may have been"
                    + " shown since."
            )
        }
        return notes
    }
}

/// The statements of a restore.
private struct RestoredTable {
    let connection: Connection

    /// How many items are open that came after the newest one that another store knows.
    func open(above other: RestoredTable) throws(SQLiteError) -> Int {
        let newest = try other.connection.value(
            "SELECT seq FROM sqlite_sequence WHERE name = 'lk_outbox'"
        )
        let select = try connection.prepare(
            "SELECT count(*) FROM lk_outbox WHERE phase < 4 AND id > ?1"
        )
        try select.bind(1, newest?.integer ?? 0)
        defer { select.reset() }
        return try select.step() ? Int(select.int64(0)) : 0
    }

    /// Holds items that may be done once too often.
    func hold(_ act: String) throws(SQLiteError) -> Int {
        let update = try connection.statement(
            """
            UPDATE lk_outbox SET phase = 2, attempt = max(attempt, 1), retry_boot = NULL,
                retry_at = NULL,
                reason = 'it comes from a backup, and may have been done since that was made'
            WHERE act = ?1 AND phase < 2
            """
        )
        try update.bind(1, act)
        try update.run()
        return connection.changes
    }

    /// What is left is told again at once, and said to be a repetition.
    func repeatRest() throws(SQLiteError) -> Int {
        let update = try connection.statement(
            """
            UPDATE lk_outbox SET phase = 0, attempt = max(attempt, 1), retry_boot = NULL,
                retry_at = NULL
            WHERE phase < 2
            """
        )
        try update.run()
        return connection.changes
    }

    /// A message that was sent.
    struct Sent {
        let conversation: [UInt8]
        let clientID: [UInt8]
        let message: [UInt8]
        let createdAt: Int64
        let digest: [UInt8]?
    }

    /// The messages that were sent and confirmed, the oldest first: as many as are remembered.
    func sent() throws(SQLiteError) -> [Sent] {
        let select = try connection.prepare(
            """
            SELECT conversation_id, client_id, message_id, created_at, digest FROM lk_outbox
            WHERE phase = 4 AND client_id IS NOT NULL AND message_id IS NOT NULL ORDER BY id
            """
        )
        var sent: [Sent] = []
        while try select.step() {
            sent.append(
                Sent(
                    conversation: select.bytes(0),
                    clientID: select.bytes(1),
                    message: select.bytes(2),
                    createdAt: select.int64(3),
                    digest: select.optionalBytes(4)
                )
            )
        }
        return sent
    }

    /// Remembers messages that were sent, beside those that are known: of an item that is open here
    /// only its text is here, so that it stays.
    func remember(_ sent: [Sent]) throws(SQLiteError) {
        let insert = try connection.statement(
            """
            INSERT INTO lk_outbox
                (act, conversation_id, client_id, message_id, created_at, phase, digest)
            VALUES ('send', ?1, ?2, ?3, ?4, 4, ?5) ON CONFLICT DO NOTHING
            """
        )
        for message in sent {
            try insert.bind(1, text: message.conversation)
            try insert.bind(2, text: message.clientID)
            try insert.bind(3, text: message.message)
            try insert.bind(4, message.createdAt)
            try insert.bind(5, blob: message.digest)
            try insert.run()
        }
    }

    func dropNotifications() throws(SQLiteError) -> Int {
        let note = try connection.statement(
            """
            INSERT INTO lk_notified (message) SELECT message FROM lk_effect WHERE kind = 0
            ON CONFLICT DO NOTHING
            """
        )
        try note.run()
        let delete = try connection.statement("DELETE FROM lk_effect WHERE kind = 0")
        try delete.run()
        let count = connection.changes
        let withdraw = try connection.statement(
            "UPDATE lk_effect SET phase = 0, retry_boot = NULL, retry_at = NULL WHERE phase = 1"
        )
        try withdraw.run()
        return count
    }
}
