import CLockkeeperSQLite

extension Connection {
    /// Has this connection take one b-tree of the file for a table, whatever the schema says of it: one
    /// that an index stands in, or a single page with rows that no tree leads to any more. Nothing of
    /// the file is changed, and other connections know nothing of it.
    ///
    /// There is one at a time: a statement that meets a damaged page may have SQLite forget them, so that
    /// each statement gets one of its own. SQLite calls such tables impostors; its shell and its tests
    /// use them to look into files.
    ///
    /// - Parameters:
    ///   - page: the number of the tree's first page.
    ///   - definition: a CREATE TABLE statement. A table without row ids describes an index: its columns
    ///     and the row id, all of them its primary key.
    /// - Throws: ``SQLiteError`` when the statement is refused.
    package func replaceImpostors(of page: Int64, _ definition: String) throws(SQLiteError) {
        try removeImpostors()
        guard let page = Int32(exactly: page), page > 0 else {
            throw SQLiteError(code: .corrupt, message: "no such page", operation: .inspect)
        }
        // While it is on, SQLite does not read the schema; a failed statement may have forgotten it.
        _ = try value("SELECT count(*) FROM sqlite_schema")
        setImpostor(page)
        defer { setImpostor(0) }
        try execute(definition)
    }

    /// Forgets them all.
    package func removeImpostors() throws(SQLiteError) {
        try core.requireUsable(.inspect)
        core.resetActiveStatements()
        lk_sqlite_impostor(core.database, 0, 1)
    }

    private func setImpostor(_ page: Int32) {
        lk_sqlite_impostor(core.database, page > 0 ? 1 : 0, page)
    }
}
