import LockkeeperDomain
import LockkeeperSQLite

// Reactions (M-8): one register per (message, person, slot), whose value is the whole reaction.
extension BatchMerge {
    mutating func apply(_ reaction: ReactionEvent, _ event: Event) throws -> EventOutcome {
        let index = try conversation(reaction.conversation)
        let stored = try table.find(reaction.id.bytes, in: conversations[index].row)
        let message: Int64
        if let stored {
            if stored.row.isWithoutContent { return .stale }
            message = stored.id
        } else {
            guard try table.hasRoomForWaiting(rules.limits.waitingMessageCountMax) else {
                return try refuseWaiting(event, conversation: index, message: reaction.id.bytes)
            }
            message = try insertWaiting(reaction.id, at: index)
        }
        let present = try ReactionTable(connection: connection).find(
            of: reaction.reactor.bytes,
            slot: reaction.slotBytes,
            on: message
        )
        if let present {
            let said = ReactionValue(reaction)
            if said == present { return .duplicate }
            if said.isLess(than: present) { return .stale }
        }
        let upsert = try connection.statement(
            """
            INSERT INTO lk_reaction (message, person, slot, version, removed, emoji, extra)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            ON CONFLICT (message, person, slot) DO UPDATE SET version = excluded.version,
                removed = excluded.removed, emoji = excluded.emoji, extra = excluded.extra
            """
        )
        try upsert.bind(1, message)
        try upsert.bind(2, text: reaction.reactor.bytes)
        try upsert.bind(3, text: reaction.slotBytes)
        try upsert.bind(4, reaction.version)
        try upsert.bind(5, reaction.isRemoved ? 1 : 0)
        try upsert.bind(6, reaction.emoji)
        try upsert.bind(7, text: reaction.extra?.bytes)
        try upsert.run()
        return .updated
    }
}

/// The statements on `lk_reaction`.
struct ReactionTable {
    let connection: Connection

    /// What stands in a person's slot of a message.
    func find(
        of person: [UInt8],
        slot: [UInt8],
        on message: Int64
    ) throws(SQLiteError) -> ReactionValue? {
        let select = try connection.statement(
            """
            SELECT version, removed, emoji, extra FROM lk_reaction
            WHERE message = ?1 AND person = ?2 AND slot = ?3
            """
        )
        try select.bind(1, message)
        try select.bind(2, text: person)
        try select.bind(3, text: slot)
        defer { select.reset() }
        return try select.step() ? ReactionValue(reading: select) : nil
    }
}

/// What stands in a slot. Any total order by version first would do; it only has to be the same
/// everywhere.
struct ReactionValue: Equatable {
    let version: Int64
    let isRemoved: Bool
    let emoji: [UInt8]
    let extra: [UInt8]

    init(_ event: ReactionEvent) {
        version = event.version
        isRemoved = event.isRemoved
        emoji = Array(event.emoji.utf8)
        extra = event.extra?.bytes ?? []
    }

    init(reading row: Statement) {
        version = row.int64(0)
        isRemoved = row.int64(1) != 0
        emoji = row.bytes(2)
        extra = row.optionalBytes(3) ?? []
    }

    func isLess(than other: ReactionValue) -> Bool {
        if version != other.version { return version < other.version }
        if isRemoved != other.isRemoved { return other.isRemoved }
        if emoji != other.emoji { return emoji.lexicographicallyPrecedes(other.emoji) }
        return extra.lexicographicallyPrecedes(other.extra)
    }
}
