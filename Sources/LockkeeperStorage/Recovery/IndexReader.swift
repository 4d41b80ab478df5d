import LockkeeperDomain
import LockkeeperSQLite

/// Reads what stands in an index, as a table of its own: without its table, and also where the index
/// holds some rows alone, or a computed column, for which SQLite would go to the table.
struct IndexReader {
    private let reading: SalvagePlan.IndexReading
    private let source: Connection

    init(_ reading: SalvagePlan.IndexReading, _ source: Connection) {
        self.reading = reading
        self.source = source
    }

    /// Gives every row that can be read, the row id first, then the columns; none where nothing of use
    /// can be read. A row may come twice where something on the way was damaged.
    ///
    /// - Throws: ``SQLiteError`` for what is no damage; what the closure throws.
    func forEach(_ body: ([SQLValue]) throws -> Void) throws {
        var left: Set<SQLValue> = []
        if let exceptions = reading.exceptions {
            let isWhole = try read(exceptions, [reading.columns[0]]) { left.insert($0[0]) }
            guard isWhole else { return }
        }
        _ = try read(reading.index, reading.columns) { row in
            if !left.contains(row[0]) { try body(row) }
        }
    }

    /// - Returns: whether all of it could be read.
    private func read(
        _ index: String,
        _ columns: [String],
        _ body: ([SQLValue]) throws -> Void
    ) throws -> Bool {
        let root = try source.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?1")
        try root.bind(1, index)
        guard try root.step() else { return false }
        let page = root.int64(0)
        root.reset()
        guard page > 0, page <= Int64(Int32.max) else { return false }
        let name = "lk_impostor_\(page)"
        let list = (columns + ["lk_row"]).map(quoted).joined(separator: ", ")
        for direction in ["", " DESC"] {
            try source.replaceImpostors(
                of: page,
                "CREATE TABLE \(name) (\(list), PRIMARY KEY (\(list))) WITHOUT ROWID"
            )
            let order = (columns + ["lk_row"]).map { quoted($0) + direction }
            let select = try source.prepare(
                "SELECT lk_row, \(columns.map(quoted).joined(separator: ", ")) FROM \(name)"
                    + " ORDER BY \(order.joined(separator: ", "))"
            )
            if try step(select, columns.count, body) { return direction.isEmpty }
        }
        return false
    }

    /// - Returns: whether it came to its end.
    private func step(
        _ select: Statement,
        _ columnCount: Int,
        _ body: ([SQLValue]) throws -> Void
    ) throws -> Bool {
        while true {
            do throws(SQLiteError) {
                guard try select.step() else { return true }
            } catch {
                guard error.isOfUnreadablePage else { throw error }
                return false
            }
            try body((0...columnCount).map { select.value($0) })
        }
    }
}
