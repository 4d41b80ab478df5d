import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite

/// The lines of a schema, with the pages at which its trees begin: to be written anew into a copy of a
/// file whose own schema cannot be read whole.
///
/// The lines of sound pages are found wherever these stand. What is missing is taken from a store whose
/// tables were made in the same order, so that their roots stand at the same pages, where nothing on the
/// page speaks against it.
struct SchemaRows {
    private struct Row {
        let values: [SQLValue]
        let type: String
        let name: String
        let root: Int64
        /// How many columns a row of the table has at most; `nil` where that is not known.
        var columnCount: Int?

        init?(_ select: Statement) {
            values = (0..<5).map { select.value($0) }
            guard case .text = values[0], case .text = values[1],
                case .integer(let root) = values[3]
            else { return nil }
            (type, name, self.root) = (select.string(0), select.string(1), root)
        }

        var hasRowIDs: Bool {
            guard type == "table", case .text(let sql) = values[4] else { return type == "table" }
            let text = String(decoding: sql, as: UTF8.self).uppercased()
            return !text.contains("WITHOUT ROWID")
        }
    }

    private var rows: [Row] = []

    /// Whether there is none.
    var isEmpty: Bool { rows.isEmpty }

    private static let columns = "type, name, tbl_name, rootpage, sql"
    private static let condition = """
        WHERE type IN ('table', 'index', 'view', 'trigger') AND typeof(rootpage) = 'integer'
            AND (sql IS NULL OR sql LIKE 'CREATE %')
        """

    /// The lines on pages of a file that can be read.
    ///
    /// - Parameters:
    ///   - connection: reads the file, whose own schema is empty.
    ///   - path: the file.
    init(foundIn path: String, _ connection: Connection) throws {
        for leaf in try RawPages(of: path).orphans(roots: []) where leaf.columnCount == 5 {
            do throws(SQLiteError) {
                try connection.replaceImpostors(
                    of: leaf.number,
                    "CREATE TABLE lk_impostor (\(Self.columns))"
                )
                let select = try connection.prepare(
                    "SELECT \(Self.columns) FROM lk_impostor \(Self.condition)"
                )
                while try select.step() { if let row = Row(select) { rows.append(row) } }
            } catch {
                guard error.isOfUnreadablePage || .error ~= error.code else { throw error }
            }
        }
        try connection.removeImpostors()
    }

    /// The schema of a sound store.
    init(of connection: Connection) throws(SQLiteError) {
        let select = try connection.prepare("SELECT \(Self.columns) FROM sqlite_schema")
        while try select.step() { if let row = Row(select) { rows.append(row) } }
        let count = try connection.prepare(
            "SELECT count(*) FROM pragma_table_xinfo(?1) WHERE hidden <> 2"
        )
        for index in rows.indices where rows[index].type == "table" {
            try count.bind(1, rows[index].name)
            if try count.step() { rows[index].columnCount = Int(count.int64(0)) }
            count.reset()
        }
    }

    /// Adds the lines of another store that these have not, where the pages of a file may be what they
    /// say.
    mutating func add(_ others: SchemaRows, fitting path: String) throws(SystemCallError) {
        let pages = try RawPages(of: path)
        let names = Set(rows.map(\.name))
        let roots = Set(rows.map(\.root))
        for other in others.rows where !names.contains(other.name) {
            if other.root > 0, roots.contains(other.root) { continue }
            let fits = try pages.mayBeginTree(
                at: other.root,
                ofTable: other.hasRowIDs,
                columnCountMax: other.columnCount
            )
            if other.root == 0 || fits { rows.append(other) }
        }
    }

    /// Writes the lines into the schema of a file, which is empty.
    func write(into connection: Connection) throws(SQLiteError) {
        try connection.execute("PRAGMA journal_mode = OFF; PRAGMA writable_schema = ON")
        try connection.begin(.immediate)
        let insert = try connection.prepare("INSERT INTO sqlite_schema VALUES (?1, ?2, ?3, ?4, ?5)")
        for row in rows {
            try insert.bind(row.values)
            try insert.run()
        }
        try connection.commit()
    }
}
