import LockkeeperCrypto
import LockkeeperDomain
import LockkeeperSQLite

/// The digests of messages whose rows a purge removed (M-7).
struct PurgedTable {
    let connection: Connection

    /// How many bytes of a digest are kept: two ids that share them are not met by chance.
    private static let digestByteCount = 16

    /// Remembers a message.
    func insert(_ message: [UInt8], in conversation: Int64) throws(SQLiteError) {
        let insert = try connection.statement(
            "INSERT INTO lk_purged (conversation, digest) VALUES (?1, ?2) ON CONFLICT DO NOTHING"
        )
        try insert.bind(1, conversation)
        try insert.bind(2, blob: Self.digest(of: message))
        try insert.run()
    }

    /// Whether a message was purged.
    func contains(_ message: [UInt8], in conversation: Int64) throws(SQLiteError) -> Bool {
        let select = try connection.statement(
            "SELECT 1 FROM lk_purged WHERE conversation = ?1 AND digest = ?2"
        )
        try select.bind(1, conversation)
        try select.bind(2, blob: Self.digest(of: message))
        defer { select.reset() }
        return try select.step()
    }

    private static func digest(of message: [UInt8]) -> [UInt8] {
        Array(SHA256.digest(of: message).prefix(digestByteCount))
    }
}

extension BatchMerge {
    /// Whether an event speaks of a message that was purged and does not place it below the clear again:
    /// it takes nothing, as the row would have taken nothing. One that does makes the row again, without
    /// content.
    mutating func isOfPurged(_ event: Event) throws -> Bool {
        let (id, message, seq): (ConversationID, MessageID, Int64?)
        switch event {
        case .message(let event):
            (id, message, seq) = (event.conversation, event.id, event.sequence)
        case .edit(let event): (id, message, seq) = (event.conversation, event.id, nil)
        case .recall(let event): (id, message, seq) = (event.conversation, event.id, event.sequence)
        case .delete(let event): (id, message, seq) = (event.conversation, event.id, event.sequence)
        case .reaction(let event): (id, message, seq) = (event.conversation, event.id, nil)
        default: return false
        }
        let index = try conversation(id)
        // Only what was cleared is purged, so that most conversations are not looked up.
        guard conversations[index].clearSeq != nil, !conversations[index].isCleared(seq) else {
            return false
        }
        return try PurgedTable(connection: connection)
            .contains(message.bytes, in: conversations[index].row)
    }
}
