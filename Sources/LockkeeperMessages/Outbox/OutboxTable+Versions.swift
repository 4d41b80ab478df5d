import LockkeeperDomain
import LockkeeperSQLite

// The version of an edit or a reaction is a suggestion of this store's: the server has told of newer ones
// while the item waited, and would take a smaller one for something that is overtaken.
extension OutboxTable {
    /// The act of an item as an event line, as it is handed out now: at a version above everything that
    /// the server has told of, unless that says the same already.
    ///
    /// - Returns: `nil` where the item has ended.
    func currentContent(of row: Row) throws -> [UInt8]? {
        guard let content = try content(row.number) else { return nil }
        var decoder = EventDecoder()
        guard row.act == .edit || row.act == .reaction,
            let event = try? decoder.decode(line: content), let newer = try renumbered(event)
        else { return content }
        let line = EventEncoder.line(newer)
        try write(content: line, to: row.number)
        return line
    }

    /// A change at the version behind the one that stands; `nil` where its own is larger, or what stands
    /// says the same.
    private func renumbered(_ event: Event) throws -> Event? {
        switch event {
        case .edit(var edit):
            guard let row = try message(edit.id, in: edit.conversation)?.row,
                row.version >= edit.version,
                row.registers.bytes(.body) != edit.body.map({ Array($0.utf8) })
            else { return nil }
            edit.version = row.version + 1
            return .edit(edit)
        case .reaction(var reaction):
            guard let stands = try standing(reaction), stands.version >= reaction.version,
                !stands.saysTheSame(as: ReactionValue(reaction))
            else { return nil }
            reaction.version = stands.version + 1
            return .reaction(reaction)
        default: return nil
        }
    }

    /// Why a change that the server has confirmed is not what people see; `nil` where it is, or where the
    /// message has no content any more.
    ///
    /// - Parameter isGuess: whether the answer left the version out.
    func overtaken(_ event: Event, isGuess: Bool) throws -> String? {
        func sentence(_ version: Int64, _ standing: Int64) -> String {
            isGuess
                ? "the server has it, the answer does not say at which version, and the server has told"
                    + " of another at version \(standing), which stands"
                : "the server has it at version \(version), and another at version \(standing) stands"
        }
        switch event {
        case .edit(let edit):
            guard let row = try message(edit.id, in: edit.conversation)?.row, row.state == .shown,
                row.registers.bytes(.body) != edit.body.map({ Array($0.utf8) })
            else { return nil }
            return sentence(edit.version, row.registers.version(of: .body))
        case .reaction(let reaction):
            guard let stands = try standing(reaction),
                !stands.saysTheSame(as: ReactionValue(reaction))
            else { return nil }
            return sentence(reaction.version, stands.version)
        default: return nil
        }
    }

    private func message(
        _ id: MessageID,
        in conversation: ConversationID
    ) throws -> MessageTable.Stored? {
        try ConversationRow.find(conversation, in: connection).flatMap {
            try MessageTable(connection: connection).find(id.bytes, in: $0)
        }
    }

    private func standing(_ reaction: ReactionEvent) throws -> ReactionValue? {
        try message(reaction.id, in: reaction.conversation).flatMap {
            try ReactionTable(connection: connection).find(
                of: reaction.reactor.bytes,
                slot: reaction.slotBytes,
                on: $0.id
            )
        }
    }
}
