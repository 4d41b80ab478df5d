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

    /// The largest version that an answer may name: a change behind it needs a larger one. Half of all
    /// that there are, which leaves room for servers that count in microseconds.
    private static let answeredVersionMax = JSONScanner.integerMax / 2

    /// Why the answer to an attempt at something that is no message cannot be true; `nil` where it may.
    func contradiction(
        of item: OutboxItem,
        as id: MessageID?,
        sequence: Int64?,
        version: Int64?
    ) throws -> String? {
        if let id, let message = item.message, id != message {
            return "the answer names the id \(id), and it is about \(message)"
        }
        if let version, version > Self.answeredVersionMax {
            return
                "the answer names version \(version), behind which there is no room for a later one"
        }
        guard let sequence else { return nil }
        if let message = item.message {
            let row = try self.message(message, in: item.conversation)?.row
            // What a confirmation said of the place may be wrong, and is not held against another answer.
            guard let row, let place = row.seq, row.registers.version(of: .seq) > 0,
                place != sequence
            else { return nil }
            return "the answer names the place \(sequence), and \(message) is at \(place)"
        }
        let wanted: Int64? =
            switch item.event {
            case .read(let read): read.sequence
            case .clear(let clear): clear.sequence
            default: nil
            }
        guard let wanted, sequence < wanted else { return nil }
        return "the answer names the place \(sequence), and it goes up to \(wanted)"
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
