import LockkeeperDomain
import LockkeeperSQLite
import LockkeeperText

/// Brings the index of texts up to the messages, in steps of a few milliseconds, each a transaction
/// of its own that nobody waits for.
///
/// ```
/// no index, or void, or of older rules ──clear, make──▶ behind ──batches──▶ caught up
///                                                         ▲                   │ segments merged
///                                                         └── new rows ◀──────┤ rewritten
/// ```
///
/// An index of newer rules is another program's, and left to it.
struct SearchIndexer {
    let connection: Connection
    /// Milliseconds since 1970.
    let now: Int64

    /// What a step came to.
    enum Step: Equatable {
        /// There is more to do.
        case more
        /// Everything that can be done is.
        case done
    }

    /// Messages and bytes of one batch: two milliseconds of work.
    static let rowCountMax = 128
    static let byteCountMax = 64 * 1024
    /// Pages of the index that one step merges.
    private static let mergePageCount = 32
    /// Batches after which segments are merged: as many segments as one merge takes.
    private static let unmergedCountMax: Int64 = 8
    /// The index is rewritten at once where it holds fewer messages, and else once in an hour for as
    /// many: rewriting costs as much as it is large.
    private static let rewrittenRowCount: Int64 = 50_000

    /// Does a little. The caller commits it, and comes again where there is more.
    func step() throws -> Step {
        guard SearchLibrary.shortcoming == nil else { return .done }
        var state = try SearchState.read(from: connection)
        guard state.folding <= TextFolding.version else { return .done }
        let hasMore = try work(on: &state)
        if hasMore { try state.write(to: connection) }
        return hasMore ? .more : .done
    }

    /// Does what comes next. Returns whether there was anything.
    private func work(on state: inout SearchState) throws -> Bool {
        if state.folding < TextFolding.version {
            try makeAnew(&state)
            return true
        }
        if state.unmergedCount >= Self.unmergedCountMax {
            try merge(&state)
            return true
        }
        if try index(&state) { return true }
        if state.isRewriting {
            try merge(&state)
            return true
        }
        guard isRewritingDue(state) else { return false }
        state.isRewriting = true
        state.removedCount = 0
        _ = try SearchIndex(connection: connection).merge(pageCount: -Self.mergePageCount)
        return true
    }

    /// Whether texts that were taken out are to be taken out of the segments too.
    private func isRewritingDue(_ state: SearchState) -> Bool {
        guard state.removedCount > 0 else { return false }
        let hours = state.through / Self.rewrittenRowCount
        let age = now - state.rewrittenAt
        return age < 0 || age >= hours * 3_600_000
    }

    private func merge(_ state: inout SearchState) throws(SQLiteError) {
        let index = SearchIndex(connection: connection)
        if try index.merge(pageCount: Self.mergePageCount) { return }
        if state.isRewriting { state.rewrittenAt = now }
        state.unmergedCount = 0
        state.isRewriting = false
    }

    /// Clears a part of what is void, or makes a new index once nothing of it is left.
    private func makeAnew(_ state: inout SearchState) throws(SQLiteError) {
        state = SearchState(rewrittenAt: state.rewrittenAt)
        let index = SearchIndex(connection: connection)
        if try index.clear(rowCount: Self.rowCountMax) { return }
        try connection.execute(SearchLibrary.removal)
        try connection.execute(SearchLibrary.creation)
        try connection.execute("DELETE FROM lk_search_dirty")
        state.folding = TextFolding.version
    }
}

// MARK: - A batch

extension SearchIndexer {
    /// A message that is to come into the index.
    private struct Candidate {
        let message: Int64
        let conversation: Int64
        let text: SearchableText
        let instant: Int64
        let sender: [UInt8]
    }

    /// Indexes a batch: what changed, then what is new. Returns whether there was anything.
    private func index(_ state: inout SearchState) throws -> Bool {
        var byteCount = 0
        var candidates: [Candidate] = []
        let dirty = try dirtyRows()
        var taken: [Int64] = []
        for row in dirty where byteCount < Self.byteCountMax {
            taken.append(row)
            try append(row, to: &candidates, &byteCount)
        }
        var hasNew = false
        if taken.count < Self.rowCountMax, byteCount < Self.byteCountMax {
            for row in try newRows(above: state.through, limit: Self.rowCountMax - taken.count)
            where byteCount < Self.byteCountMax {
                hasNew = true
                state.through = row
                try append(row, to: &candidates, &byteCount)
            }
        }
        guard hasNew || !taken.isEmpty else { return false }
        for row in taken { try forgetDirty(row) }
        try add(candidates)
        state.unmergedCount += 1
        return true
    }

    private func append(
        _ row: Int64,
        to candidates: inout [Candidate],
        _ byteCount: inout Int
    ) throws {
        let select = try connection.statement(
            """
            SELECT m.conversation, m.body, ifnull(m.server_at, m.sent_at), m.sender, s.text
            FROM lk_message m LEFT JOIN lk_search_supplied s ON s.message = m.id
            WHERE m.id = ?1 AND m.state = 1 AND m.body IS NOT NULL
            """
        )
        try select.bind(1, row)
        guard try select.step() else { return }
        defer { select.reset() }
        let text = SearchableText(body: select.bytes(1), supplied: select.optionalBytes(4))
        byteCount += text.body.count
        candidates.append(
            Candidate(
                message: row,
                conversation: select.int64(0),
                text: text,
                instant: select.int64(2),
                sender: select.bytes(3)
            )
        )
    }

    /// Adds messages in the order of their numbers: one that comes out of order makes FTS5 write a
    /// segment of its own.
    private func add(_ candidates: [Candidate]) throws(SQLiteError) {
        let index = SearchIndex(connection: connection)
        let hours = candidates.map { (SearchKeys.firstDoc(at: $0.instant), $0) }
            .sorted { ($0.0, $0.1.message) < ($1.0, $1.1.message) }
        for (first, candidate) in hours {
            guard let doc = try index.freeDoc(from: first) else {
                try skip(candidate.message)
                continue
            }
            try index.add(
                SearchIndex.Row(
                    doc: doc,
                    message: candidate.message,
                    text: candidate.text.indexed,
                    conversation: SearchKeys.token(ofConversation: candidate.conversation),
                    sender: SearchKeys.token(ofSender: candidate.sender)
                )
            )
        }
    }

    private func dirtyRows() throws(SQLiteError) -> [Int64] {
        let select = try connection.statement(
            "SELECT message FROM lk_search_dirty WHERE NOT skipped ORDER BY message LIMIT ?1"
        )
        return try rows(select, Int64(Self.rowCountMax))
    }

    private func newRows(above row: Int64, limit: Int) throws(SQLiteError) -> [Int64] {
        let select = try connection.statement(
            "SELECT id FROM lk_message WHERE id > ?2 ORDER BY id LIMIT ?1"
        )
        try select.bind(2, row)
        return try rows(select, Int64(limit))
    }

    private func rows(_ select: Statement, _ limit: Int64) throws(SQLiteError) -> [Int64] {
        try select.bind(1, limit)
        defer { select.reset() }
        var rows: [Int64] = []
        while try select.step() { rows.append(select.int64(0)) }
        return rows
    }

    private func forgetDirty(_ row: Int64) throws(SQLiteError) {
        let delete = try connection.statement("DELETE FROM lk_search_dirty WHERE message = ?1")
        try delete.bind(1, row)
        try delete.run()
    }

    /// An hour has no number left: the message is looked at row by row for good.
    private func skip(_ row: Int64) throws(SQLiteError) {
        let insert = try connection.statement(
            "INSERT INTO lk_search_dirty (message, skipped) VALUES (?1, 1)"
        )
        try insert.bind(1, row)
        try insert.run()
    }
}
