import LockkeeperDomain
import LockkeeperSQLite

/// One export on a connection that is inside a transaction.
struct MessageExport {
    private let connection: Connection
    private let write: ([UInt8]) throws -> Void
    private var encoder = EventEncoder()

    /// Enough to make the writes few, little beside what a helper may use.
    private static let chunkByteCount = 64 * 1024

    init(connection: Connection, write: @escaping ([UInt8]) throws -> Void) {
        self.connection = connection
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
            "SELECT id, conversation_id, read_seq FROM lk_conversation ORDER BY conversation_id"
        )
        while try select.step() {
            let row = select.int64(0)
            let id = ConversationID(unchecked: select.bytes(1))
            try messages(row, id, state: .shown)
            try messages(row, id, state: .recalled)
            if let seq = select.optionalInt64(2) {
                try append(.read(ReadEvent(conversation: id, sequence: seq)))
            }
            try positions(row, id)
            try messages(row, id, state: .waiting)
        }
    }

    private mutating func messages(
        _ row: Int64,
        _ conversation: ConversationID,
        state: MessageRow.State
    ) throws {
        let select = try connection.statement(
            """
            SELECT id, version, registers, recall_version, recall_by, seq, sender, sent_at, body,
                kind, counts, incoming, server_at, client_id, reply_to, mentions, mentions_me,
                attachments, expires_at, edited_by, edited_at, extra, message_id
            FROM lk_message WHERE conversation = ?1 AND state = ?2 ORDER BY place, message_id
            """
        )
        try select.bind(1, row)
        try select.bind(2, state.rawValue)
        while try select.step() {
            let message = try MessageRow(
                conversation: row,
                messageID: select.bytes(22),
                reading: select
            )
            for event in try message.events(conversation: conversation) { try append(event) }
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
            let person = select.bytes(0)
            let kind = ReadEvent.Kind(rawValue: select.string(1)) ?? .read
            try append(
                .read(
                    ReadEvent(
                        conversation: conversation,
                        sequence: select.int64(2),
                        reader: person.isEmpty ? nil : PersonID(unchecked: person),
                        kind: kind
                    )
                )
            )
        }
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
