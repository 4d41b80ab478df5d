import LockkeeperSQLite
import LockkeeperStorage
import LockkeeperText

/// What an inspection looks at in the index of texts: SQLite's own check of a database does not look
/// into it (B88).
enum SearchInspection {
    static let probe = StoreInspection.Probe(from: .deep) { connection in
        let state = try SearchState.read(from: connection)
        guard state.folding != 0 else { return [] }
        var findings = try mismatches(connection, through: state.through)
        if state.folding == TextFolding.version { findings += try otherTexts(connection) }
        if SearchLibrary.shortcoming == nil { findings += try segments(connection, state) }
        return findings
    }

    /// Rows that the index should hold and does not, or holds and should not.
    private static func mismatches(
        _ connection: Connection,
        through: Int64
    ) throws(SQLiteError) -> [StoreInspection.Finding] {
        let select = try connection.prepare(
            """
            SELECT 'message ' || m.id || ' is not in it' FROM lk_message m
            WHERE m.state = 1 AND m.body IS NOT NULL AND m.id <= ?1
                AND NOT EXISTS (SELECT 1 FROM lk_search_text t WHERE t.message = m.id)
                AND NOT EXISTS (SELECT 1 FROM lk_search_dirty d WHERE d.message = m.id)
            UNION ALL
            SELECT 'message ' || t.message || ' should not be in it' FROM lk_search_text t
            WHERE NOT EXISTS (SELECT 1 FROM lk_message m
                WHERE m.id = t.message AND m.state = 1 AND m.body IS NOT NULL AND m.id <= ?1)
            LIMIT 20
            """
        )
        try select.bind(1, through)
        var findings: [StoreInspection.Finding] = []
        while try select.step() { findings.append(finding(select.string(0))) }
        return findings
    }

    /// Texts in the index that are not those of their messages.
    private static func otherTexts(
        _ connection: Connection
    ) throws(SQLiteError) -> [StoreInspection.Finding] {
        let select = try connection.prepare(
            """
            SELECT m.id, m.body, t.text, t.doc, ifnull(m.server_at, m.sent_at), s.text
            FROM lk_search_text t JOIN lk_message m ON m.id = t.message
            LEFT JOIN lk_search_supplied s ON s.message = m.id WHERE m.body IS NOT NULL
            """
        )
        var findings: [StoreInspection.Finding] = []
        while findings.count < 20, try select.step() {
            let hour = SearchKeys.firstDoc(at: select.int64(4))
            let isSame =
                SearchableText(body: select.bytes(1), supplied: select.optionalBytes(5)).indexed
                == select.bytes(2)
                && hour...SearchKeys.lastDoc(from: hour) ~= select.int64(3)
            if !isSame { findings.append(finding("message \(select.int64(0)) is another one")) }
        }
        return findings
    }

    /// Texts of a sample that the index does not find by what they hold. FTS5's own comparison of all
    /// segments with all texts needs a connection that may write.
    private static let sampleCount: Int64 = 500

    private static func segments(
        _ connection: Connection,
        _ state: SearchState
    ) throws(SQLiteError) -> [StoreInspection.Finding] {
        do throws(SQLiteError) {
            let texts = try connection.prepare(
                """
                SELECT doc, text, conversation, sender, message FROM lk_search_text
                WHERE message % (1 + (SELECT count(*) FROM lk_search_text) / ?1) = 0
                """
            )
            try texts.bind(1, sampleCount)
            let found = try connection.prepare(
                "SELECT 1 FROM lk_search WHERE rowid = ?1 AND lk_search MATCH ?2"
            )
            while try texts.step() {
                let groups = SearchExpression.all(
                    SearchNeedles(exactly: texts.bytes(1)),
                    filters: [texts.bytes(2), texts.bytes(3)]
                )
                try found.bind(1, texts.int64(0))
                try found.bind(2, text: groups)
                let isFound = try found.step()
                found.reset()
                if !isFound {
                    return [finding("message \(texts.int64(4)) is not found by its text")]
                }
            }
            return []
        } catch {
            guard error.isDamagedIndex else { throw error }
            return [finding("its segments are damaged")]
        }
    }

    private static func finding(_ explanation: String) -> StoreInspection.Finding {
        StoreInspection.Finding(
            code: "search.out-of-step",
            subject: "search index",
            explanation: explanation,
            remedy: "Make the index anew with MessageStore.rebuildSearch() or 'lockkeeper repair'."
                + " The messages are whole."
        )
    }
}
