import Lockkeeper
import LockkeeperDomain
import LockkeeperSQLite

// What a person makes of what was put aside. What was accepted is remembered by its digest, so that no
// order and no repetition of what the server says undoes it: between two values at one version the one
// that was accepted stands, whichever is larger.
extension BatchMerge {
    /// Merges an item again.
    mutating func retry(_ item: QuarantineTable.Kept) throws -> EventOutcome {
        guard item.reason != .conflict else { throw LockkeeperError.notRetriable(item.number) }
        return try apply(try event(of: item))
    }

    /// Merges an item against the rules.
    mutating func accept(_ item: QuarantineTable.Kept) throws -> EventOutcome {
        switch item.reason {
        case .conflict: return try acceptLoser(item)
        case .seqTaken: rules.seqIsUnique = false
        case .unauthorised: return try acceptUnauthorised(item)
        case .tooManyWaitingMessages: rules.limits.waitingMessageCountMax = .max
        case .tooManyWaitingPages, .unreadable, .later, .pageContradicts:
            throw LockkeeperError.notAcceptable(item.number, item.reason.sentence)
        }
        return try apply(try event(of: item))
    }

    /// Lets an edit or a recall of somebody else count. Its message has to be there: what nobody has sent
    /// yet has no author whose place a person could take.
    private mutating func acceptUnauthorised(
        _ item: QuarantineTable.Kept
    ) throws -> EventOutcome {
        let event = try event(of: item)
        guard let subject = item.conversation, let message = item.message else {
            throw LockkeeperError.notAcceptable(item.number, item.reason.sentence)
        }
        let index = try conversation(ConversationID(unchecked: subject))
        let stored = try table.find(message, in: conversations[index].row)
        guard let stored, stored.row.registers[.sender] != nil else {
            throw LockkeeperError.notAcceptableYet(item.number)
        }
        try quarantine.remember(item)
        return try apply(event)
    }

    private func event(of item: QuarantineTable.Kept) throws -> Event {
        var decoder = EventDecoder(limits: rules.limits)
        guard let event = try? decoder.decode(line: item.content) else {
            throw LockkeeperError.notAcceptable(item.number, "it is no event")
        }
        return event
    }

    // MARK: - Values that lost

    /// Among the losers of a conflict, puts those that a person has accepted back in the place of what
    /// came against them.
    func letAcceptedStand<Field: RegisterField>(
        _ outcome: inout Registers<Field>.Outcome,
        of subject: LoserSubject,
        replace: (Field, FieldValue, Int64) -> FieldValue?
    ) throws {
        guard !outcome.losers.isEmpty else { return }
        for index in outcome.losers.indices {
            let loser = outcome.losers[index]
            guard try quarantine.isAccepted(.conflict, subject.key(of: loser)),
                let other = replace(loser.field, loser.value, loser.version)
            else { continue }
            outcome.losers[index] = Registers.Loser(
                field: loser.field,
                version: loser.version,
                value: other
            )
        }
    }

    /// The same in a message's row.
    func letAcceptedStand(
        _ outcome: inout Registers<MessageField>.Outcome,
        in row: inout MessageRow,
        at index: Int
    ) throws {
        try letAcceptedStand(&outcome, of: subject(row, at: index)) {
            row.replace($0, by: $1, at: $2)
        }
    }

    /// What the losers of a message are put aside about.
    func subject(_ row: MessageRow, at index: Int) -> LoserSubject {
        LoserSubject(conversation: conversations[index].id, message: row.messageID)
    }

    /// Puts a value that lost a conflict where the other one stands, which is put aside for it.
    private mutating func acceptLoser(_ item: QuarantineTable.Kept) throws -> EventOutcome {
        guard let lost = Lost(item.content, limits: rules.limits) else {
            throw LockkeeperError.notAcceptable(item.number, "it cannot be read")
        }
        let index = try conversation(lost.conversation)
        switch lost.value {
        case .message(let id, let loser): return try accept(item, loser, of: id, at: index)
        case .reaction(let reaction): return try accept(item, reaction, at: index)
        case .conversation(let loser):
            let before = try ConversationState.fields(
                of: conversations[index].row,
                in: connection
            )
            var after = before
            let stood = after.replace(loser.field, by: loser.value, at: loser.version)
            let subject = LoserSubject(conversation: conversations[index].id)
            guard try settle(item, loser, stood, of: subject) else { return .stale }
            try write(after, over: before, at: index)
        case .member(let person, let loser):
            let row = conversations[index].row
            var after = try member(person, of: row)
            let stood = after.replace(loser.field, by: loser.value, at: loser.version)
            let subject = LoserSubject(
                conversation: conversations[index].id,
                person: person.bytes
            )
            guard try settle(item, loser, stood, of: subject) else { return .stale }
            try write(after, of: person, in: row)
        }
        return .updated
    }

    private mutating func accept(
        _ item: QuarantineTable.Kept,
        _ loser: Registers<MessageField>.Loser,
        of id: MessageID,
        at index: Int
    ) throws -> EventOutcome {
        guard let stored = try table.find(id.bytes, in: conversations[index].row),
            !stored.row.isWithoutContent
        else { return .stale }
        var row = stored.row
        let stood = row.replace(loser.field, by: loser.value, at: loser.version)
        guard try settle(item, loser, stood, of: subject(row, at: index)) else { return .stale }
        try put(row, over: stored, at: index)
        return .updated
    }

    private mutating func accept(
        _ item: QuarantineTable.Kept,
        _ reaction: ReactionEvent,
        at index: Int
    ) throws -> EventOutcome {
        let reactions = ReactionTable(connection: connection)
        guard let stored = try table.find(reaction.id.bytes, in: conversations[index].row),
            let stood = try reactions.find(
                of: reaction.reactor.bytes,
                slot: reaction.slotBytes,
                on: stored.id
            ), stood.contradicts(ReactionValue(reaction))
        else { return .stale }
        try quarantine.remember(item)
        try quarantine.forgetAccepted(.conflict, stood.line(of: reaction))
        try putAside(stood, behind: ReactionValue(reaction), of: reaction)
        try reactions.write(ReactionValue(reaction), reaction, on: stored.id)
        return .updated
    }

    /// Remembers that a loser was accepted, and puts aside what stood in its place.
    ///
    /// - Parameter stood: `nil` where another version stands by now.
    /// - Returns: whether it stands now.
    private func settle<Field: RegisterField>(
        _ item: QuarantineTable.Kept,
        _ loser: Registers<Field>.Loser,
        _ stood: FieldValue?,
        of subject: LoserSubject
    ) throws -> Bool {
        guard let stood else { return false }
        try quarantine.remember(item, as: subject.key(of: loser))
        let other = Registers.Loser(field: loser.field, version: loser.version, value: stood)
        try quarantine.forgetAccepted(.conflict, subject.key(of: other))
        try putAside([other], of: subject)
        return true
    }
}
