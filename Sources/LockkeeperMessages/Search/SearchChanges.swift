import LockkeeperDomain
import LockkeeperSQLite

/// What a merge tells the index of texts, inside of the merge's own transaction.
///
/// A text that is new costs nothing: rows above ``SearchState/through`` are known not to be in the
/// index. One that goes away or becomes another is taken out at once, so that the index never holds
/// what no message says any more (M-6); the new one is noted, and comes in later.
struct SearchChanges {
    private let connection: Connection
    private var through: Int64?

    init(connection: Connection) { self.connection = connection }

    /// A row was written.
    mutating func take(_ change: RowChange) throws(SQLiteError) {
        let old = change.before.flatMap(SearchEntry.init)
        let new: SearchEntry?
        switch change.after {
        case .event:
            // Where the rows with the largest numbers were removed SQLite gives their numbers again.
            if try isPassed(change.id) { try note(change.id) }
            return
        case .row(let row): new = SearchEntry(row)
        case .none: new = nil
        }
        guard old != new else { return }
        if let old, old.body != new?.body { try forgetSupplied(change.id) }
        guard try isPassed(change.id) else { return }
        if old != nil { try takeOut(change.id) }
        if new == nil { try forget(change.id) } else { try note(change.id) }
    }

    /// An app supplied another text for finding a message that is shown.
    mutating func supplied(_ text: String?, for row: Int64) throws(SQLiteError) {
        try forgetSupplied(row)
        if let text {
            let insert = try connection.statement(
                "INSERT INTO lk_search_supplied (message, text) VALUES (?1, ?2)"
            )
            try insert.bind(1, row)
            try insert.bind(2, text)
            try insert.run()
        }
        guard try isPassed(row) else { return }
        try takeOut(row)
        try note(row)
    }

    /// Whether the index would not come to a row by itself.
    private mutating func isPassed(_ row: Int64) throws(SQLiteError) -> Bool {
        try row <= loadedThrough()
    }

    private func forgetSupplied(_ row: Int64) throws(SQLiteError) {
        let delete = try connection.statement("DELETE FROM lk_search_supplied WHERE message = ?1")
        try delete.bind(1, row)
        try delete.run()
    }

    private mutating func loadedThrough() throws(SQLiteError) -> Int64 {
        if let through { return through }
        let state = try SearchState.read(from: connection)
        through = state.through
        return state.through
    }

    private func note(_ row: Int64) throws(SQLiteError) {
        let insert = try connection.statement(
            "INSERT INTO lk_search_dirty (message) VALUES (?1) ON CONFLICT (message) DO NOTHING"
        )
        try insert.bind(1, row)
        try insert.run()
    }

    private func forget(_ row: Int64) throws(SQLiteError) {
        let delete = try connection.statement("DELETE FROM lk_search_dirty WHERE message = ?1")
        try delete.bind(1, row)
        try delete.run()
    }

    private mutating func takeOut(_ row: Int64) throws(SQLiteError) {
        let isVoid = try SearchIndex(connection: connection).remove(message: row)
        if isVoid { through = 0 }
    }
}
