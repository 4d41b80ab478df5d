import LockkeeperSQLite
import LockkeeperText

/// The statements on the index and on what it holds.
struct SearchIndex {
    let connection: Connection

    /// One message's part of the index.
    struct Row {
        let doc: Int64
        let message: Int64
        let text: [UInt8]
        let conversation: [UInt8]
        let sender: [UInt8]
    }

    /// Adds a row.
    func add(_ row: Row) throws(SQLiteError) {
        let text = try connection.statement(
            """
            INSERT INTO lk_search_text (doc, message, text, conversation, sender)
            VALUES (?1, ?2, ?3, ?4, ?5)
            """
        )
        try text.bind(1, row.doc)
        try text.bind(2, row.message)
        try text.bind(3, text: row.text)
        try text.bind(4, text: row.conversation)
        try text.bind(5, text: row.sender)
        try text.run()
        let index = try connection.statement(
            """
            INSERT INTO lk_search (rowid, text, conversation, sender) VALUES (?1, ?2, ?3, ?4)
            """
        )
        try bind(row, to: index)
        try index.run()
    }

    /// Takes a message out, if it is in.
    ///
    /// Where this process's SQLite cannot write the index, or the index itself is damaged, it is
    /// declared void: nothing is found by it any more, and who can makes it anew.
    ///
    /// - Returns: whether the index is void now.
    func remove(message: Int64) throws(SQLiteError) -> Bool {
        guard let row = try find(message) else { return false }
        var state = try SearchState.read(from: connection)
        let isIn = try state.folding == 0 ? false : removeFromIndex(row)
        let isVoid = !isIn
        if isVoid { state = SearchState(removedCount: state.removedCount) }
        let delete = try connection.statement("DELETE FROM lk_search_text WHERE doc = ?1")
        try delete.bind(1, row.doc)
        try delete.run()
        state.removedCount += 1
        try state.write(to: connection)
        return isVoid
    }

    private func find(_ message: Int64) throws(SQLiteError) -> Row? {
        let select = try connection.statement(
            """
            SELECT doc, text, conversation, sender FROM lk_search_text WHERE message = ?1
            """
        )
        try select.bind(1, message)
        guard try select.step() else { return nil }
        defer { select.reset() }
        return Row(
            doc: select.int64(0),
            message: message,
            text: select.bytes(1),
            conversation: select.bytes(2),
            sender: select.bytes(3)
        )
    }

    private func removeFromIndex(_ row: Row) throws(SQLiteError) -> Bool {
        guard SearchLibrary.shortcoming == nil else { return false }
        do throws(SQLiteError) {
            let delete = try connection.statement(
                """
                INSERT INTO lk_search (lk_search, rowid, text, conversation, sender)
                VALUES ('delete', ?1, ?2, ?3, ?4)
                """
            )
            try bind(row, to: delete)
            try delete.run()
            return true
        } catch {
            // The base data is whole, and its changes must go on (B88).
            if error.isDamagedIndex { return false }
            throw error
        }
    }

    private func bind(_ row: Row, to statement: Statement) throws(SQLiteError) {
        try statement.bind(1, row.doc)
        try statement.bind(2, text: row.text)
        try statement.bind(3, text: row.conversation)
        try statement.bind(4, text: row.sender)
    }

    /// The first number that is free in an hour; `nil` where there is none.
    func freeDoc(from first: Int64) throws(SQLiteError) -> Int64? {
        let select = try connection.statement(
            "SELECT max(doc) FROM lk_search_text WHERE doc BETWEEN ?1 AND ?2"
        )
        let last = SearchKeys.lastDoc(from: first)
        try select.bind(1, first)
        try select.bind(2, last)
        defer { select.reset() }
        guard try select.step(), let newest = select.optionalInt64(0) else { return first }
        return newest < last ? newest + 1 : nil
    }

    /// Merges segments a little.
    ///
    /// - Parameter pageCount: how many pages to write about; below zero to begin with all segments
    ///   there are.
    /// - Returns: whether there was anything to do.
    func merge(pageCount: Int) throws(SQLiteError) -> Bool {
        let before = connection.totalChanges
        let merge = try connection.statement(
            "INSERT INTO lk_search (lk_search, rank) VALUES ('merge', ?1)"
        )
        try merge.bind(1, pageCount)
        try merge.run()
        // The statement itself counts as one change.
        return connection.totalChanges &- before >= 2
    }

    /// Whether there is an index table, whatever is in it.
    func isMade() throws(SQLiteError) -> Bool {
        let select = try connection.statement(
            "SELECT 1 FROM sqlite_schema WHERE name = 'lk_search'"
        )
        defer { select.reset() }
        return try select.step()
    }

    /// Takes a part of an index away that is to be made anew: the texts, then the segments. What is
    /// left afterwards is small.
    ///
    /// - Returns: whether anything was left.
    func clear(rowCount: Int) throws(SQLiteError) -> Bool {
        let texts = try connection.statement(
            """
            DELETE FROM lk_search_text
            WHERE doc IN (SELECT doc FROM lk_search_text ORDER BY doc LIMIT ?1)
            """
        )
        try texts.bind(1, rowCount)
        try texts.run()
        if connection.changes > 0 { return true }
        guard try isMade() else { return false }
        // Below 10 stands what FTS5 needs to drop its tables, at 10 the list of segments.
        let pages = try connection.statement(
            """
            DELETE FROM lk_search_data
            WHERE id IN (SELECT id FROM lk_search_data WHERE id > 10 ORDER BY id LIMIT ?1)
            """
        )
        try pages.bind(1, rowCount)
        try pages.run()
        return connection.changes > 0
    }
}
