import LockkeeperDomain
import LockkeeperSQLite

/// One search on one snapshot.
///
/// Three sources together are complete: the rows above ``SearchState/through``, those in
/// `lk_search_dirty`, and the index. Each candidate is held against its row before it is a hit, so
/// that the answer is true whatever the index says.
///
/// The index is read from the newest hour to the oldest and no further than the page needs. A needle of
/// one or two characters is in no group of three; where it is frequent it is soon found among the newest
/// messages, which are looked through first, and where it is not, it begins few groups, whose lists
/// are read.
struct SearchRun {
    private let connection: Connection
    private let needles: SearchNeedles
    private let query: SearchQuery
    private let place: SearchKey?
    private let limit: Int
    private let now: Int64
    private var conversation: Int64?
    private var hits: [SearchKey] = []

    /// Texts that are looked through for a short needle before lists are read.
    private static let scannedCount = 2000

    /// - Parameter now: milliseconds since 1970: what has expired by then is not found.
    init(
        _ query: SearchQuery,
        after place: SearchPlace?,
        limit: Int,
        now: Int64,
        on connection: Connection
    ) {
        self.connection = connection
        self.query = query
        self.limit = limit
        self.now = now
        needles = SearchNeedles(query.text, match: query.match)
        self.place = place.map(SearchKey.init)
    }

    /// The rows of the hits, in their order.
    mutating func run() throws -> [SearchKey] {
        guard !needles.needles.isEmpty else { return [] }
        if let conversation = query.conversation {
            self.conversation = try ConversationRow.find(conversation, in: connection)
            if self.conversation == nil { return [] }
        }
        let state = try SearchState.read(from: connection)
        guard state.isUsable else { return try scanAll() }
        do throws(SQLiteError) {
            try scan(Self.newQuery) { select throws(SQLiteError) in
                try select.bind(1, state.through)
            }
            try scan(Self.dirtyQuery) { _ in }
            try readIndex()
        } catch {
            // The messages are whole all the same, and tell the truth (B88).
            guard error.isDamagedIndex else { throw error }
            return try scanAll()
        }
        return hits
    }

    private mutating func scanAll() throws(SQLiteError) -> [SearchKey] {
        hits = []
        try scan(Self.newQuery) { select throws(SQLiteError) in try select.bind(1, Int64.min) }
        return hits
    }

    // MARK: - Candidates

    /// What is asked of each candidate, whatever it comes from.
    private static let newQuery: StaticString = """
        SELECT m.id, ifnull(m.server_at, m.sent_at), m.place, m.message_id, m.conversation,
            m.sender, m.state, m.body, c.conversation_id, m.expires_at, s.text
        FROM lk_message m CROSS JOIN lk_conversation c ON c.id = m.conversation
            LEFT JOIN lk_search_supplied s ON s.message = m.id
        WHERE m.id > ?1
        """
    private static let dirtyQuery: StaticString = """
        SELECT m.id, ifnull(m.server_at, m.sent_at), m.place, m.message_id, m.conversation,
            m.sender, m.state, m.body, c.conversation_id, m.expires_at, s.text
        FROM lk_search_dirty d CROSS JOIN lk_message m ON m.id = d.message
            CROSS JOIN lk_conversation c ON c.id = m.conversation
            LEFT JOIN lk_search_supplied s ON s.message = m.id
        """
    private static let docQuery: StaticString = """
        SELECT m.id, ifnull(m.server_at, m.sent_at), m.place, m.message_id, m.conversation,
            m.sender, m.state, m.body, c.conversation_id, m.expires_at, s.text
        FROM lk_search_text t CROSS JOIN lk_message m ON m.id = t.message
            CROSS JOIN lk_conversation c ON c.id = m.conversation
            LEFT JOIN lk_search_supplied s ON s.message = m.id
        WHERE t.doc = ?1
        """

    private static let textsQuery: StaticString = """
        SELECT doc FROM lk_search_text WHERE doc BETWEEN ?1 AND ?2 ORDER BY doc DESC
        """
    private static let indexQuery: StaticString = """
        SELECT rowid FROM lk_search WHERE rowid BETWEEN ?1 AND ?2 AND lk_search MATCH ?3
        ORDER BY rowid DESC
        """

    /// The queries with the steps of their plans; a test asserts them.
    static var plannedQueries: [(query: StaticString, plan: [String])] {
        let lookUps = [
            "SEARCH m USING INTEGER PRIMARY KEY", "SEARCH c USING INTEGER PRIMARY KEY",
            "SEARCH s USING INTEGER PRIMARY KEY",
        ]
        return [
            (newQuery, lookUps),
            (dirtyQuery, ["SCAN d"] + lookUps),
            (docQuery, ["SEARCH t USING INTEGER PRIMARY KEY"] + lookUps),
            (textsQuery, ["SEARCH lk_search_text USING INTEGER PRIMARY KEY"]),
            (indexQuery, ["SCAN lk_search VIRTUAL TABLE"]),
        ]
    }

    private mutating func scan(
        _ sql: StaticString,
        _ bind: (Statement) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        let select = try connection.statement(sql)
        defer { select.reset() }
        try bind(select)
        while try select.step() { consider(select) }
    }

    private mutating func consider(doc: Int64) throws(SQLiteError) {
        try scan(Self.docQuery) { select throws(SQLiteError) in try select.bind(1, doc) }
    }

    /// Takes a row as a hit, if it is one and the page has room for it.
    private mutating func consider(_ row: Statement) {
        guard row.int64(6) == MessageRow.State.shown.rawValue, !row.isNull(7) else { return }
        if let expiresAt = row.optionalInt64(9), expiresAt <= now { return }
        if let conversation, row.int64(4) != conversation { return }
        let instant = row.int64(1)
        if let after = query.after, instant < after.millisecondsSince1970 { return }
        if let before = query.before, instant >= before.millisecondsSince1970 { return }
        if let sender = query.sender, row.bytes(5) != sender.bytes { return }
        let key = SearchKey(
            row: row.int64(0),
            instant: instant,
            conversation: row.bytes(8),
            place: row.int64(2),
            message: row.bytes(3)
        )
        if let place, !(place < key) { return }
        if hits.count == limit, let last = hits.last, !(key < last) { return }
        let text = SearchableText(body: row.bytes(7), supplied: row.optionalBytes(10))
        guard needles.match(text.folded) else { return }
        let index = firstHit(behind: key)
        if index > 0, hits[index - 1].row == key.row { return }
        hits.insert(key, at: index)
        if hits.count > limit { hits.removeLast() }
    }

    /// The first of the hits that comes behind a key.
    private func firstHit(behind key: SearchKey) -> Int {
        var (lower, upper) = (0, hits.count)
        while lower < upper {
            let middle = (lower + upper) / 2
            if key < hits[middle] { upper = middle } else { lower = middle + 1 }
        }
        return lower
    }

    /// Whether no message with this number in the index, or a smaller one, can be on the page.
    private func isComplete(at doc: Int64) -> Bool {
        guard hits.count == limit, let last = hits.last else { return false }
        return SearchKeys.firstDoc(at: last.instant) > doc
    }

    // MARK: - The index

    /// The numbers that the page and the times leave over.
    private var docs: ClosedRange<Int64> {
        let first = query.after.map { SearchKeys.firstDoc(at: $0.millisecondsSince1970) }
        let newest = [query.before?.millisecondsSince1970, place?.instant].compactMap { $0 }.min()
        let last = newest.map { SearchKeys.lastDoc(from: SearchKeys.firstDoc(at: $0)) }
        return (first ?? .min)...max(first ?? .min, last ?? .max)
    }

    private var filters: [[UInt8]] {
        [
            conversation.map(SearchKeys.token(ofConversation:)),
            query.sender.map { SearchKeys.token(ofSender: $0.bytes) },
        ].compactMap { $0 }
    }

    private mutating func readIndex() throws(SQLiteError) {
        let hasGroups = needles.needles.contains { SearchExpression.scalarCount($0) >= 3 }
        let expression = SearchExpression.all(needles, filters: filters)
        if hasGroups {
            _ = try walk(expression, countMax: .max)
            return
        }
        guard let rest = try walk(expression, countMax: Self.scannedCount) else { return }
        try readLists(upTo: rest)
    }

    /// Considers what the index finds, the newest hour first; without a question everything in it.
    ///
    /// - Returns: the number at which it stopped after `countMax`; `nil` where the page is complete.
    private mutating func walk(
        _ expression: [UInt8]?,
        countMax: Int
    ) throws(SQLiteError) -> Int64? {
        let select = try connection.statement(
            expression == nil ? Self.textsQuery : Self.indexQuery
        )
        defer { select.reset() }
        try select.bind(1, docs.lowerBound)
        try select.bind(2, docs.upperBound)
        if let expression { try select.bind(3, text: expression) }
        var count = 0
        while try select.step() {
            let doc = select.int64(0)
            if isComplete(at: doc) { return nil }
            if count == countMax { return doc }
            count += 1
            try consider(doc: doc)
        }
        return nil
    }

    /// Considers the messages in whose texts some group of three begins with the longest needle.
    private mutating func readLists(upTo last: Int64) throws(SQLiteError) {
        guard let needle = needles.needles.max(by: { $0.count < $1.count }) else { return }
        let select = try connection.statement(
            "SELECT doc FROM lk_search_terms WHERE term >= ?1 AND term < ?2"
        )
        // The next sequence of bytes behind all that begin with the needle. No byte of UTF-8 is 0xFF.
        var end = needle
        end[end.count - 1] += 1
        try select.bind(1, text: needle)
        try select.bind(2, text: end)
        var found: [Int64] = []
        while try select.step() {
            let doc = select.int64(0)
            if doc <= last, doc >= docs.lowerBound { found.append(doc) }
        }
        found.sort(by: >)
        var previous: Int64?
        for doc in found where doc != previous {
            if isComplete(at: doc) { return }
            previous = doc
            try consider(doc: doc)
        }
    }
}

/// What hits are ordered by; see ``SearchPlace``.
struct SearchKey: Comparable {
    /// The row of the message; 0 for a place that is only compared.
    let row: Int64
    let instant: Int64
    let conversation: [UInt8]
    let place: Int64
    let message: [UInt8]

    init(row: Int64, instant: Int64, conversation: [UInt8], place: Int64, message: [UInt8]) {
        self.row = row
        self.instant = instant
        self.conversation = conversation
        self.place = place
        self.message = message
    }

    init(_ place: SearchPlace) {
        self.init(
            row: 0,
            instant: place.serverAt.millisecondsSince1970,
            conversation: place.conversation.bytes,
            place: place.place.sequence ?? MessageRow.lastPlace,
            message: place.place.id?.bytes ?? []
        )
    }

    /// Whether a hit comes before another one.
    static func < (left: SearchKey, right: SearchKey) -> Bool {
        if left.instant != right.instant { return left.instant > right.instant }
        if left.conversation != right.conversation {
            return left.conversation.lexicographicallyPrecedes(right.conversation)
        }
        if left.place != right.place { return left.place > right.place }
        return right.message.lexicographicallyPrecedes(left.message)
    }

    /// Whether two stand at one place.
    static func == (left: SearchKey, right: SearchKey) -> Bool {
        !(left < right) && !(right < left)
    }
}
