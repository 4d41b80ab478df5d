import LockkeeperCrypto
import LockkeeperDomain
import LockkeeperSQLite

/// Puts bytes aside that could not be merged, one row per (reason, content) with a count (M-3).
struct QuarantineTable {
    let connection: Connection
    /// Milliseconds since 1970, for people; nothing is decided by it.
    let now: Int64

    /// Why something was put aside. Raw values are stored.
    enum Reason: String {
        /// The line could not be read.
        case unreadable
        /// A type of event that these merge rules do not know yet.
        case later
        /// A value that lost against another at the same version.
        case conflict
        /// Another message holds the seq, which the contract calls unique.
        case seqTaken = "seq-taken"
        /// A page from a cursor that another page has left already.
        case pageContradicts = "page-contradicts"
        /// More pages wait for their predecessors than the store keeps.
        case tooManyWaitingPages = "too-many-waiting-pages"
        /// More messages wait for their seq and sender than the store keeps.
        case tooManyWaitingMessages = "too-many-waiting-messages"

        /// The reason as a sentence, for what has no better one.
        var sentence: String {
            switch self {
            case .unreadable: "the line could not be read"
            case .later: "events of this type are merged later"
            case .conflict: "another value came at the same version"
            case .seqTaken: "another message holds this seq, which the contract calls unique"
            case .pageContradicts: "another page has left the cursor that this one begins at"
            case .tooManyWaitingPages: "as many pages wait for their predecessors as are kept"
            case .tooManyWaitingMessages: "as many messages wait for seq and sender as are kept"
            }
        }
    }

    /// What is put aside.
    struct Item {
        var reason: Reason
        var explanation: String
        var conversation: [UInt8]?
        var message: [UInt8]?
        /// The bytes, or the first of them.
        var content: [UInt8]
        /// The digest of all bytes; `nil`: of ``content``.
        var digest: [UInt8]?
        /// How many bytes there were in all; `nil`: as many as in ``content``.
        var byteCount: Int?
    }

    /// Puts an item aside, or counts it once more.
    ///
    /// - Returns: whether it is new.
    @discardableResult
    func put(_ item: Item) throws(SQLiteError) -> Bool {
        let digest = item.digest ?? SHA256.digest(of: item.content)
        let again = try connection.statement(
            """
            UPDATE lk_quarantine SET count = count + 1, last_at = ?3
            WHERE reason = ?1 AND digest = ?2
            """
        )
        try again.bind(1, item.reason.rawValue)
        try again.bind(2, blob: digest)
        try again.bind(3, now)
        try again.run()
        if connection.changes > 0 { return false }
        let insert = try connection.statement(
            """
            INSERT INTO lk_quarantine (reason, digest, conversation_id, message_id, explanation,
                content, byte_count, count, first_at, last_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8, ?8)
            """
        )
        try insert.bind(1, item.reason.rawValue)
        try insert.bind(2, blob: digest)
        try insert.bind(3, text: item.conversation)
        try insert.bind(4, text: item.message)
        try insert.bind(5, item.explanation)
        try insert.bind(6, blob: item.content)
        try insert.bind(7, item.byteCount ?? item.content.count)
        try insert.bind(8, now)
        try insert.run()
        return true
    }

    /// Takes out what was put aside about a message: it may hold text of one that was recalled.
    func forget(conversation: [UInt8], message: [UInt8]) throws(SQLiteError) {
        let delete = try connection.statement(
            "DELETE FROM lk_quarantine WHERE conversation_id = ?1 AND message_id = ?2"
        )
        try delete.bind(1, text: conversation)
        try delete.bind(2, text: message)
        try delete.run()
    }
}
