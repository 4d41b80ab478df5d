import LockkeeperDomain
import LockkeeperSQLite

// Conversations themselves: what is known of them, who is in them, what was cleared, and of which
// ranges everything was given.
extension BatchMerge {
    mutating func apply(_ event: ConversationEvent) throws -> EventOutcome {
        let index = try conversation(event.conversation)
        let before = try ConversationState.fields(of: conversations[index].row, in: connection)
        var after = before
        let writes = RegisterWrites<ConversationField>(event)
        var outcome = after.write(writes)
        let subject = LoserSubject(conversation: conversations[index].id)
        try letAcceptedStand(&outcome, of: subject) { after.replace($0, by: $1, at: $2) }
        try putAside(outcome.losers, of: subject)
        if after != before { try write(after, over: before, at: index) }
        return outcome.event(isNews: after != before)
    }

    /// Writes what is known of a conversation, with what follows.
    mutating func write(
        _ after: Registers<ConversationField>,
        over before: Registers<ConversationField>,
        at index: Int
    ) throws {
        let row = conversations[index].row
        let update = try connection.statement(
            """
            UPDATE lk_conversation SET version = ?2, registers = ?3, title = ?4, kind = ?5,
                muted = ?6, pinned = ?7, archived = ?8, marked_unread = ?9, parent = ?10,
                extra = ?11
            WHERE id = ?1
            """
        )
        try update.bind(1, row)
        try update.bind(2, after.version)
        try update.bind(3, text: after.exceptions)
        try after.bind(to: update, from: 4)
        try update.run()
        try conversationChanged(.fields(before: before, after: after), at: index)
    }

    mutating func apply(_ event: MemberEvent) throws -> EventOutcome {
        let index = try conversation(event.conversation)
        let row = conversations[index].row
        let before = try member(event.person, of: row)
        var after = before
        let writes = RegisterWrites<MemberField>(event)
        var outcome = after.write(writes)
        let subject = LoserSubject(
            conversation: conversations[index].id,
            person: event.person.bytes
        )
        try letAcceptedStand(&outcome, of: subject) { after.replace($0, by: $1, at: $2) }
        try putAside(outcome.losers, of: subject)
        if after != before { try write(after, of: event.person, in: row) }
        return outcome.event(isNews: after != before)
    }

    /// What is known of somebody's part in a conversation.
    func member(_ person: PersonID, of row: Int64) throws -> Registers<MemberField> {
        let select = try connection.statement(
            """
            SELECT version, registers, role, removed, extra FROM lk_member
            WHERE conversation = ?1 AND person = ?2
            """
        )
        try select.bind(1, row)
        try select.bind(2, text: person.bytes)
        guard try select.step() else { return Registers() }
        defer { select.reset() }
        return try Registers(
            reading: select,
            from: 2,
            version: select.int64(0),
            exceptions: select.optionalBytes(1)
        )
    }

    /// Writes what is known of somebody's part in a conversation.
    func write(
        _ registers: Registers<MemberField>,
        of person: PersonID,
        in row: Int64
    ) throws {
        let upsert = try connection.statement(
            """
            INSERT INTO lk_member (conversation, person, version, registers, role, removed, extra)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            ON CONFLICT (conversation, person) DO UPDATE SET version = excluded.version,
                registers = excluded.registers, role = excluded.role, removed = excluded.removed,
                extra = excluded.extra
            """
        )
        try upsert.bind(1, row)
        try upsert.bind(2, text: person.bytes)
        try upsert.bind(3, registers.version)
        try upsert.bind(4, text: registers.exceptions)
        try registers.bind(to: upsert, from: 5)
        try upsert.run()
    }

    /// Everything up to a place is gone (M-7). Its rows lose their content here, in one transaction:
    /// a clear that were half done would be seen.
    mutating func apply(_ event: ClearEvent) throws -> EventOutcome {
        let index = try conversation(event.conversation)
        if let present = conversations[index].clearSeq {
            guard event.sequence != present else { return .duplicate }
            guard event.sequence > present else { return .stale }
        }
        conversations[index].clearSeq = event.sequence
        while true {
            // Few at a time, because their texts are read.
            let reached = try table.reached(
                byClearUpTo: event.sequence,
                in: conversations[index].row,
                limit: Self.clearedRowCount
            )
            guard !reached.isEmpty else { break }
            for stored in reached { try put(stored.row, over: stored, at: index) }
        }
        // A message that was refused a place which the clear reaches may be shown by a push without one, now or
        // later.
        let refused = try quarantine.messages(
            in: conversations[index].id,
            placedUpTo: event.sequence
        )
        for message in refused { try leave(message, at: index) }
        try quarantine.forget(conversation: conversations[index].id, upTo: event.sequence)
        try conversationChanged(.cleared(upTo: event.sequence), at: index)
        return .updated
    }

    private static let clearedRowCount = 64

    /// Adds a range to those that are known to be complete. Ranges that meet or touch become one
    /// (M-13), so that what is stored does not depend on how they came.
    mutating func apply(_ event: HistoryEvent) throws -> EventOutcome {
        let index = try conversation(event.conversation)
        let row = conversations[index].row
        let select = try connection.statement(
            """
            SELECT id, from_seq, to_seq FROM lk_history
            WHERE conversation = ?1 AND from_seq <= ?3 + 1 AND to_seq >= ?2 - 1
            """
        )
        try select.bind(1, row)
        try select.bind(2, event.from)
        try select.bind(3, event.to)
        var (from, to) = (event.from, event.to)
        var joined: [Int64] = []
        while try select.step() {
            if select.int64(1) <= event.from, select.int64(2) >= event.to {
                select.reset()
                return .duplicate
            }
            joined.append(select.int64(0))
            from = min(from, select.int64(1))
            to = max(to, select.int64(2))
        }
        for id in joined {
            let delete = try connection.statement("DELETE FROM lk_history WHERE id = ?1")
            try delete.bind(1, id)
            try delete.run()
        }
        let insert = try connection.statement(
            "INSERT INTO lk_history (conversation, from_seq, to_seq) VALUES (?1, ?2, ?3)"
        )
        try insert.bind(1, row)
        try insert.bind(2, from)
        try insert.bind(3, to)
        try insert.run()
        return .updated
    }
}
