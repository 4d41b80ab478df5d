import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite

// Messages and what is said about one of them.
extension BatchMerge {
    mutating func apply(_ message: MessageEvent, _ event: Event) throws -> EventOutcome {
        let index = try conversation(message.conversation)
        let row = conversations[index].row
        // Above every seq that the conversation has seen, a place cannot be taken; below, the id is
        // looked up first, because most of what comes there is a redelivery. What was cleared lies
        // below as well.
        let mayBeTaken = message.sequence.map { $0 <= conversations[index].topSeq } ?? false
        if !mayBeTaken, let inserted = try table.insert(message, into: row) {
            try rowChanged(RowChange(inserted, of: index, inserted: message))
            return .inserted
        }
        let writes = RegisterWrites(message)
        if let stored = try table.find(message.id.bytes, in: row) {
            try reopen(stored.row, where: message, at: index)
            return try merge(writes, into: stored, event, at: index)
        }
        let isCleared = conversations[index].isCleared(message.sequence)
        if rules.seqIsUnique, let seq = message.sequence,
            try table.isTaken(seq, in: row, byOtherThan: message.id.bytes),
            try !yield(seq, to: writes, at: index)
        {
            guard isCleared else {
                return try refuseTakenSeq(
                    event,
                    conversation: index,
                    message: message.id.bytes,
                    seq: seq
                )
            }
            // A push of it without its place, which comes later, has no content either.
            try leave(message.id.bytes, at: index)
            return .stale
        }
        if isCleared {
            // Late history below a clear has no content; that its place is taken stays known (M-7).
            var gone = MessageRow(conversation: row, messageID: message.id.bytes)
            _ = gone.take(writes, keepsSenders: false)
            try put(gone, over: nil, at: index)
            return .updated
        }
        guard let inserted = try table.insert(message, into: row) else {
            preconditionFailure("a message that was not found could not be inserted")
        }
        try rowChanged(RowChange(inserted, of: index, inserted: message))
        return .inserted
    }

    mutating func apply(_ edit: EditEvent, _ event: Event) throws -> EventOutcome {
        let index = try conversation(edit.conversation)
        let stored = try table.find(edit.id.bytes, in: conversations[index].row)
        let mayWait = try judge(event, by: edit.editor, of: stored, edit.id, at: index)
        if let outcome = mayWait { return outcome }
        var writes = RegisterWrites(edit)
        writes.isGuess = versionIsGuess
        if let stored { return try merge(writes, into: stored, event, at: index) }
        guard try table.hasRoomForWaiting(rules.limits.waitingMessageCountMax) else {
            return try refuseWaiting(event, conversation: index, message: edit.id.bytes)
        }
        var row = MessageRow(conversation: conversations[index].row, messageID: edit.id.bytes)
        _ = row.take(writes, keepsSenders: false)
        try put(row, over: nil, at: index)
        return .updated
    }

    mutating func apply(_ recall: RecallEvent, _ event: Event) throws -> EventOutcome {
        let index = try conversation(recall.conversation)
        let stored = try table.find(recall.id.bytes, in: conversations[index].row)
        let mayWait = try judge(event, by: recall.recaller, of: stored, recall.id, at: index)
        if let outcome = mayWait { return outcome }
        let said = said(by: recall)
        // Under the contract *author* a recall is done and says nothing else: one that named the sender
        // would allow itself, and its place would be known or not by when it was judged.
        let writes =
            rules.authority.recallsNeedAuthor
            ? RegisterWrites(version: recall.version) : RegisterWrites(recall)
        // Where recalls are not judged, who else was said to be the sender matters no more.
        let keepsSenders = rules.authority.recallsNeedAuthor
        return try end(recall.id, stored, writes, event, at: index) {
            $0.recall(said, keepsSenders: keepsSenders)
        }
    }

    mutating func apply(_ delete: DeleteEvent, _ event: Event) throws -> EventOutcome {
        let index = try conversation(delete.conversation)
        let stored = try table.find(delete.id.bytes, in: conversations[index].row)
        return try end(delete.id, stored, RegisterWrites(delete), event, at: index) { $0.leave() }
    }

    /// Ends a message by a recall or a deletion, which is final whatever else it says (M-6, M-7).
    private mutating func end(
        _ id: MessageID,
        _ stored: MessageTable.Stored?,
        _ writes: RegisterWrites<MessageField>,
        _ event: Event,
        at index: Int,
        _ end: (inout MessageRow) -> Void
    ) throws -> EventOutcome {
        let conversation = conversations[index].row
        let before =
            stored?.row ?? MessageRow(conversation: conversation, messageID: id.bytes)
        var after = before
        end(&after)
        let bare = after
        var (outcome, wasCut) = after.take(writes, keepsSenders: false)
        var takenSeq: Int64?
        if rules.seqIsUnique, let seq = try seqTaken(by: after, before: before) {
            // It is done without its seq.
            takenSeq = seq
            after = bare
            (outcome, wasCut) = after.take(writes.without(.seq), keepsSenders: false)
        }
        let isNews = after != before || stored == nil
        if isNews { try put(after, over: stored, at: index) }
        if let takenSeq {
            return try refuseTakenSeq(event, conversation: index, message: id.bytes, seq: takenSeq)
        }
        if isNews { return .updated }
        return outcome.wasOlder || wasCut || isOvertaken(event, by: after) ? .stale : .duplicate
    }

    /// Whether a recall or deletion says less than what is stored.
    private func isOvertaken(_ event: Event, by row: MessageRow) -> Bool {
        guard case .recall(let recall) = event else { return false }
        return row.recall != said(by: recall)
    }

    /// What a row keeps of a recall. Under the contract *author* whoever recalled it is an author, and
    /// another author's recall is not judged any more: which of them was it must not matter.
    private func said(by recall: RecallEvent) -> MessageRow.Recall {
        rules.authority.recallsNeedAuthor
            ? MessageRow.Recall(version: 0, by: nil)
            : MessageRow.Recall(version: recall.version, by: recall.recaller?.bytes)
    }

    /// Merges fields into a message that is known.
    private mutating func merge(
        _ writes: RegisterWrites<MessageField>,
        into stored: MessageTable.Stored,
        _ event: Event,
        at index: Int
    ) throws -> EventOutcome {
        let before = stored.row
        var after = before
        let isJudged =
            before.recall == nil
            ? rules.authority.editsNeedAuthor : rules.authority.recallsNeedAuthor
        let namesSender = if case .message = event { isJudged } else { false }
        var (outcome, wasCut) = after.take(writes, keepsSenders: namesSender)
        let isCleared = conversations[index].isCleared(after.leastSeq)
        let isWithoutContent = before.isWithoutContent || isCleared
        if !isWithoutContent { try letAcceptedStand(&outcome, in: &after, at: index) }
        if rules.seqIsUnique, let seq = try seqTaken(by: after, before: before),
            try !yield(seq, to: writes, at: index)
        {
            if isCleared, !before.isGone {
                try leave(before.messageID, at: index)
                return .updated
            }
            return try refuseTakenSeq(
                isWithoutContent ? nil : event,
                conversation: index,
                message: before.messageID,
                seq: seq
            )
        }
        // Of a message without content nothing is put aside, because its end takes out what was put
        // aside before: otherwise the rows would depend on which came first (I-5).
        if !isWithoutContent { try putAside(outcome.losers, of: subject(after, at: index)) }
        let isNews = after != before
        if isNews { try put(after, over: stored, at: index) }
        if !outcome.losers.isEmpty, !isWithoutContent { return .quarantined }
        if isNews {
            // What waited for the sender may have recalled it meanwhile; shown it was all the same.
            return after.state == .shown && before.state != .shown && !isWithoutContent
                ? .inserted : .updated
        }
        if PlantedDefect.countDuplicates.isPlanted {
            conversations[index].count(unread: 1, mentions: 0)
        }
        // What a message without content no longer takes has been overtaken by its end.
        return outcome.wasOlder || wasCut ? .stale : .duplicate
    }

    /// A clear reaches a message, whose place below it is another's: it leaves, without it. One that is
    /// not known is noted, so that it does not come without a place.
    mutating func leave(_ message: [UInt8], at index: Int) throws {
        let conversation = conversations[index].row
        let stored = try table.find(message, in: conversation)
        var gone = stored?.row ?? MessageRow(conversation: conversation, messageID: message)
        guard !gone.isGone else { return }
        gone.leave()
        try put(gone, over: stored, at: index)
    }

    /// The seq that a message would take from another one.
    private func seqTaken(by after: MessageRow, before: MessageRow) throws -> Int64? {
        guard let seq = after.seq, seq != before.seq else { return nil }
        let isTaken = try table.isTaken(
            seq,
            in: after.conversation,
            byOtherThan: after.messageID
        )
        return isTaken ? seq : nil
    }
}
