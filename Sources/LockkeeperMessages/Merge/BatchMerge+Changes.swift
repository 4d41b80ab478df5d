import LockkeeperDomain
import LockkeeperSQLite

// What follows from a change: the two places on which everything that derives from messages hangs.
extension BatchMerge {
    /// A message's row was written: summary, unread, effects and what search must forget follow in the
    /// same transaction (I-3, I-16).
    ///
    /// Called once for every row that was inserted, updated or removed, after it was written.
    mutating func rowChanged(_ change: RowChange) throws {
        let index = change.conversation
        if let seq = change.after.mostSeq {
            conversations[index].topSeq = max(conversations[index].topSeq, seq)
        }
        followSummary(change)
        followUnread(change)
        try search.take(change)
        try effects.follow(change, in: conversations[index], ownID: rules.ownID)
    }

    /// A conversation's position, clear or fields changed.
    mutating func conversationChanged(_ change: ConversationChange, at index: Int) throws {
        switch change {
        case .read(let before, let seq):
            try effects.read(conversations[index].row, above: before ?? 0, upTo: seq)
        case .fields: effects.fieldsChanged(of: conversations[index].row)
        case .cleared(let seq):
            conversations[index].topSeq = max(conversations[index].topSeq, seq)
        }
    }

    /// Writes a message's row, new or over the one that was stored, with all that follows.
    ///
    /// A row that a clear reaches leaves here, whatever brought it below.
    ///
    /// - Returns: the row's number.
    @discardableResult
    mutating func put(
        _ row: MessageRow,
        over stored: MessageTable.Stored?,
        at index: Int
    ) throws -> Int64 {
        var row = row
        if !row.isGone, conversations[index].isCleared(row.leastSeq) { row.leave() }
        let id: Int64
        if let stored {
            id = stored.id
            try table.update(id, row)
        } else {
            guard let inserted = try table.insert(row) else {
                preconditionFailure("a message that was not found could not be inserted")
            }
            id = inserted
        }
        if row.isWithoutContent, !(stored?.row.isWithoutContent ?? false) {
            try forgetContent(of: id, row, at: index)
        }
        try rowChanged(RowChange(id, of: index, before: stored?.row, after: row))
        if let seq = row.mostSeq, seq != stored?.row.mostSeq {
            try resolvePositions(of: id, seq, at: index)
        }
        let before = stored?.row
        if rules.authority.editsNeedAuthor, !row.isWithoutContent,
            row.registers[.sender] != before?.registers[.sender]
                || row.otherSenders != before?.otherSenders
        {
            try judgeFacts(of: id, row, hadSender: before?.registers[.sender] != nil, at: index)
        }
        return id
    }

    /// Takes out what is kept about a message beside its row: it may hold its text.
    private func forgetContent(of id: Int64, _ row: MessageRow, at index: Int) throws {
        for statement: StaticString in [
            "DELETE FROM lk_reaction WHERE message = ?1", "DELETE FROM lk_fact WHERE message = ?1",
        ] {
            let delete = try connection.statement(statement)
            try delete.bind(1, id)
            try delete.run()
        }
        try quarantine.forget(conversation: conversations[index].id, message: row.messageID)
        try outbox.forgetContent(
            of: row.messageID,
            in: conversations[index].id,
            isRecalled: row.recall != nil
        )
    }

    private mutating func followSummary(_ change: RowChange) {
        let index = change.conversation
        let wasPlaced =
            change.before.map { $0.state == .shown || $0.state == .recalled } ?? false
        guard change.after.isPlaced || wasPlaced else { return }
        if conversations[index].summary?.message == change.id || !change.after.isPlaced {
            // The one that stands last may have moved or gone.
            if conversations[index].summary?.message == change.id {
                conversations[index].summaryIsStale = true
            }
            return
        }
        let candidate = MessageTable.Summary(
            message: change.id,
            place: change.after.place,
            serverAt: change.after.serverAt
        )
        guard let summary = conversations[index].summary else {
            conversations[index].setSummary(candidate, of: change.after)
            return
        }
        // An older message never takes over the summary.
        if candidate.place > summary.place {
            conversations[index].setSummary(candidate, of: change.after)
        } else if candidate.place == summary.place {
            // The id decides; it is looked up with the row.
            conversations[index].summaryIsStale = true
        }
    }

    private mutating func followUnread(_ change: RowChange) {
        let index = change.conversation
        guard let readSeq = conversations[index].readSeq else { return }
        var (unread, mentions): (Int64, Int64) = (0, 0)
        if change.after.place > readSeq, change.after.counts(ownID: rules.ownID) {
            unread += 1
            if change.after.mentionsMe { mentions += 1 }
        }
        if let before = change.before, before.place > readSeq, before.counts(ownID: rules.ownID) {
            unread -= 1
            if before.mentionsMe { mentions -= 1 }
        }
        if unread != 0 || mentions != 0 {
            conversations[index].count(unread: unread, mentions: mentions)
        }
    }
}
