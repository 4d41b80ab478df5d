import LockkeeperDomain
import LockkeeperSQLite

/// Moves the cursors of streams (I-4, M-12).
///
/// A page is an edge from the cursor before it to the cursor after it. A cursor only ever follows an
/// edge that begins where it stands:
///
/// ```
/// page(after, next)
///   known and passed, or known and waiting   → nothing        (a redelivery)
///   another edge from `after` was passed     → contradiction  (the first that was followed stands)
///   next is a cursor that was left before    → contradiction  (a cursor does not go back)
///   after = cursor                           → follow it, then every waiting edge that fits
///   else                                     → wait
/// ```
struct CursorEdges {
    let connection: Connection
    let edgeCountMax: Int

    /// What became of a page.
    enum Outcome: Equatable {
        /// The cursor moved. `contradictions` are edges that had waited where it came by and led
        /// elsewhere: they were taken out.
        case moved(contradictions: [SyncPage])
        /// Its predecessor has not come yet.
        case waits(isNew: Bool)
        /// It was passed before, or leads nowhere.
        case known
        /// Another page has left the cursor that it begins at, or it leads back to one that was left.
        case contradicts
        /// As many pages wait as the store keeps.
        case hasNoRoom
    }

    /// Where a stream's cursor stands; `nil` without one: the stream needs a full sync.
    func cursor(of stream: [UInt8]) throws(SQLiteError) -> [UInt8]? {
        let select = try connection.statement("SELECT value FROM lk_cursor WHERE stream = ?1")
        try select.bind(1, text: stream)
        guard try select.step() else { return nil }
        defer { select.reset() }
        return select.bytes(0)
    }

    /// Whether a page begins at the stream's cursor, or was passed before: a page for which
    /// ``add(_:)`` does not wait.
    func accepts(_ page: SyncPage) throws(SQLiteError) -> Bool {
        if let isPassed = try passed(page) { return isPassed }
        return try cursor(of: page.stream.bytes) == page.after?.bytes
    }

    /// Whether a page waits for an earlier one.
    func waits(_ page: SyncPage) throws(SQLiteError) -> Bool { try passed(page) == false }

    /// Takes a stream's cursor and all of its edges away.
    func reset(_ stream: [UInt8]) throws(SQLiteError) {
        for statement: StaticString in [
            "DELETE FROM lk_cursor WHERE stream = ?1", "DELETE FROM lk_edge WHERE stream = ?1",
        ] {
            let delete = try connection.statement(statement)
            try delete.bind(1, text: stream)
            try delete.run()
        }
    }

    /// Adds a page's edge and follows what can be followed.
    func add(_ page: SyncPage) throws(SQLiteError) -> Outcome {
        let stream = page.stream.bytes
        let after = page.after?.bytes ?? []
        if let isPassed = try passed(page) {
            return isPassed ? .known : .waits(isNew: false)
        }
        let cursor = try cursor(of: stream)
        guard after == cursor ?? [] else {
            if page.next.bytes == after { return .known }
            if try hasPassedEdge(stream, from: after) { return .contradicts }
            guard try hasRoom(stream) else { return .hasNoRoom }
            try insert(page, passed: nil)
            return .waits(isNew: true)
        }
        // A page that leads nowhere says only whether there is more.
        if page.next.bytes == after {
            let isNews = try set(stream, page.next.bytes, isDone: page.isDone)
            return isNews ? .moved(contradictions: []) : .known
        }
        if try hasPassedEdge(stream, from: page.next.bytes) { return .contradicts }
        let ordinal = try nextOrdinal(stream)
        try insert(page, passed: ordinal)
        return .moved(contradictions: try follow(page, ordinal: ordinal))
    }

    /// Follows the edges that wait where a page leads, and sets the cursor. Returns the edges that
    /// waited beside those and lead elsewhere.
    private func follow(_ page: SyncPage, ordinal: Int64) throws(SQLiteError) -> [SyncPage] {
        let stream = page.stream.bytes
        var (ordinal, last) = (ordinal, page)
        var contradictions: [SyncPage] = []
        while true {
            // Where several wait at one cursor, or one leads back to where the cursor was, the server
            // broke its contract. The smallest of the others is followed, so that every process
            // decides alike.
            let waiting = try edgesWaiting(at: last.next, of: page.stream)
            guard !waiting.isEmpty else { break }
            let chosen = try firstForward(of: waiting)
            contradictions += waiting.filter { $0 != chosen }
            guard let chosen else {
                try removeWaiting(stream, from: last.next.bytes)
                break
            }
            last = chosen
            ordinal += 1
            let pass = try connection.statement(
                """
                UPDATE lk_edge SET passed = ?4
                WHERE stream = ?1 AND after = ?2 AND next = ?3
                """
            )
            try pass.bind(1, text: stream)
            try pass.bind(2, text: last.after?.bytes ?? [])
            try pass.bind(3, text: last.next.bytes)
            try pass.bind(4, ordinal)
            try pass.run()
            if waiting.count > 1 { try removeWaiting(stream, from: last.after?.bytes ?? []) }
        }
        _ = try set(stream, last.next.bytes, isDone: last.isDone)
        // As many passed edges are remembered as may wait. What is older is answered with the
        // cursor all the same.
        let forget = try connection.statement(
            "DELETE FROM lk_edge WHERE stream = ?1 AND passed <= ?2"
        )
        try forget.bind(1, text: stream)
        try forget.bind(2, ordinal - Int64(edgeCountMax))
        try forget.run()
        return contradictions
    }

    /// The first of some edges that does not lead back to where the cursor was.
    private func firstForward(of edges: [SyncPage]) throws(SQLiteError) -> SyncPage? {
        for edge in edges
        where try !hasPassedEdge(edge.stream.bytes, from: edge.next.bytes) { return edge }
        return nil
    }

    private func edgesWaiting(
        at cursor: Cursor,
        of stream: StreamID
    ) throws(SQLiteError) -> [SyncPage] {
        let select = try connection.statement(
            """
            SELECT next, done FROM lk_edge
            WHERE stream = ?1 AND after = ?2 AND passed IS NULL ORDER BY next
            """
        )
        try select.bind(1, text: stream.bytes)
        try select.bind(2, text: cursor.bytes)
        var edges: [SyncPage] = []
        while try select.step() {
            edges.append(
                SyncPage(
                    stream: stream,
                    after: cursor,
                    next: Cursor(unchecked: select.bytes(0)),
                    done: select.int64(1) != 0
                )
            )
        }
        return edges
    }

    private func removeWaiting(_ stream: [UInt8], from after: [UInt8]) throws(SQLiteError) {
        let delete = try connection.statement(
            "DELETE FROM lk_edge WHERE stream = ?1 AND after = ?2 AND passed IS NULL"
        )
        try delete.bind(1, text: stream)
        try delete.bind(2, text: after)
        try delete.run()
    }

    /// Sets a cursor. Returns whether that changed anything.
    private func set(
        _ stream: [UInt8],
        _ cursor: [UInt8],
        isDone: Bool
    ) throws(SQLiteError) -> Bool {
        let upsert = try connection.statement(
            """
            INSERT INTO lk_cursor (stream, value, done) VALUES (?1, ?2, ?3)
            ON CONFLICT (stream) DO UPDATE SET value = excluded.value, done = excluded.done
            WHERE value <> excluded.value OR done <> excluded.done
            """
        )
        try upsert.bind(1, text: stream)
        try upsert.bind(2, text: cursor)
        try upsert.bind(3, isDone ? 1 : 0)
        try upsert.run()
        return connection.changes > 0
    }

    /// Whether a page's edge was passed; `nil` when it is not known.
    private func passed(_ page: SyncPage) throws(SQLiteError) -> Bool? {
        let select = try connection.statement(
            """
            SELECT passed IS NOT NULL FROM lk_edge
            WHERE stream = ?1 AND after = ?2 AND next = ?3
            """
        )
        try select.bind(1, text: page.stream.bytes)
        try select.bind(2, text: page.after?.bytes ?? [])
        try select.bind(3, text: page.next.bytes)
        guard try select.step() else { return nil }
        defer { select.reset() }
        return select.int64(0) != 0
    }

    private func hasPassedEdge(_ stream: [UInt8], from after: [UInt8]) throws(SQLiteError) -> Bool {
        let select = try connection.statement(
            """
            SELECT 1 FROM lk_edge
            WHERE stream = ?1 AND after = ?2 AND passed IS NOT NULL LIMIT 1
            """
        )
        try select.bind(1, text: stream)
        try select.bind(2, text: after)
        defer { select.reset() }
        return try select.step()
    }

    private func hasRoom(_ stream: [UInt8]) throws(SQLiteError) -> Bool {
        let select = try connection.statement(
            "SELECT count(*) FROM lk_edge WHERE stream = ?1 AND passed IS NULL"
        )
        try select.bind(1, text: stream)
        defer { select.reset() }
        return try select.step() && select.int64(0) < Int64(edgeCountMax)
    }

    private func nextOrdinal(_ stream: [UInt8]) throws(SQLiteError) -> Int64 {
        let select = try connection.statement(
            "SELECT ifnull(max(passed), 0) + 1 FROM lk_edge WHERE stream = ?1"
        )
        try select.bind(1, text: stream)
        defer { select.reset() }
        return try select.step() ? select.int64(0) : 1
    }

    private func insert(_ page: SyncPage, passed: Int64?) throws(SQLiteError) {
        let insert = try connection.statement(
            """
            INSERT INTO lk_edge (stream, after, next, done, passed) VALUES (?1, ?2, ?3, ?4, ?5)
            """
        )
        try insert.bind(1, text: page.stream.bytes)
        try insert.bind(2, text: page.after?.bytes ?? [])
        try insert.bind(3, text: page.next.bytes)
        try insert.bind(4, page.isDone ? 1 : 0)
        try insert.bind(5, passed)
        try insert.run()
    }
}
