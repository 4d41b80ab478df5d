import CLockkeeperSQLite

/// Asks the schema what the authoriser and the update hook do not say about tables.
final class TableCatalogue {
    private var kindStatement: OpaquePointer?
    private var ordinaryStatement: OpaquePointer?

    /// Whether rows go unreported, the column that stands for the row id, and the virtual table
    /// that a shadow table belongs to. `index_info` answers for a table's name only when the table
    /// has no row ids. A CREATE VIRTUAL TABLE is stored with exactly this beginning; the names of
    /// shadow tables are those of FTS5, FTS4 and R-Tree.
    private static let kindQuery = """
        SELECT table_.sql LIKE 'CREATE VIRTUAL TABLE%' OR table_.sql LIKE '%REPLACE%'
            OR EXISTS (SELECT 1 FROM pragma_index_info(table_.name, 'main')),
          (SELECT name FROM pragma_table_info(table_.name, 'main')
            WHERE pk = 1 AND type = 'INTEGER' COLLATE NOCASE),
          (SELECT owner.name FROM main.sqlite_schema AS owner, (VALUES ('data'), ('idx'),
              ('content'), ('docsize'), ('config'), ('segments'), ('segdir'), ('stat'), ('node'),
              ('parent'), ('rowid')) AS suffix
            WHERE owner.sql LIKE 'CREATE VIRTUAL TABLE%'
              AND table_.name = owner.name || '_' || suffix.column1)
        FROM main.sqlite_schema AS table_ WHERE table_.type = 'table' AND table_.name = ?1
        """

    /// A temporary object of the same name would stand before the main one.
    private static let ordinaryQuery = """
        SELECT 1 FROM main.sqlite_schema
        WHERE type IN ('table', 'view') AND name = ?1 COLLATE NOCASE
          AND sql NOT LIKE 'CREATE VIRTUAL TABLE%'
          AND NOT EXISTS (SELECT 1 FROM temp.sqlite_temp_schema
            WHERE type IN ('table', 'view') AND name = ?1 COLLATE NOCASE)
        """

    private static let triggerQuery = """
        SELECT 1 FROM (SELECT type, sql FROM main.sqlite_schema
            UNION ALL SELECT type, sql FROM temp.sqlite_temp_schema)
        WHERE type = 'trigger' AND sql LIKE '%REPLACE%'
        """

    /// How a table tells which of its rows were written. A table that cannot be looked up, because
    /// it was dropped or the schema cannot be read, counts as one that does not tell.
    func kind(ofTable name: String, in database: OpaquePointer) -> WriteTracker.Kind {
        if kindStatement == nil { kindStatement = prepare(Self.kindQuery, in: database) }
        guard let statement = kindStatement else { return .anyRow }
        defer { sqlite3_reset(statement) }
        sqlite3_bind_text(statement, 1, name, -1, lk_sqlite_transient())
        guard sqlite3_step(statement) == SQLITE_ROW else { return .anyRow }
        if let owner = text(statement, 2) { return .shadow(of: owner) }
        if sqlite3_column_int(statement, 0) != 0 { return .anyRow }
        return .rows(rowIDColumn: text(statement, 1))
    }

    /// Whether a name is that of a table or view whose content is rows of the main database alone; not
    /// where that cannot be looked up.
    func isOrdinary(_ name: String, in database: OpaquePointer) -> Bool {
        if ordinaryStatement == nil {
            ordinaryStatement = prepare(Self.ordinaryQuery, in: database)
        }
        guard let statement = ordinaryStatement else { return false }
        defer { sqlite3_reset(statement) }
        sqlite3_bind_text(statement, 1, name, -1, lk_sqlite_transient())
        return sqlite3_step(statement) == SQLITE_ROW
    }

    /// Whether some trigger of the schema may replace rows.
    func triggersReplace(_ database: OpaquePointer) -> Bool {
        guard let statement = prepare(Self.triggerQuery, in: database) else { return true }
        defer { sqlite3_finalize(statement) }
        return sqlite3_step(statement) != SQLITE_DONE
    }

    /// Lets go of the database.
    func finalize() {
        sqlite3_finalize(kindStatement)
        kindStatement = nil
        sqlite3_finalize(ordinaryStatement)
        ordinaryStatement = nil
    }

    private func prepare(_ query: String, in database: OpaquePointer) -> OpaquePointer? {
        var statement: OpaquePointer?
        sqlite3_prepare_v3(
            database,
            query,
            -1,
            UInt32(SQLITE_PREPARE_PERSISTENT),
            &statement,
            nil
        )
        return statement
    }

    private func text(_ statement: OpaquePointer, _ column: Int32) -> String? {
        guard let text = sqlite3_column_text(statement, column) else { return nil }
        return String(cString: text)
    }
}
