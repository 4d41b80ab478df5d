import LockkeeperDomain
import LockkeeperSQLite

/// How an inspection goes about large stores: in slices, so that no snapshot keeps the log from being
/// begun anew for long, and so that it can be ended in between.
package struct InspectionPace {
    /// Rows of one slice. A table with more row ids than this is looked at slice by slice.
    package let sliceRowCount: Int64
    /// Whether to end; asked between slices.
    package let isCancelled: () -> Bool
    /// Told how many looks are done, and of how many as far as is known.
    package let progress: (_ done: Int, _ count: Int) -> Void

    /// A pace of its parts; the default is never cancelled.
    package init(
        sliceRowCount: Int64 = 20_000,
        isCancelled: @escaping () -> Bool = { false },
        progress: @escaping (_ done: Int, _ count: Int) -> Void = { _, _ in }
    ) {
        self.sliceRowCount = sliceRowCount
        self.isCancelled = isCancelled
        self.progress = progress
    }
}

/// A table as a quick inspection looks at it: at once by SQLite's own check where it is small, and row
/// by row in slices where it is large.
///
/// A slice reads every column of its rows, overflow pages included, so that a page of the table that is
/// damaged or missing shows. What it does not see are CHECK constraints, and the inside of indexes,
/// which a deep inspection looks at.
struct TableSlices {
    let name: String
    /// The least and the largest row id; `nil` for an empty table and one without row ids.
    let rows: ClosedRange<Int64>?
    private let columns: [(name: String, isNotNull: Bool)]

    /// The tables of a database; virtual ones have their rows in others.
    static func all(in connection: Connection) throws(SQLiteError) -> [TableSlices] {
        let select = try connection.prepare(
            """
            SELECT name FROM sqlite_schema
            WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite_stat%' ORDER BY name
            """
        )
        var names: [String] = []
        while try select.step() { names.append(select.string(0)) }
        var tables: [TableSlices] = []
        for name in names { tables.append(try TableSlices(name, connection)) }
        return tables
    }

    private init(_ name: String, _ connection: Connection) throws(SQLiteError) {
        self.name = name
        let info = try connection.prepare("PRAGMA table_info(\(quoted(name)))")
        var columns: [(String, Bool)] = []
        while try info.step() { columns.append((info.string(1), info.int64(3) == 1)) }
        self.columns = columns
        rows = Self.rows(of: name, connection)
    }

    /// A table without row ids refuses the question; what else is wrong shows when it is looked at.
    private static func rows(of name: String, _ connection: Connection) -> ClosedRange<Int64>? {
        let table = quoted(name)
        guard let least = try? connection.value("SELECT min(rowid) FROM \(table)")?.integer,
            let largest = try? connection.value("SELECT max(rowid) FROM \(table)")?.integer,
            least <= largest
        else { return nil }
        return least...largest
    }

    /// Whether the table is looked at in slices.
    func isLarge(for pace: InspectionPace) -> Bool {
        guard let rows else { return false }
        let (span, overflows) = rows.upperBound.subtractingReportingOverflow(rows.lowerBound)
        return overflows || span >= pace.sliceRowCount
    }

    /// Looks at a small table.
    ///
    /// - Returns: what SQLite says is wrong.
    func check(_ connection: Connection) throws(SQLiteError) -> [String] {
        let statement = try connection.prepare("PRAGMA quick_check(\(quoted(name)))")
        var sentences: [String] = []
        while try statement.step() { sentences.append(statement.string(0)) }
        return sentences == ["ok"] ? [] : sentences
    }

    /// Reads the rows that follow one, as many as a slice has.
    ///
    /// - Returns: the last row's id, `nil` where none follows, and what is wrong.
    func check(
        after row: Int64,
        _ pace: InspectionPace,
        _ connection: Connection
    ) throws(SQLiteError) -> (last: Int64?, sentences: [String]) {
        let required = columns.filter(\.isNotNull).map { "sum(\(quoted($0.name)) IS NULL)" }
        let bytes = columns.map { "sum(length(CAST(\(quoted($0.name)) AS BLOB)))" }
        let names = columns.map { quoted($0.name) }.joined(separator: ", ")
        let select = try connection.prepare(
            """
            SELECT max(r), \((required + bytes).joined(separator: ", ")) FROM (
                SELECT rowid AS r, \(names) FROM \(quoted(name)) NOT INDEXED
                WHERE rowid > ?1 ORDER BY rowid LIMIT ?2)
            """
        )
        try select.bind(1, row)
        try select.bind(2, pace.sliceRowCount)
        defer { select.reset() }
        guard try select.step(), let last = select.optionalInt64(0) else { return (nil, []) }
        var sentences: [String] = []
        for (index, column) in columns.filter(\.isNotNull).enumerated()
        where select.int64(index + 1) > 0 {
            sentences.append("NULL value in \(name).\(column.name)")
        }
        return (last, sentences)
    }

    /// Looks for rows of a slice whose foreign keys lead nowhere.
    func danglingRows(
        in rows: ClosedRange<Int64>,
        _ connection: Connection
    ) throws(SQLiteError) -> [Connection.ForeignKeyViolation] {
        var violations: [Connection.ForeignKeyViolation] = []
        for key in try foreignKeys(connection) {
            let given = key.columns.map { "c.\(quoted($0)) IS NOT NULL" }
            let same = zip(key.columns, key.parentColumns).map { column, parent in
                "p.\(parent) = c.\(quoted(column))"
            }
            let select = try connection.prepare(
                """
                SELECT c.rowid FROM \(quoted(name)) c NOT INDEXED
                WHERE c.rowid BETWEEN ?1 AND ?2 AND \(given.joined(separator: " AND "))
                    AND NOT EXISTS (SELECT 1 FROM \(quoted(key.parent)) p
                        WHERE \(same.joined(separator: " AND "))) LIMIT 100
                """
            )
            try select.bind(1, rows.lowerBound)
            try select.bind(2, rows.upperBound)
            while try select.step() {
                violations.append(
                    Connection.ForeignKeyViolation(
                        table: name,
                        row: select.int64(0),
                        parent: key.parent
                    )
                )
            }
        }
        return violations
    }

    private struct ForeignKey {
        let parent: String
        var columns: [String] = []
        /// Quoted, because the row id has no name of its own.
        var parentColumns: [String] = []
    }

    private func foreignKeys(_ connection: Connection) throws(SQLiteError) -> [ForeignKey] {
        let list = try connection.prepare("PRAGMA foreign_key_list(\(quoted(name)))")
        var keys: [Int64: ForeignKey] = [:]
        while try list.step() {
            let parent = list.string(2)
            var key = keys[list.int64(0)] ?? ForeignKey(parent: parent)
            key.columns.append(list.string(3))
            key.parentColumns.append(
                list.isNull(4)
                    ? try primaryKey(of: parent, at: list.int64(1), connection)
                    : quoted(list.string(4))
            )
            keys[list.int64(0)] = key
        }
        return keys.sorted { $0.key < $1.key }.map(\.value)
    }

    private func primaryKey(
        of table: String,
        at index: Int64,
        _ connection: Connection
    ) throws(SQLiteError) -> String {
        let info = try connection.prepare("PRAGMA table_info(\(quoted(table)))")
        while try info.step() {
            if info.int64(5) == index + 1 { return quoted(info.string(1)) }
        }
        return "rowid"
    }
}
