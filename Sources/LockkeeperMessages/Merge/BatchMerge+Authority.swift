import LockkeeperDomain
import LockkeeperSQLite

// Who may edit and recall (M-5, R-60). Under the contract *server* everybody whom the server lets.
//
// Under *author* a fact, that is an edit or a recall, needs the message's author as its `by`. An author
// is whom an event of type message named as the sender: any of them, where a server says several, so
// that a fact which was allowed once stays so whichever event comes first. A fact whose message has no
// sender yet waits in `lk_fact`, line by line: a forged one never mixes with a rightful one. Under
// *author-of-edits* that holds for edits alone.
extension BatchMerge {
    /// Decides about an edit or a recall.
    ///
    /// - Returns: what becomes of the event; `nil` when it is to be merged.
    mutating func judge(
        _ event: Event,
        by person: PersonID?,
        of stored: MessageTable.Stored?,
        _ message: MessageID,
        at index: Int
    ) throws -> EventOutcome? {
        let authority = rules.authority
        if case .recall = event {
            guard authority.recallsNeedAuthor else { return nil }
        } else {
            guard authority.editsNeedAuthor else { return nil }
        }
        if let row = stored?.row {
            // What has no content takes no edit, and another recall needs no second look.
            if row.isGone { return .stale }
            if let person, row.isAuthor(person.bytes) { return nil }
            if row.recall != nil { return .stale }
        }
        guard person != nil, stored?.row.registers[.sender] == nil else {
            // A person may have accepted it.
            if try quarantine.isAccepted(.unauthorised, EventEncoder.line(event)) { return nil }
            return try refuseUnauthorised(event, conversation: index, message: message.bytes)
        }
        return try keepWaiting(event, of: stored, message, at: index)
    }

    /// Keeps a fact until the message's sender is known.
    private mutating func keepWaiting(
        _ event: Event,
        of stored: MessageTable.Stored?,
        _ message: MessageID,
        at index: Int
    ) throws -> EventOutcome {
        let facts = FactTable(connection: connection)
        let countMax = rules.limits.waitingMessageCountMax
        let isFull = try !facts.hasRoom(countMax)
        guard try !isFull && (stored != nil || table.hasRoomForWaiting(countMax)) else {
            return try refuseWaiting(event, conversation: index, message: message.bytes)
        }
        let row = try stored?.id ?? insertWaiting(message, at: index)
        return try facts.put(EventEncoder.line(event), about: row) ? .updated : .duplicate
    }

    /// Makes the row of a message of which nothing is known but its id.
    mutating func insertWaiting(_ message: MessageID, at index: Int) throws -> Int64 {
        try put(
            MessageRow(conversation: conversations[index].row, messageID: message.bytes),
            over: nil,
            at: index
        )
    }

    /// Decides about the facts that wait for a message, now that a sender was named.
    mutating func judgeFacts(
        of id: Int64,
        _ row: MessageRow,
        hadSender: Bool,
        at index: Int
    ) throws {
        let facts = FactTable(connection: connection)
        var waiting = try facts.take(about: id)
        if hadSender {
            // Facts of the new author were refused while another was the only one.
            waiting += try quarantine.takeUnauthorised(
                conversation: conversations[index].id,
                message: row.messageID
            ) { line in Self.fact(line).map { row.isAuthor($0.by.bytes) } ?? false }
        }
        let known = waiting.compactMap(Self.fact)
        for fact in known where row.isAuthor(fact.by.bytes) { _ = try apply(fact.event) }
        // They are judged as if they came now: where the others recalled the message nothing is kept.
        for fact in known where !row.isAuthor(fact.by.bytes) { _ = try apply(fact.event) }
    }

    /// A stored line as an edit or recall with its `by`.
    private static func fact(_ line: [UInt8]) -> (event: Event, by: PersonID)? {
        var decoder = EventDecoder()
        guard let event = try? decoder.decode(line: line) else { return nil }
        let person: PersonID? =
            switch event {
            case .edit(let edit): edit.editor
            case .recall(let recall): recall.recaller
            default: nil
            }
        return person.map { (event, $0) }
    }
}

/// The statements on `lk_fact`.
struct FactTable {
    let connection: Connection

    /// Keeps a line. Returns whether it is new.
    func put(_ line: [UInt8], about message: Int64) throws(SQLiteError) -> Bool {
        let insert = try connection.statement(
            "INSERT INTO lk_fact (message, line) VALUES (?1, ?2) ON CONFLICT DO NOTHING"
        )
        try insert.bind(1, message)
        try insert.bind(2, blob: line)
        try insert.run()
        return connection.changes > 0
    }

    /// Takes out the lines about a message.
    func take(about message: Int64) throws(SQLiteError) -> [[UInt8]] {
        let select = try connection.statement(
            "SELECT line FROM lk_fact WHERE message = ?1 ORDER BY line"
        )
        try select.bind(1, message)
        var lines: [[UInt8]] = []
        while try select.step() { lines.append(select.bytes(0)) }
        guard !lines.isEmpty else { return [] }
        let delete = try connection.statement("DELETE FROM lk_fact WHERE message = ?1")
        try delete.bind(1, message)
        try delete.run()
        return lines
    }

    /// Whether fewer lines wait than may.
    func hasRoom(_ countMax: Int) throws(SQLiteError) -> Bool {
        let select = try connection.statement("SELECT 1 FROM lk_fact LIMIT 1 OFFSET ?1")
        try select.bind(1, countMax - 1)
        defer { select.reset() }
        return try !select.step()
    }
}
