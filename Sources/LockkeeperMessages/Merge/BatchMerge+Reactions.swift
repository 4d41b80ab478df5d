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
        let reactions = ReactionTable(connection: connection)
        let said = ReactionValue(reaction, isGuess: versionIsGuess)
        let present = try reactions.find(
            of: reaction.reactor.bytes,
            slot: reaction.slotBytes,
            on: message
        )
        if let present, said == present { return .duplicate }
        var stands = present.map { $0.isLess(than: said) ? said : $0 } ?? said
        if let present, present.contradicts(said) {
            // What a person has accepted stands, whichever is larger.
            var loser = stands == said ? present : said
            if try quarantine.isAccepted(.conflict, loser.line(of: reaction)) {
                swap(&stands, &loser)
            }
            try putAside(loser, behind: stands, of: reaction)
            if stands == present { return .quarantined }
        }
        guard stands != present else { return .stale }
        try reactions.write(stands, reaction, on: message)
        if let present, present.contradicts(said) { return .quarantined }
        return .updated
    }

    /// Puts a reaction that lost to another at its version aside (M-3).
    func putAside(
        _ loser: ReactionValue,
        behind stands: ReactionValue,
        of reaction: ReactionEvent
    ) throws {
        try quarantine.put(
            QuarantineTable.Item(
                reason: .conflict,
                explanation: "another reaction came at version \(loser.version)",
                conversation: reaction.conversation.bytes,
                message: reaction.id.bytes,
                content: loser.line(of: reaction),
                yieldsRoom: loser.saysTheSame(as: stands)
            )
        )
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
            SELECT version, removed, emoji, extra, guessed FROM lk_reaction
            WHERE message = ?1 AND person = ?2 AND slot = ?3
            """
        )
        try select.bind(1, message)
        try select.bind(2, text: person)
        try select.bind(3, text: slot)
        defer { select.reset() }
        return try select.step() ? ReactionValue(reading: select) : nil
    }

    /// Puts a value into the slot that an event names.
    func write(
        _ value: ReactionValue,
        _ event: ReactionEvent,
        on message: Int64
    ) throws(SQLiteError) {
        let upsert = try connection.statement(
            """
            INSERT INTO lk_reaction (message, person, slot, version, removed, emoji, extra, guessed)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            ON CONFLICT (message, person, slot) DO UPDATE SET version = excluded.version,
                removed = excluded.removed, emoji = excluded.emoji, extra = excluded.extra,
                guessed = excluded.guessed
            """
        )
        try upsert.bind(1, message)
        try upsert.bind(2, text: event.reactor.bytes)
        try upsert.bind(3, text: event.slotBytes)
        try upsert.bind(4, value.version)
        try upsert.bind(5, value.isRemoved ? 1 : 0)
        try upsert.bind(6, text: value.emoji)
        try upsert.bind(7, text: value.extra.isEmpty ? nil : value.extra)
        try upsert.bind(8, value.isGuess ? 1 : 0)
        try upsert.run()
    }
}

/// What stands in a slot. Any total order by version first would do; it only has to be the same
/// everywhere.
struct ReactionValue: Equatable {
    let version: Int64
    /// Whether nobody but the account itself has named the version: what the server says at the same one
    /// takes its place (M-4).
    let isGuess: Bool
    let isRemoved: Bool
    let emoji: [UInt8]
    let extra: [UInt8]

    init(_ event: ReactionEvent, isGuess: Bool = false) {
        version = event.version
        self.isGuess = isGuess
        isRemoved = event.isRemoved
        emoji = Array(event.emoji.utf8)
        extra = event.extra?.bytes ?? []
    }

    init(reading row: Statement) {
        version = row.int64(0)
        isRemoved = row.int64(1) != 0
        emoji = row.bytes(2)
        extra = row.optionalBytes(3) ?? []
        isGuess = row.int64(4) != 0
    }

    func isLess(than other: ReactionValue) -> Bool {
        if version != other.version { return version < other.version }
        if isGuess != other.isGuess { return isGuess }
        if isRemoved != other.isRemoved { return other.isRemoved }
        if emoji != other.emoji { return emoji.lexicographicallyPrecedes(other.emoji) }
        return extra.lexicographicallyPrecedes(other.extra)
    }

    /// Whether people see the same.
    func saysTheSame(as other: ReactionValue) -> Bool {
        isRemoved == other.isRemoved && emoji == other.emoji
    }

    /// Whether the server has said both at one version above 0 (M-3).
    func contradicts(_ other: ReactionValue) -> Bool {
        version == other.version && version > 0 && !isGuess && !other.isGuess
            && self != other
    }

    /// The reaction as an event line, in the slot that an event names.
    func line(of event: ReactionEvent) -> [UInt8] {
        EventEncoder.line(
            .reaction(
                ReactionEvent(
                    conversation: event.conversation,
                    id: event.id,
                    reactor: event.reactor,
                    emoji: String(decoding: emoji, as: UTF8.self),
                    slot: ReactionSlot(unchecked: event.slotBytes),
                    version: version,
                    removed: isRemoved,
                    extra: extra.isEmpty ? nil : ExtraFields(canonical: extra)
                )
            )
        )
    }
}
