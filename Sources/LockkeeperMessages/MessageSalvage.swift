import LockkeeperDomain
import LockkeeperSQLite
import LockkeeperStorage

/// What becomes of the tables of messages when their file is damaged (5.8).
///
/// Messages come from the server again once its cursors are gone; everything that this account did or
/// decided does not. A conversation or message of which an index alone is left keeps its row: what
/// refers to it stays, and the message waits for its content as one of which an event came early (M-1).
enum MessageSalvage {
    static let plan = SalvagePlan(
        classes: [
            "lk_message": .refetched, "lk_reaction": .refetched, "lk_fact": .refetched,
            "lk_search_state": .derived, "lk_search_dirty": .derived, "lk_search_text": .derived,
        ],
        indexReadings: [
            SalvagePlan.IndexReading(
                of: "lk_conversation",
                through: "sqlite_autoindex_lk_conversation_1",
                ["conversation_id"],
                completion: """
                    INSERT INTO lk_conversation (id, conversation_id) VALUES (?1, ?2)
                    ON CONFLICT DO NOTHING
                    """
            ),
            SalvagePlan.IndexReading(
                of: "lk_message",
                through: "sqlite_autoindex_lk_message_1",
                ["conversation", "message_id"],
                completion: """
                    INSERT INTO lk_message (id, conversation, message_id, state, version)
                    VALUES (?1, ?2, ?3, 0, 0) ON CONFLICT DO NOTHING
                    """
            ),
            // Of what is neither shown nor waits, a message that was deleted above all: it must not
            // come again.
            SalvagePlan.IndexReading(
                of: "lk_message",
                through: "lk_message_hidden",
                ["conversation", "place"],
                except: "lk_message_waiting",
                isOfMade: true,
                completion: """
                    UPDATE lk_message SET state = 4, seq = nullif(?3, 9223372036854775807)
                    WHERE id = ?1
                    """
            ),
        ],
        references: [
            SalvagePlan.Reference(from: "lk_effect", "message", to: "lk_message"),
            SalvagePlan.Reference(from: "lk_notified", "message", to: "lk_message"),
            SalvagePlan.Reference(from: "lk_search_supplied", "message", to: "lk_message"),
            SalvagePlan.Reference(from: "lk_notify_after", "conversation", to: "lk_conversation"),
        ],
        setBack: { try setBack($0) },
        derive: { try derive(ownID: $0, $1) },
        derivedFindings: ["unread-counter", "summary", "preview", "search.out-of-step"]
    )

    /// Takes away how far streams were synced, and what is said to be complete: some of it is not there
    /// any more. What comes again was told to people before, and is not told again.
    private static func setBack(_ connection: Connection) throws -> [String] {
        let select = try connection.prepare(
            "SELECT stream FROM lk_cursor UNION SELECT stream FROM lk_edge ORDER BY 1"
        )
        var sentences: [String] = []
        while try select.step() {
            sentences.append("stream \(select.string(0)) is synced from the start")
        }
        try connection.execute(
            """
            DELETE FROM lk_cursor;
            DELETE FROM lk_edge;
            DELETE FROM lk_history;
            INSERT INTO lk_notify_after (conversation, seq)
            SELECT c.id, max(c.top_seq, ifnull((SELECT max(m.seq) FROM lk_message m
                WHERE m.conversation = c.id), 0)) FROM lk_conversation c WHERE true
            ON CONFLICT (conversation) DO UPDATE SET seq = max(seq, excluded.seq)
            """
        )
        return sentences
    }

    private static func derive(ownID: [UInt8]?, _ connection: Connection) throws {
        try connection.execute(
            """
            INSERT OR IGNORE INTO lk_merge_rules (id, number)
            VALUES (1, \(MergeRules.currentNumber));
            UPDATE lk_conversation SET
                top_seq = max(top_seq, ifnull((SELECT max(m.seq) FROM lk_message m
                    WHERE m.conversation = lk_conversation.id), 0)),
                (last_message, last_place, last_at) = (
                    SELECT m.id, m.place, ifnull(m.server_at, m.sent_at) FROM lk_message m
                    WHERE m.conversation = lk_conversation.id AND m.state IN (1, 2)
                    ORDER BY m.place DESC, m.message_id DESC LIMIT 1);
            """
        )
        try MessagePreview.derive(connection)
        let unread = try connection.prepare(
            """
            UPDATE lk_conversation SET (unread, unread_mentions) = (
                SELECT count(*), ifnull(sum(ifnull(m.mentions_me, 0)), 0) FROM lk_message m
                WHERE m.conversation = lk_conversation.id AND m.place > lk_conversation.read_seq
                    AND m.state = 1 AND ifnull(m.counts, 1)
                    AND ifnull(m.incoming, ifnull(m.sender <> ?1, 1)))
            WHERE read_seq IS NOT NULL
            """
        )
        try unread.bind(1, text: ownID)
        try unread.run()
        // The index is made anew by the upkeep.
        try connection.execute(
            SearchLibrary.removal
                + """
                DELETE FROM lk_search_text;
                DELETE FROM lk_search_dirty;
                INSERT OR REPLACE INTO lk_search_state (id) VALUES (1)
                """
        )
    }
}
