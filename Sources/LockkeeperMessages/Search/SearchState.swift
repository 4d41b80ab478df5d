import LockkeeperSQLite
import LockkeeperText

/// The row of `lk_search_state`: how far the index has come.
struct SearchState: Equatable {
    /// Rows of `lk_message` above it are not in the index.
    var through: Int64 = 0
    /// The rules by which the index's texts were folded; 0 where there is none, or it is void.
    var folding: Int64 = 0
    /// Batches since segments were last merged.
    var unmergedCount: Int64 = 0
    /// Texts taken out since the segments were last rewritten.
    var removedCount: Int64 = 0
    /// Whether the segments are being rewritten.
    var isRewriting = false
    /// When they last were, in milliseconds since 1970.
    var rewrittenAt: Int64 = 0

    /// Whether this process can use the index for what it looks for.
    var isUsable: Bool {
        folding == TextFolding.version && SearchLibrary.shortcoming == nil
    }

    /// Reads the row.
    static func read(from connection: Connection) throws(SQLiteError) -> SearchState {
        let select = try connection.statement(
            """
            SELECT through, folding, unmerged, removed, rewriting, rewritten_at
            FROM lk_search_state WHERE id = 1
            """
        )
        defer { select.reset() }
        guard try select.step() else { return SearchState() }
        return SearchState(
            through: select.int64(0),
            folding: select.int64(1),
            unmergedCount: select.int64(2),
            removedCount: select.int64(3),
            isRewriting: select.int64(4) != 0,
            rewrittenAt: select.int64(5)
        )
    }

    /// Writes the row.
    func write(to connection: Connection) throws(SQLiteError) {
        let update = try connection.statement(
            """
            UPDATE lk_search_state SET through = ?1, folding = ?2, unmerged = ?3, removed = ?4,
                rewriting = ?5, rewritten_at = ?6
            WHERE id = 1
            """
        )
        try update.bind(1, through)
        try update.bind(2, folding)
        try update.bind(3, unmergedCount)
        try update.bind(4, removedCount)
        try update.bind(5, isRewriting ? 1 : 0)
        try update.bind(6, rewrittenAt)
        try update.run()
    }
}
