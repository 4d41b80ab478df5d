import LockkeeperDomain
import LockkeeperSQLite

// Positions (M-9): they only grow, and receiving messages never moves them.
extension BatchMerge {
    mutating func apply(_ read: ReadEvent, _ event: Event) throws -> EventOutcome {
        let index = try conversation(read.conversation)
        let person = read.reader?.bytes ?? rules.ownID ?? []
        switch read.target {
        case .sequence(let seq): return try move(person, read.kind, to: seq, at: index)
        case .message(let id):
            return try move(person, read.kind, to: id, event, at: index)
        }
    }

    /// Moves a position to where a message stands, now and whenever an event gives it a larger seq.
    private mutating func move(
        _ person: [UInt8],
        _ kind: ReadEvent.Kind,
        to id: MessageID,
        _ event: Event,
        at index: Int
    ) throws -> EventOutcome {
        let positions = PositionTable(connection: connection)
        let conversation = conversations[index].row
        let stored = try table.find(id.bytes, in: conversation)
        let seq = stored?.row.mostSeq
        if seq == nil {
            let hasRoom =
                try (stored != nil || table.hasRoomForWaiting(rules.limits.waitingMessageCountMax))
                && positions.waitingCount(person, kind, in: conversation)
                    < rules.limits.waitingPositionCountMax
            guard hasRoom else {
                return try refuseWaiting(event, conversation: index, message: id.bytes)
            }
        }
        let message = try stored?.id ?? insertWaiting(id, at: index)
        let isNew = try positions.put(person, kind, message: message, in: conversation)
        guard let seq else { return isNew ? .updated : .duplicate }
        try positions.forget(
            person,
            kind,
            beyond: rules.limits.positionMessageCountMax,
            in: conversation
        )
        return try move(person, kind, to: seq, at: index)
    }

    /// A message was given a larger seq: the positions that name it follow.
    mutating func resolvePositions(of message: Int64, _ seq: Int64, at index: Int) throws {
        let positions = PositionTable(connection: connection)
        for (person, kind) in try positions.naming(message) {
            _ = try move(person, kind, to: seq, at: index)
            try positions.forget(
                person,
                kind,
                beyond: rules.limits.positionMessageCountMax,
                in: conversations[index].row
            )
        }
    }

    private mutating func move(
        _ person: [UInt8],
        _ kind: ReadEvent.Kind,
        to seq: Int64,
        at index: Int
    ) throws -> EventOutcome {
        guard kind == .read, person == rules.ownID ?? [] else {
            return try PositionTable(connection: connection).move(
                person,
                kind,
                to: seq,
                in: conversations[index].row
            )
        }
        let state = conversations[index]
        if let present = state.readSeq {
            guard seq != present else { return .duplicate }
            guard seq > present else { return .stale }
            let passed = try table.countUnread(
                in: state.row,
                above: present,
                upTo: seq,
                ownID: rules.ownID
            )
            conversations[index].readSeq = seq
            conversations[index].count(unread: -passed.unread, mentions: -passed.mentions)
        } else {
            let above = try table.countUnread(
                in: state.row,
                above: seq,
                upTo: MessageRow.lastPlace,
                ownID: rules.ownID
            )
            conversations[index].readSeq = seq
            conversations[index].unread = above.unread
            conversations[index].unreadMentions = above.mentions
        }
        try conversationChanged(.read(from: state.readSeq, to: seq), at: index)
        return .updated
    }
}

/// The statements on `lk_position` and `lk_position_message`.
struct PositionTable {
    let connection: Connection

    /// Moves the position of somebody else, or one that is not of reading, forward.
    func move(
        _ person: [UInt8],
        _ kind: ReadEvent.Kind,
        to seq: Int64,
        in conversation: Int64
    ) throws(SQLiteError) -> EventOutcome {
        let select = try connection.statement(
            """
            SELECT seq FROM lk_position WHERE conversation = ?1 AND person = ?2 AND kind = ?3
            """
        )
        try select.bind(1, conversation)
        try select.bind(2, text: person)
        try select.bind(3, kind.rawValue)
        if try select.step() {
            let present = select.int64(0)
            select.reset()
            guard seq != present else { return .duplicate }
            guard seq > present else { return .stale }
        }
        let upsert = try connection.statement(
            """
            INSERT INTO lk_position (conversation, person, kind, seq) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (conversation, person, kind) DO UPDATE SET seq = excluded.seq
            """
        )
        try upsert.bind(1, conversation)
        try upsert.bind(2, text: person)
        try upsert.bind(3, kind.rawValue)
        try upsert.bind(4, seq)
        try upsert.run()
        return .updated
    }

    /// Keeps a position that names a message. Returns whether it is new.
    func put(
        _ person: [UInt8],
        _ kind: ReadEvent.Kind,
        message: Int64,
        in conversation: Int64
    ) throws(SQLiteError) -> Bool {
        let insert = try connection.statement(
            """
            INSERT INTO lk_position_message (conversation, message, person, kind)
            VALUES (?1, ?2, ?3, ?4) ON CONFLICT (message, person, kind) DO NOTHING
            """
        )
        try insert.bind(1, conversation)
        try insert.bind(2, message)
        try insert.bind(3, text: person)
        try insert.bind(4, kind.rawValue)
        try insert.run()
        return connection.changes > 0
    }

    /// Whose positions name a message.
    func naming(
        _ message: Int64
    ) throws(SQLiteError) -> [(person: [UInt8], kind: ReadEvent.Kind)] {
        let select = try connection.statement(
            "SELECT person, kind FROM lk_position_message WHERE message = ?1"
        )
        try select.bind(1, message)
        var found: [(person: [UInt8], kind: ReadEvent.Kind)] = []
        while try select.step() {
            guard let kind = ReadEvent.Kind(rawValue: select.string(1)) else { continue }
            found.append((select.bytes(0), kind))
        }
        return found
    }

    /// How many of somebody's positions name a message whose seq is not known.
    func waitingCount(
        _ person: [UInt8],
        _ kind: ReadEvent.Kind,
        in conversation: Int64
    ) throws(SQLiteError) -> Int {
        let select = try connection.statement(
            """
            SELECT count(*) FROM lk_position_message p JOIN lk_message m ON m.id = p.message
            WHERE p.conversation = ?1 AND p.person = ?2 AND p.kind = ?3 AND m.seq IS NULL
            """
        )
        try select.bind(1, conversation)
        try select.bind(2, text: person)
        try select.bind(3, kind.rawValue)
        defer { select.reset() }
        return try select.step() ? Int(select.int64(0)) : 0
    }

    /// Keeps only the largest of somebody's positions that name a message whose seq is known.
    func forget(
        _ person: [UInt8],
        _ kind: ReadEvent.Kind,
        beyond countMax: Int,
        in conversation: Int64
    ) throws(SQLiteError) {
        let delete = try connection.statement(
            """
            DELETE FROM lk_position_message WHERE id IN (
                SELECT p.id FROM lk_position_message p JOIN lk_message m ON m.id = p.message
                WHERE p.conversation = ?1 AND p.person = ?2 AND p.kind = ?3 AND m.seq IS NOT NULL
                ORDER BY ifnull(m.most_seq, m.seq) DESC, m.message_id DESC LIMIT -1 OFFSET ?4)
            """
        )
        try delete.bind(1, conversation)
        try delete.bind(2, text: person)
        try delete.bind(3, kind.rawValue)
        try delete.bind(4, countMax)
        try delete.run()
    }
}
