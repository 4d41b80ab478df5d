package import LockkeeperSQLite

/// Makes a table anew with other columns or rules, within a migration.
///
/// The numbers are those of SQLite's recipe (sqlite.org/lang_altertable.html, section 7); its first
/// two steps and the last three are the migrator's.
package struct TableRebuild {
    private let table: String
    private let definition: String
    private let columns: [(name: String, expression: String)]

    /// A rebuild of its parts.
    package init(
        table: String,
        definition: String,
        columns: [(name: String, expression: String)]
    ) {
        self.table = table
        self.definition = definition
        self.columns = columns
    }

    /// Runs it in the transaction that is open.
    ///
    /// - Throws: ``SQLiteError`` when a statement is refused, or when not every row arrives.
    package func run(on connection: Connection) throws(SQLiteError) {
        let (old, new) = (quoted(table), quoted("new_\(table)"))
        // 3. Indexes and triggers go with the table, so their texts are kept.
        let texts = try texts(on: connection)
        let counter = try counter(on: connection)
        // 4., 5. The new table and its rows.
        try connection.execute("CREATE TABLE \(new) \(definition)")
        var names = columns.map { quoted($0.name) }
        var expressions = columns.map(\.expression)
        if try keepsRowIDsApart(on: connection, new) {
            names.append("rowid")
            expressions.append("rowid")
        }
        try connection.execute(
            "INSERT INTO \(new) (\(names.joined(separator: ", ")))"
                + " SELECT \(expressions.joined(separator: ", ")) FROM \(old)"
        )
        let (before, after) = (
            try connection.value("SELECT count(*) FROM \(old)"),
            try connection.value("SELECT count(*) FROM \(new)")
        )
        guard before == after else {
            throw SQLiteError(
                code: .constraint,
                message: "not every row of \(table) arrives in the new table",
                operation: .step
            )
        }
        if let counter { try keep(counter, on: connection) }
        // 6., 7. The new one takes the old one's place. Foreign keys name the place.
        try connection.execute("DROP TABLE \(old); ALTER TABLE \(new) RENAME TO \(old)")
        // 8.
        for text in texts { try connection.execute(text) }
    }

    private func texts(on connection: Connection) throws(SQLiteError) -> [String] {
        let select = try connection.prepare(
            """
            SELECT sql FROM sqlite_schema
            WHERE tbl_name = ?1 AND type IN ('index', 'trigger') AND sql IS NOT NULL
            """
        )
        try select.bind(1, table)
        var texts: [String] = []
        while try select.step() { texts.append(select.string(0)) }
        return texts
    }

    /// The largest row id that the table ever gave, where it keeps that.
    private func counter(on connection: Connection) throws(SQLiteError) -> Int64? {
        let exists = try connection.value(
            "SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'"
        )
        guard exists != nil else { return nil }
        let select = try connection.prepare("SELECT seq FROM sqlite_sequence WHERE name = ?1")
        try select.bind(1, table)
        defer { select.reset() }
        return try select.step() ? select.int64(0) : nil
    }

    /// A table whose rows were all deleted has no line of its own yet. One that counts no more has
    /// none to set.
    private func keep(_ counter: Int64, on connection: Connection) throws(SQLiteError) {
        let text = try connection.prepare("SELECT sql FROM sqlite_schema WHERE name = ?1")
        try text.bind(1, "new_\(table)")
        guard try text.step(), text.string(0).uppercased().contains("AUTOINCREMENT") else { return }
        text.reset()
        for sql in [
            "DELETE FROM sqlite_sequence WHERE name = ?1",
            "INSERT INTO sqlite_sequence VALUES (?1, ?2)",
        ] {
            let statement = try connection.prepare(sql)
            try statement.bind(1, "new_\(table)")
            if sql.contains("?2") { try statement.bind(2, counter) }
            try statement.run()
        }
    }

    /// Whether both tables have row ids that are no column: they are kept too.
    private func keepsRowIDsApart(
        on connection: Connection,
        _ new: String
    ) throws(SQLiteError) -> Bool {
        for name in [quoted(table), new] {
            do throws(SQLiteError) {
                try connection.prepare("SELECT rowid FROM \(name)").finish()
            } catch {
                // A table without row ids.
                return false
            }
            let info = try connection.prepare("PRAGMA table_info(\(name))")
            while try info.step() {
                // A primary key of this type is the row id.
                if info.int64(5) == 1, info.string(2).uppercased() == "INTEGER" { return false }
            }
        }
        return true
    }
}
