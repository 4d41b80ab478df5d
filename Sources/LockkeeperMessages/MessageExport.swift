import LockkeeperDomain
import LockkeeperSQLite

/// One export on a connection that is inside a transaction.
struct MessageExport {
    private let connection: Connection
    private let authority: ServerContract.Authority
    private let now: Int64
    private let write: ([UInt8]) throws -> Void
    private var encoder = EventEncoder()

    /// Enough to make the writes few, little beside what a helper may use.
    private static let chunkByteCount = 64 * 1024

    /// An export.
    ///
    /// - Parameter now: milliseconds since 1970. What has expired by then is left out: it is not said to
    ///   be gone either, because a clock that is ahead must not take it from the store that imports.
    init(
        connection: Connection,
        authority: ServerContract.Authority,
        now: Int64,
        write: @escaping ([UInt8]) throws -> Void
    ) {
        self.connection = connection
        self.authority = authority
        self.now = now
        self.write = write
    }

    /// Writes everything.
    mutating func run(includingCursors: Bool) throws {
        try conversations()
        try laterEvents()
        if includingCursors { try pages() }
        try flush()
    }

    private mutating func conversations() throws {
        let select = try connection.prepare(
            """
            SELECT id, conversation_id, read_seq, clear_seq FROM lk_conversation
            ORDER BY conversation_id
            """
        )
        while try select.step() {
            let row = select.int64(0)
            let id = ConversationID(unchecked: select.bytes(1))
            for event in try ConversationState.fields(of: row, in: connection).events(of: id) {
                try append(event)
            }
            try members(row, id)
            if let seq = select.optionalInt64(3) {
                try append(.clear(ClearEvent(conversation: id, sequence: seq)))
            }
            try messages(row, id, state: .shown)
            try messages(row, id, state: .recalled)
            try messages(row, id, state: .recalledWaiting)
            try messages(row, id, state: .gone)
            try reactions(row, id, areWaiting: false)
            if let seq = select.optionalInt64(2) {
                try append(.read(ReadEvent(conversation: id, sequence: seq)))
            }
            try positions(row, id)
            try history(row, id)
            try messages(row, id, state: .waiting)
            try reactions(row, id, areWaiting: true)
            try facts(row)
            try positionsByMessage(row, id)
        }
    }

    private mutating func members(_ row: Int64, _ conversation: ConversationID) throws {
        let select = try connection.statement(
            """
            SELECT version, registers, role, removed, extra, person FROM lk_member
            WHERE conversation = ?1 ORDER BY person
            """
        )
        try select.bind(1, row)
        while try select.step() {
            let registers = try Registers<MemberField>(
                reading: select,
                from: 2,
                version: select.int64(0),
                exceptions: select.optionalBytes(1)
            )
            let person = PersonID(unchecked: select.bytes(5))
            for event in registers.events(of: person, in: conversation) { try append(event) }
        }
    }

    private mutating func messages(
        _ row: Int64,
        _ conversation: ConversationID,
        state: MessageRow.State
    ) throws {
        let select = try connection.statement(
            """
            SELECT * FROM lk_message
            WHERE conversation = ?1 AND state = ?2
                AND (state <> 1 OR ifnull(expires_at, ?3) >= ?3)
            ORDER BY place, message_id
            """
        )
        try select.bind(1, row)
        try select.bind(2, state.rawValue)
        // What ends now has ended.
        try select.bind(3, now + 1)
        while try select.step() {
            let message = try MessageRow(reading: select)
            let events = try message.events(
                conversation: conversation,
                authority: authority
            )
            for event in events { try append(event) }
        }
    }

    /// The reactions to messages that are there, or to those that wait.
    private mutating func reactions(
        _ row: Int64,
        _ conversation: ConversationID,
        areWaiting: Bool
    ) throws {
        let select = try connection.statement(
            """
            SELECT m.message_id, r.person, r.slot, r.emoji, r.version, r.removed, r.extra
            FROM lk_reaction r JOIN lk_message m ON m.id = r.message
            WHERE m.conversation = ?1 AND (m.state = 0) = ?2
                AND (m.state <> 1 OR ifnull(m.expires_at, ?3) >= ?3)
            ORDER BY m.message_id, r.person, r.slot
            """
        )
        try select.bind(1, row)
        try select.bind(2, areWaiting ? 1 : 0)
        try select.bind(3, now + 1)
        while try select.step() {
            try append(
                .reaction(
                    ReactionEvent(
                        conversation: conversation,
                        id: MessageID(unchecked: select.bytes(0)),
                        reactor: PersonID(unchecked: select.bytes(1)),
                        emoji: select.string(3),
                        slot: ReactionSlot(unchecked: select.bytes(2)),
                        version: select.int64(4),
                        removed: select.int64(5) != 0,
                        extra: select.optionalBytes(6).map(ExtraFields.init(canonical:))
                    )
                )
            )
        }
    }

    private mutating func positions(_ row: Int64, _ conversation: ConversationID) throws {
        let select = try connection.statement(
            """
            SELECT person, kind, seq FROM lk_position
            WHERE conversation = ?1 ORDER BY person, kind
            """
        )
        try select.bind(1, row)
        while try select.step() {
            try position(
                select.bytes(0),
                select.string(1),
                conversation,
                .sequence(select.int64(2))
            )
        }
    }

    /// Positions that name a message: those that wait, and those that are remembered.
    private mutating func positionsByMessage(
        _ row: Int64,
        _ conversation: ConversationID
    ) throws {
        let select = try connection.statement(
            """
            SELECT p.person, p.kind, m.message_id
            FROM lk_position_message p JOIN lk_message m ON m.id = p.message
            WHERE p.conversation = ?1 AND (m.state <> 1 OR ifnull(m.expires_at, ?2) >= ?2)
            ORDER BY m.message_id, p.person, p.kind
            """
        )
        try select.bind(1, row)
        try select.bind(2, now + 1)
        while try select.step() {
            try position(
                select.bytes(0),
                select.string(1),
                conversation,
                .message(MessageID(unchecked: select.bytes(2)))
            )
        }
    }

    private mutating func position(
        _ person: [UInt8],
        _ kind: String,
        _ conversation: ConversationID,
        _ target: ReadEvent.Target
    ) throws {
        try append(
            .read(
                ReadEvent(
                    conversation: conversation,
                    target: target,
                    reader: person.isEmpty ? nil : PersonID(unchecked: person),
                    kind: ReadEvent.Kind(rawValue: kind) ?? .read
                )
            )
        )
    }

    private mutating func history(_ row: Int64, _ conversation: ConversationID) throws {
        let select = try connection.statement(
            "SELECT from_seq, to_seq FROM lk_history WHERE conversation = ?1 ORDER BY from_seq"
        )
        try select.bind(1, row)
        while try select.step() {
            try append(
                .history(
                    HistoryEvent(
                        conversation: conversation,
                        from: select.int64(0),
                        to: select.int64(1)
                    )
                )
            )
        }
    }

    /// Edits and recalls that wait for the sender of their message.
    private mutating func facts(_ row: Int64) throws {
        let select = try connection.statement(
            """
            SELECT f.line FROM lk_fact f JOIN lk_message m ON m.id = f.message
            WHERE m.conversation = ?1 ORDER BY m.message_id, f.line
            """
        )
        try select.bind(1, row)
        while try select.step() { try append(.later(LaterEvent(type: "", line: select.bytes(0)))) }
    }

    private mutating func laterEvents() throws {
        let select = try connection.prepare(
            "SELECT content FROM lk_quarantine WHERE reason = ?1 ORDER BY content"
        )
        try select.bind(1, QuarantineTable.Reason.later.rawValue)
        while try select.step() {
            try append(.later(LaterEvent(type: "", line: select.bytes(0))))
        }
    }

    /// The pages that lead to each cursor, as far as they are remembered, then those that wait.
    ///
    /// With the cursor alone a redelivered page would look like a contradiction, or wait for ever.
    /// Where the oldest ones are forgotten, one page leads over them from nothing.
    private mutating func pages() throws {
        let passed = try connection.prepare(
            """
            SELECT c.stream, e.after, e.next, e.done, c.value, c.done FROM lk_cursor c
            LEFT JOIN lk_edge e ON e.stream = c.stream AND e.passed IS NOT NULL
            ORDER BY c.stream, e.passed
            """
        )
        var stream: [UInt8]?
        while try passed.step() {
            let isFirst = passed.bytes(0) != stream
            stream = passed.bytes(0)
            let after = passed.bytes(1)
            if isFirst, !after.isEmpty {
                try append(passed.bytes(0), from: [], to: after, isDone: false)
            }
            // What the server said last of the cursor stands with it. It may have no edge.
            let next = passed.optionalBytes(2) ?? passed.bytes(4)
            let leadsToCursor = next == passed.bytes(4)
            try append(
                passed.bytes(0),
                from: after,
                to: next,
                isDone: passed.int64(leadsToCursor ? 5 : 3) != 0
            )
        }
        let waiting = try connection.prepare(
            """
            SELECT stream, after, next, done FROM lk_edge WHERE passed IS NULL
            ORDER BY stream, after, next
            """
        )
        while try waiting.step() {
            try append(
                waiting.bytes(0),
                from: waiting.bytes(1),
                to: waiting.bytes(2),
                isDone: waiting.int64(3) != 0
            )
        }
    }

    private mutating func append(
        _ stream: [UInt8],
        from after: [UInt8],
        to next: [UInt8],
        isDone: Bool
    ) throws {
        try append(
            .page(
                SyncPage(
                    stream: StreamID(unchecked: stream),
                    after: after.isEmpty ? nil : Cursor(unchecked: after),
                    next: Cursor(unchecked: next),
                    done: isDone
                )
            )
        )
    }

    private mutating func flush() throws {
        guard !encoder.bytes.isEmpty else { return }
        try write(encoder.bytes)
        encoder = EventEncoder()
    }

    private mutating func append(_ event: Event) throws {
        encoder.append(event)
        if encoder.bytes.count >= Self.chunkByteCount { try flush() }
    }
}

// MARK: - Registers as events: one for each version, smallest first

extension Registers<ConversationField> {
    /// The events that make these registers.
    func events(of conversation: ConversationID) -> [Event] {
        presentVersions.map { version in
            func stands(_ field: Field) -> Bool { self.version(of: field) == version }
            return .conversation(
                ConversationEvent(
                    conversation: conversation,
                    version: version,
                    title: stands(.title) ? text(.title) : nil,
                    kind: stands(.kind) ? text(.kind) : nil,
                    muted: stands(.muted) ? flag(.muted) : nil,
                    pinned: stands(.pinned) ? flag(.pinned) : nil,
                    archived: stands(.archived) ? flag(.archived) : nil,
                    markedUnread: stands(.markedUnread) ? flag(.markedUnread) : nil,
                    parent: stands(.parent)
                        ? bytes(.parent).map(ConversationID.init(unchecked:)) : nil,
                    extra: ExtraFields(extra(at: version), beside: [])
                )
            )
        }
    }
}

extension Registers<MemberField> {
    /// The events that make these registers. Every one says whether the person is there; the newest
    /// is the one that stands.
    func events(of person: PersonID, in conversation: ConversationID) -> [Event] {
        presentVersions.map { version in
            func stands(_ field: Field) -> Bool { self.version(of: field) == version }
            return .member(
                MemberEvent(
                    conversation: conversation,
                    person: person,
                    version: version,
                    role: stands(.role) ? text(.role) : nil,
                    removed: stands(.removed) ? flag(.removed) ?? false : false,
                    extra: ExtraFields(extra(at: version), beside: [])
                )
            )
        }
    }
}
