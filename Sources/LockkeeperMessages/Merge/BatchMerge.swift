import LockkeeperDomain
import LockkeeperSQLite

/// Merges a batch of events inside one transaction (section 6 of the design).
///
/// Each event is looked at once and gets one outcome. What events share, the conversations' rows and
/// the streams' cursors, is gathered and written at the end, in ``finish()``.
struct BatchMerge {
    private let connection: Connection
    private let rules: MergeRules
    private let table: MessageTable
    private let edges: CursorEdges
    private let quarantine: QuarantineTable
    private var conversations: [ConversationState] = []
    private var conversationIndex: [[UInt8]: Int] = [:]
    private var latest: Int?
    private var waitingPages: [SyncPage] = []
    private var result = BatchResult()

    /// A merge into the transaction that is open on a connection.
    ///
    /// - Parameter now: milliseconds since 1970, for quarantine's dates.
    init(connection: Connection, rules: MergeRules, now: Int64) {
        self.connection = connection
        self.rules = rules
        table = MessageTable(connection: connection)
        edges = CursorEdges(connection: connection, edgeCountMax: rules.limits.edgeCountMax)
        quarantine = QuarantineTable(connection: connection, now: now)
    }

    /// Merges one event.
    mutating func take(_ event: Event) throws { result.outcomes.count(try apply(event)) }

    /// Merges one item.
    mutating func take(_ item: IngestItem) throws {
        switch item {
        case .event(let event): try take(event)
        case .unreadable(let line):
            try quarantine.put(line.quarantined)
            result.outcomes.count(.quarantined)
        }
    }

    /// Writes what the events share. The batch is complete afterwards.
    mutating func finish() throws -> BatchResult {
        for index in conversations.indices { try conversations[index].write(to: table) }
        for stream in result.streams {
            // A stream without a cursor is in the list as well, so the value is set as an optional:
            // assigning nil would leave the stream out.
            let cursor = try edges.cursor(of: stream.bytes).map(Cursor.init(unchecked:))
            result.cursors.updateValue(cursor, forKey: stream)
        }
        // A page for which the batch itself brought the missing one waits no more.
        for page in waitingPages where try edges.waits(page) {
            result.gaps.append(
                PageGap(
                    stream: page.stream,
                    expected: result.cursors[page.stream] ?? nil,
                    found: page.after
                )
            )
        }
        result.topics = conversations.map { $0.id }
        return result
    }

    private mutating func apply(_ event: Event) throws -> EventOutcome {
        switch event {
        case .message(let message): try apply(message, event)
        case .edit(let edit): try apply(edit, event)
        case .recall(let recall): try apply(recall, event)
        case .read(let read): try apply(read)
        case .page(let page): try apply(page, event)
        case .later(let later): try putAside(later)
        }
    }

    private func putAside(_ later: LaterEvent) throws -> EventOutcome {
        let isNew = try quarantine.put(
            QuarantineTable.Item(
                reason: .later,
                explanation: "events of type \(later.type) are merged later",
                content: later.line
            )
        )
        return isNew ? .quarantined : .duplicate
    }

    /// The index of a conversation, which is found or made where the batch names it first.
    private mutating func conversation(_ id: ConversationID) throws -> Int {
        if let latest, conversations[latest].id == id.bytes { return latest }
        if let index = conversationIndex[id.bytes] {
            latest = index
            return index
        }
        conversations.append(try ConversationState(id.bytes, in: connection))
        let index = conversations.count - 1
        conversationIndex[id.bytes] = index
        latest = index
        return index
    }
}

// MARK: - Messages

extension BatchMerge {
    private mutating func apply(_ message: MessageEvent, _ event: Event) throws -> EventOutcome {
        let index = try conversation(message.conversation)
        let row = conversations[index].row
        // Above every seq that the conversation has seen, a place cannot be taken; below, the id is
        // looked up first, because most of what comes there is a redelivery.
        let mayBeTaken = message.sequence.map { $0 <= conversations[index].topSeq } ?? false
        if !mayBeTaken, let inserted = try table.insert(message, into: row) {
            noteInsert(inserted, message, at: index)
            return .inserted
        }
        let writes = RegisterWrites(message)
        if let stored = try table.find(message.id.bytes, in: row) {
            return try merge(writes, into: stored, event, at: index)
        }
        if rules.seqIsUnique, let seq = message.sequence,
            try table.isTaken(seq, in: row, byOtherThan: message.id.bytes)
        {
            return try refuseTakenSeq(event, conversation: index, message: message.id.bytes)
        }
        guard let inserted = try table.insert(message, into: row) else {
            preconditionFailure("a message that was not found could not be inserted")
        }
        noteInsert(inserted, message, at: index)
        return .inserted
    }

    private mutating func apply(_ edit: EditEvent, _ event: Event) throws -> EventOutcome {
        let index = try conversation(edit.conversation)
        let writes = RegisterWrites(edit)
        if let stored = try table.find(edit.id.bytes, in: conversations[index].row) {
            return try merge(writes, into: stored, event, at: index)
        }
        guard try table.hasRoomForWaiting(rules.limits.waitingMessageCountMax) else {
            return try refuseWaiting(event, conversation: index, message: edit.id.bytes)
        }
        var row = MessageRow(conversation: conversations[index].row, messageID: edit.id.bytes)
        _ = row.registers.write(writes)
        _ = try table.insert(row)
        return .updated
    }

    private mutating func apply(_ recall: RecallEvent, _ event: Event) throws -> EventOutcome {
        let index = try conversation(recall.conversation)
        let conversation = conversations[index].row
        let stored = try table.find(recall.id.bytes, in: conversation)
        let before =
            stored?.row
            ?? MessageRow(
                conversation: conversation,
                messageID: recall.id.bytes
            )
        var after = before
        let said = MessageRow.Recall(version: recall.version, by: recall.recaller?.bytes)
        after.recall = before.recall.map { $0.isLess(than: said) ? said : $0 } ?? said
        after.registers.removeContent()
        let bare = after
        var outcome = after.registers.write(RegisterWrites(recall))
        var seqIsTaken = false
        if rules.seqIsUnique, try self.seqIsTaken(by: after, before: before) {
            // A recall is final whatever else it says (M-6): it is done without its seq.
            seqIsTaken = true
            after = bare
            outcome = after.registers.write(RegisterWrites(recall).without(.seq))
        }
        let isNews = after.recall != before.recall || outcome.changed
        if isNews {
            if let stored {
                try table.update(stored.id, after)
                noteUpdate(stored.id, from: before, to: after, at: index)
            } else if let id = try table.insert(after) {
                noteUpdate(id, from: nil, to: after, at: index)
            }
        }
        // What was put aside about the message may hold its text.
        if before.recall == nil {
            try quarantine.forget(
                conversation: conversations[index].id,
                message: recall.id.bytes
            )
        }
        if seqIsTaken {
            return try refuseTakenSeq(event, conversation: index, message: recall.id.bytes)
        }
        return isNews ? .updated : outcome.wasOlder || before.recall != said ? .stale : .duplicate
    }

    /// Merges fields into a message that is known.
    private mutating func merge(
        _ writes: RegisterWrites,
        into stored: MessageTable.Stored,
        _ event: Event,
        at index: Int
    ) throws -> EventOutcome {
        let before = stored.row
        var after = before
        let isRecalled = before.recall != nil
        let kept = isRecalled ? writes.keptAfterRecall : writes
        let outcome = after.registers.write(kept)
        if rules.seqIsUnique, try seqIsTaken(by: after, before: before) {
            return try refuseTakenSeq(
                isRecalled ? nil : event,
                conversation: index,
                message: before.messageID
            )
        }
        // Of a recalled message nothing is put aside, because its recall takes out what was put
        // aside before: otherwise the rows would depend on which came first (I-5).
        if !isRecalled { try putAside(outcome.losers, of: after, conversation: index) }
        if outcome.changed {
            try table.update(stored.id, after)
            noteUpdate(stored.id, from: before, to: after, at: index)
        }
        if outcome.lostItself, !isRecalled { return .quarantined }
        if outcome.changed {
            return after.state == .shown && before.state != .shown ? .inserted : .updated
        }
        // What a recalled message no longer takes has been overtaken by the recall.
        let wasCut = kept.fields.count < writes.fields.count
        return outcome.wasOlder || wasCut ? .stale : .duplicate
    }

    private func seqIsTaken(by after: MessageRow, before: MessageRow) throws -> Bool {
        guard let seq = after.seq, seq != before.seq else { return false }
        return try table.isTaken(
            seq,
            in: after.conversation,
            byOtherThan: after.messageID
        )
    }
}

// MARK: - What the messages' conversations show

extension BatchMerge {
    private mutating func noteInsert(_ id: Int64, _ message: MessageEvent, at index: Int) {
        let place = message.sequence ?? MessageRow.lastPlace
        if let seq = message.sequence {
            conversations[index].topSeq = max(conversations[index].topSeq, seq)
        }
        noteSummary(
            MessageTable.Summary(
                message: id,
                place: place,
                serverAt: (message.serverAt ?? message.sentAt).millisecondsSince1970
            ),
            at: index
        )
        guard let readSeq = conversations[index].readSeq, place > readSeq,
            message.counts ?? true, isIncoming(message)
        else { return }
        conversations[index].count(unread: 1, mentions: message.mentionsMe ?? false ? 1 : 0)
    }

    private func isIncoming(_ message: MessageEvent) -> Bool {
        message.isIncoming ?? (rules.ownID.map { $0 != message.sender.bytes } ?? true)
    }

    private mutating func noteUpdate(
        _ id: Int64,
        from before: MessageRow?,
        to after: MessageRow,
        at index: Int
    ) {
        if let seq = after.seq {
            conversations[index].topSeq = max(conversations[index].topSeq, seq)
        }
        if after.isPlaced || before?.isPlaced ?? false {
            let isSummary = conversations[index].summary?.message == id
            if isSummary {
                conversations[index].summaryIsStale = true
            } else {
                noteSummary(
                    MessageTable.Summary(
                        message: id,
                        place: after.place,
                        serverAt: after.serverAt
                    ),
                    at: index
                )
            }
        }
        guard let readSeq = conversations[index].readSeq else { return }
        let did = before.map { unread($0, above: readSeq) } ?? (0, 0)
        let does = unread(after, above: readSeq)
        conversations[index].count(unread: does.0 - did.0, mentions: does.1 - did.1)
    }

    private func unread(_ row: MessageRow, above readSeq: Int64) -> (Int64, Int64) {
        guard row.place > readSeq, row.counts(ownID: rules.ownID) else { return (0, 0) }
        return (1, row.mentionsMe ? 1 : 0)
    }

    /// An older message never takes over the summary.
    private mutating func noteSummary(_ candidate: MessageTable.Summary, at index: Int) {
        guard let summary = conversations[index].summary else {
            conversations[index].summary = candidate
            return
        }
        if candidate.place > summary.place {
            conversations[index].summary = candidate
        } else if candidate.place == summary.place, candidate.message != summary.message {
            // The id decides; it is looked up with the row.
            conversations[index].summaryIsStale = true
        }
    }
}

// MARK: - Read positions and pages

extension BatchMerge {
    private mutating func apply(_ read: ReadEvent) throws -> EventOutcome {
        let index = try conversation(read.conversation)
        let isMine = read.reader == nil || read.reader?.bytes == rules.ownID
        guard isMine, read.kind == .read else {
            return try moveOthersPosition(read, conversation: conversations[index].row)
        }
        let state = conversations[index]
        if let present = state.readSeq {
            guard read.sequence != present else { return .duplicate }
            guard read.sequence > present else { return .stale }
            let passed = try table.countUnread(
                in: state.row,
                above: present,
                upTo: read.sequence,
                ownID: rules.ownID
            )
            conversations[index].count(unread: -passed.unread, mentions: -passed.mentions)
        } else {
            let above = try table.countUnread(
                in: state.row,
                above: read.sequence,
                upTo: MessageRow.lastPlace,
                ownID: rules.ownID
            )
            conversations[index].unread = above.unread
            conversations[index].unreadMentions = above.mentions
        }
        conversations[index].readSeq = read.sequence
        return .updated
    }

    private func moveOthersPosition(
        _ read: ReadEvent,
        conversation: Int64
    ) throws -> EventOutcome {
        let person = read.reader?.bytes ?? rules.ownID ?? []
        let select = try connection.statement(
            """
            SELECT seq FROM lk_position WHERE conversation = ?1 AND person = ?2 AND kind = ?3
            """
        )
        try select.bind(1, conversation)
        try select.bind(2, text: person)
        try select.bind(3, read.kind.rawValue)
        if try select.step() {
            let present = select.int64(0)
            select.reset()
            guard read.sequence != present else { return .duplicate }
            guard read.sequence > present else { return .stale }
        }
        let upsert = try connection.statement(
            """
            INSERT INTO lk_position (conversation, person, kind, seq) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (conversation, person, kind) DO UPDATE SET seq = excluded.seq
            """
        )
        try upsert.bind(1, conversation)
        try upsert.bind(2, text: person)
        try upsert.bind(3, read.kind.rawValue)
        try upsert.bind(4, read.sequence)
        try upsert.run()
        return .updated
    }

    private mutating func apply(_ page: SyncPage, _ event: Event) throws -> EventOutcome {
        result.streams.insert(page.stream)
        switch try edges.add(page) {
        case .moved(let contradictions):
            for contradiction in contradictions {
                try putAside(.page(contradiction), .pageContradicts)
            }
            return .updated
        case .waits(let isNew):
            waitingPages.append(page)
            return isNew ? .updated : .duplicate
        case .known: return .duplicate
        case .contradicts:
            try putAside(event, .pageContradicts)
            return .quarantined
        case .hasNoRoom:
            try putAside(event, .tooManyWaitingPages)
            return .quarantined
        }
    }
}

// MARK: - What cannot be merged

extension BatchMerge {
    private func putAside(
        _ event: Event,
        _ reason: QuarantineTable.Reason,
        conversation: [UInt8]? = nil,
        message: [UInt8]? = nil
    ) throws {
        try quarantine.put(
            QuarantineTable.Item(
                reason: reason,
                explanation: reason.sentence,
                conversation: conversation,
                message: message,
                content: EventEncoder.line(event)
            )
        )
    }

    private func refuseWaiting(
        _ event: Event,
        conversation index: Int,
        message: [UInt8]
    ) throws -> EventOutcome {
        try putAside(
            event,
            .tooManyWaitingMessages,
            conversation: conversations[index].id,
            message: message
        )
        return .quarantined
    }

    /// Another message holds the seq: the event is put aside whole. Of a recalled message nothing
    /// is kept (`nil`), because it might be text; the recall has overtaken it.
    private func refuseTakenSeq(
        _ event: Event?,
        conversation index: Int,
        message: [UInt8]
    ) throws -> EventOutcome {
        guard let event else { return .stale }
        try putAside(event, .seqTaken, conversation: conversations[index].id, message: message)
        return .quarantined
    }

    /// Puts the losers of a conflict aside, one row per field and content, so that every order of
    /// arrival leaves the same rows (M-3).
    private func putAside(
        _ losers: [MessageRegisters.Loser],
        of row: MessageRow,
        conversation index: Int
    ) throws {
        for loser in losers {
            var writer = JSONWriter()
            writer.beginObject()
            writer.key("conversation")
            writer.string(utf8: conversations[index].id)
            writer.key("id")
            writer.string(utf8: row.messageID)
            writer.key("version")
            writer.integer(loser.version)
            writer.key(loser.field.name)
            switch loser.value {
            case .integer(let number): writer.integer(number)
            case .text(let bytes) where loser.field == .attachments: writer.raw(bytes)
            case .text(let bytes): writer.string(utf8: bytes)
            }
            writer.endObject()
            try quarantine.put(
                QuarantineTable.Item(
                    reason: .conflict,
                    explanation: "another \(loser.field.name) came at version \(loser.version)",
                    conversation: conversations[index].id,
                    message: row.messageID,
                    content: writer.bytes
                )
            )
        }
    }
}
