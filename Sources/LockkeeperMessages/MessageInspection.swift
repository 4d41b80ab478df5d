import Lockkeeper
import LockkeeperDomain
import LockkeeperSQLite
import LockkeeperStorage

/// What an inspection looks at in the tables of messages: every stored counter against its recount
/// (I-16), and what the merge promises of summaries and cursors.
enum MessageInspection {
    static func probes(for account: AccountInfo) -> [StoreInspection.Probe] {
        looks.map { look in StoreInspection.Probe(from: .deep) { try look($0, account.ownID) } }
    }

    /// What is wrong with the tables of messages, on a connection that is inside a transaction: codes
    /// and subjects.
    static func findings(_ connection: Connection, ownID: [UInt8]?) throws -> [String] {
        try looks.flatMap { try $0(connection, ownID) }.map { "\($0.code) \($0.subject)" }
    }

    private typealias Look =
        @Sendable (Connection, _ ownID: [UInt8]?) throws -> [StoreInspection.Finding]

    private static let looks: [Look] = [
        { connection, ownID in
            try mismatches(
                connection,
                """
                SELECT c.conversation_id FROM lk_conversation c
                WHERE c.read_seq IS NOT NULL AND (c.unread, c.unread_mentions) IS NOT (
                    SELECT count(*), ifnull(sum(ifnull(m.mentions_me, 0)), 0) FROM lk_message m
                    WHERE m.conversation = c.id AND m.place > c.read_seq AND m.state = 1
                        AND ifnull(m.counts, 1)
                        AND ifnull(m.incoming, ifnull(m.sender <> ?1, 1)))
                """,
                ownID: ownID,
                code: "unread-counter",
                explanation: "the unread counter differs from its recount"
            )
        },
        { connection, ownID in
            try mismatches(
                connection,
                """
                SELECT c.conversation_id FROM lk_conversation c
                WHERE c.last_message IS NOT (
                    SELECT m.id FROM lk_message m
                    WHERE m.conversation = c.id AND m.state IN (1, 2)
                    ORDER BY m.place DESC, m.message_id DESC LIMIT 1)
                    OR c.top_seq < (
                        SELECT ifnull(max(m.seq), 0) FROM lk_message m WHERE m.conversation = c.id)
                """,
                ownID: nil,
                code: "summary",
                explanation: "the conversation's summary is not its last message"
            )
        },
        { connection, _ in try previews(connection) },
        { connection, ownID in
            // A passed edge leads to the cursor, and no edge waits where the cursor stands (M-12).
            try mismatches(
                connection,
                """
                SELECT c.stream FROM lk_cursor c
                WHERE EXISTS (SELECT 1 FROM lk_edge e WHERE e.stream = c.stream
                        AND e.passed IS NULL AND e.after = c.value)
                    OR c.value IS NOT (SELECT e.next FROM lk_edge e WHERE e.stream = c.stream
                        AND e.passed IS NOT NULL ORDER BY e.passed DESC LIMIT 1)
                UNION
                SELECT e.stream FROM lk_edge e
                WHERE e.passed IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM lk_cursor c WHERE c.stream = e.stream)
                """,
                ownID: nil,
                code: "cursor",
                explanation: "the stream's cursor is not where its last followed page leads"
            )
        },
        { connection, ownID in
            try mismatches(
                connection,
                """
                SELECT message_id FROM lk_message
                WHERE state > 1 AND (body IS NOT NULL OR mentions IS NOT NULL
                    OR attachments IS NOT NULL OR extra IS NOT NULL
                    OR EXISTS (SELECT 1 FROM lk_reaction r WHERE r.message = lk_message.id)
                    OR EXISTS (SELECT 1 FROM lk_fact f WHERE f.message = lk_message.id)
                    OR EXISTS (SELECT 1 FROM lk_quarantine q JOIN lk_conversation c
                        ON c.conversation_id = q.conversation_id
                        WHERE c.id = lk_message.conversation AND q.message_id = lk_message.message_id
                            AND q.reason IN ('conflict', 'unauthorised')))
                """,
                ownID: nil,
                code: "recalled-content",
                explanation: "a recalled or deleted message still has content"
            )
        },
        { connection, ownID in
            try mismatches(
                connection,
                """
                SELECT m.message_id FROM lk_message m JOIN lk_conversation c ON c.id = m.conversation
                WHERE m.state <> 4
                    AND min(ifnull(m.least_seq, m.seq), ifnull(m.seq, m.least_seq)) <= c.clear_seq
                """,
                ownID: nil,
                code: "cleared-content",
                explanation: "a message below its conversation's clear is still there"
            )
        },
        { connection, ownID in
            try mismatches(
                connection,
                """
                SELECT c.conversation_id FROM lk_history h JOIN lk_conversation c
                    ON c.id = h.conversation
                WHERE EXISTS (SELECT 1 FROM lk_history o WHERE o.conversation = h.conversation
                    AND o.from_seq > h.from_seq AND o.from_seq <= h.to_seq + 1)
                """,
                ownID: nil,
                code: "history",
                explanation: "two ranges of the conversation's history meet"
            )
        },
    ]

    /// Conversations whose preview is not the beginning of their last message's text. SQLite's own
    /// functions end a text at NUL, so that each is made again here.
    private static func previews(
        _ connection: Connection
    ) throws -> [StoreInspection.Finding] {
        let select = try connection.prepare(
            """
            SELECT c.conversation_id, c.last_preview, c.last_is_cut, m.body
            FROM lk_conversation c LEFT JOIN lk_message m ON m.id = c.last_message
            """
        )
        var findings: [StoreInspection.Finding] = []
        while try select.step() {
            let stored = select.optionalBytes(1).map {
                MessagePreview(bytes: $0, isCut: select.int64(2) != 0)
            }
            let recount = select.isNull(3) ? nil : select.withBytes(3, MessagePreview.init(of:))
            guard stored != recount else { continue }
            let what = "the conversation's preview is not the beginning of its last message"
            findings.append(finding("preview", select.string(0), what))
        }
        return findings
    }

    private static func mismatches(
        _ connection: Connection,
        _ sql: String,
        ownID: [UInt8]?,
        code: String,
        explanation: String
    ) throws -> [StoreInspection.Finding] {
        let select = try connection.prepare(sql)
        if sql.contains("?1") { try select.bind(1, text: ownID) }
        var findings: [StoreInspection.Finding] = []
        while try select.step() {
            findings.append(finding(code, select.string(0), explanation))
        }
        return findings
    }

    private static func finding(
        _ code: String,
        _ subject: String,
        _ explanation: String
    ) -> StoreInspection.Finding {
        StoreInspection.Finding(
            code: code,
            subject: subject,
            explanation: explanation,
            remedy:
                "The messages themselves are whole. Where no other program has changed the"
                + " database, report this as a defect of the merge."
        )
    }
}
