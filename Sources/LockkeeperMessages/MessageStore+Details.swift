import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite

extension MessageStore {
    /// How much is unread in all conversations that are not muted (M-9).
    public func unreadTotal() async throws -> UnreadTotal {
        let (ownID, wallClock) = (rules.ownID, wallClock)
        return try await session.database.readConnection { connection in
            let select = try connection.statement(
                """
                SELECT ifnull(sum(unread), 0), ifnull(sum(unread_mentions), 0),
                    count(*) FILTER (WHERE marked_unread AND ifnull(unread, 0) = 0),
                    count(*) FILTER (WHERE unread IS NULL)
                FROM lk_conversation
                WHERE NOT ifnull(muted, 0) AND (clear_seq IS NULL OR last_message IS NOT NULL)
                """
            )
            guard try select.step() else { preconditionFailure("a sum has one row") }
            defer { select.reset() }
            let expired = try connection.statement(
                """
                SELECT count(*), ifnull(sum(ifnull(m.mentions_me, 0)), 0)
                FROM lk_message m JOIN lk_conversation c ON c.id = m.conversation
                WHERE m.expires_at IS NOT NULL AND m.expires_at <= ?1 AND m.state = 1
                    AND m.place > c.read_seq AND NOT ifnull(c.muted, 0) AND ifnull(m.counts, 1)
                    AND ifnull(m.incoming, ifnull(m.sender <> ?2, 1))
                """
            )
            try expired.bind(1, wallClock.milliseconds())
            try expired.bind(2, text: ownID)
            guard try expired.step() else { preconditionFailure("a sum has one row") }
            defer { expired.reset() }
            return UnreadTotal(
                unread: Int(select.int64(0) - expired.int64(0)),
                mentions: Int(select.int64(1) - expired.int64(1)),
                markedCount: Int(select.int64(2)),
                unknownCount: Int(select.int64(3))
            )
        }
    }

    /// What people have put on a message and not taken off again, by person and slot; behind them those
    /// of the account's own that are on their way.
    public func reactions(
        to message: MessageID,
        in conversation: ConversationID
    ) async throws -> [Reaction] {
        let wallClock = wallClock
        return try await session.database.readConnection { connection in
            guard let row = try ConversationRow.find(conversation, in: connection) else {
                return []
            }
            let select = try connection.statement(
                """
                SELECT r.person, r.emoji, r.slot
                FROM lk_message m JOIN lk_reaction r ON r.message = m.id
                WHERE m.conversation = ?1 AND m.message_id = ?2 AND NOT r.removed
                    AND (m.expires_at IS NULL OR m.expires_at > ?3)
                ORDER BY r.person, r.slot
                """
            )
            try select.bind(1, row)
            try select.bind(2, text: message.bytes)
            try select.bind(3, wallClock.milliseconds())
            var reactions: [Reaction] = []
            while try select.step() {
                reactions.append(
                    Reaction(
                        reactor: PersonID(unchecked: select.bytes(0)),
                        emoji: select.string(1),
                        slot: ReactionSlot(unchecked: select.bytes(2))
                    )
                )
            }
            try Self.add(
                OutboxTable(connection: connection)
                    .changes(of: message.bytes, in: conversation.bytes),
                to: &reactions,
                on: connection
            )
            return reactions
        }
    }

    /// Adds reactions of the account's own that are on their way, oldest first. One that is parked is
    /// not: nobody tells the server of it.
    private static func add(
        _ rows: [OutboxTable.Row],
        to reactions: inout [Reaction],
        on connection: Connection
    ) throws {
        let table = OutboxTable(connection: connection)
        for row in rows where row.act == .reaction && row.state.phase != .parked {
            guard let content = try table.content(row.number),
                case .reaction(let event) = OutboxItem(row, content: content)?.event
            else { continue }
            let slot = ReactionSlot(unchecked: event.slotBytes)
            // An older one that is on its way is overtaken.
            reactions.removeAll {
                $0.pending == .putOn && $0.reactor == event.reactor && $0.slot == slot
            }
            for index in reactions.indices
            where reactions[index].reactor == event.reactor && reactions[index].slot == slot {
                reactions[index].pending = .takenOff
            }
            guard !event.isRemoved else { continue }
            reactions.append(
                Reaction(reactor: event.reactor, emoji: event.emoji, slot: slot, pending: .putOn)
            )
        }
    }

    /// Who is, and who was, in a conversation, by person.
    public func members(of conversation: ConversationID) async throws -> [Member] {
        try await session.database.readConnection { connection in
            guard let row = try ConversationRow.find(conversation, in: connection) else {
                return []
            }
            let select = try connection.statement(
                """
                SELECT person, role, removed FROM lk_member WHERE conversation = ?1 ORDER BY person
                """
            )
            try select.bind(1, row)
            var members: [Member] = []
            while try select.step() {
                members.append(
                    Member(
                        person: PersonID(unchecked: select.bytes(0)),
                        role: select.isNull(1) ? nil : select.string(1),
                        isRemoved: select.int64(2) != 0
                    )
                )
            }
            return members
        }
    }

    /// The ranges of places of which everything was given, ascending. What lies between two of them is
    /// a gap (M-13).
    public func history(of conversation: ConversationID) async throws -> [ClosedRange<Int64>] {
        try await session.database.readConnection { connection in
            guard let row = try ConversationRow.find(conversation, in: connection) else {
                return []
            }
            let select = try connection.statement(
                """
                SELECT from_seq, to_seq FROM lk_history WHERE conversation = ?1 ORDER BY from_seq
                """
            )
            try select.bind(1, row)
            var ranges: [ClosedRange<Int64>] = []
            while try select.step() {
                // A damaged row would have its ends the wrong way round.
                let (from, to) = (select.int64(0), select.int64(1))
                ranges.append(min(from, to)...max(from, to))
            }
            return ranges
        }
    }
}
