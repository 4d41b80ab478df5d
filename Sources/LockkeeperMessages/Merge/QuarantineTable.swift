import Lockkeeper
import LockkeeperCrypto
import LockkeeperDomain
import LockkeeperSQLite

/// Puts bytes aside that could not be merged, one row per (reason, content) with a count (M-3).
struct QuarantineTable {
    let connection: Connection
    let limits: Limits
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
        /// A page from a cursor that another page has left already, or back to such a cursor.
        case pageContradicts = "page-contradicts"
        /// More pages wait for their predecessors than the store keeps.
        case tooManyWaitingPages = "too-many-waiting-pages"
        /// Somebody else than the message's sender edits or recalls it.
        case unauthorised
        /// More messages wait for their seq and sender than the store keeps.
        case tooManyWaitingMessages = "too-many-waiting-messages"

        /// The reason as a sentence, for what has no better one.
        var sentence: String {
            switch self {
            case .unreadable: "the line could not be read"
            case .later: "events of this type are merged later"
            case .conflict: "another value came at the same version"
            case .seqTaken: "another message holds this seq, which the contract calls unique"
            case .pageContradicts:
                "another page has left the cursor that this one begins at or leads back to"
            case .tooManyWaitingPages: "as many pages wait for their predecessors as are kept"
            case .unauthorised: "only the sender of a message may edit or recall it"
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
        /// The place that it claims, where that was refused.
        var seq: Int64?
        /// The bytes, or the first of them.
        var content: [UInt8]
        /// The digest of all bytes; `nil`: of ``content``.
        var digest: [UInt8]?
        /// How many bytes there were in all; `nil`: as many as in ``content``.
        var byteCount: Int?
        /// Whether it leaves half of the room to what weighs more. A server may send another trace number
        /// with every delivery; that must not bring the merge to a stop.
        var yieldsRoom = false
    }

    /// What was put aside, as it is taken out again.
    struct Kept {
        let number: Int64
        let reason: Reason
        let content: [UInt8]
        let conversation: [UInt8]?
        let message: [UInt8]?
    }

    /// Takes an item out; `nil` where there is none.
    func take(_ number: Int64) throws(SQLiteError) -> Kept? {
        let select = try connection.statement(
            """
            SELECT reason, content, conversation_id, message_id FROM lk_quarantine
            WHERE id = ?1 AND accepted = 0
            """
        )
        try select.bind(1, number)
        guard try select.step() else { return nil }
        let kept = Kept(
            number: number,
            reason: Reason(rawValue: select.string(0)) ?? .unreadable,
            content: select.bytes(1),
            conversation: select.optionalBytes(2),
            message: select.optionalBytes(3)
        )
        select.reset()
        try remove(number)
        return kept
    }

    // MARK: - What a person has accepted

    /// Remembers that a person has accepted what was put aside, so that it is taken where it comes again.
    /// Of its content only the digest is kept, and goes with the message's.
    ///
    /// - Parameter key: what it is known by; `nil`: its content.
    func remember(_ item: Kept, as key: [UInt8]? = nil) throws(SQLiteError) {
        let insert = try connection.statement(
            """
            INSERT INTO lk_quarantine (reason, digest, conversation_id, message_id, explanation,
                content, byte_count, count, first_at, last_at, accepted)
            VALUES (?1, ?2, ?3, ?4, 'accepted', x'', 0, 1, ?5, ?5, 1)
            """
        )
        try insert.bind(1, item.reason.rawValue)
        try insert.bind(2, blob: SHA256.digest(of: key ?? item.content))
        try insert.bind(3, text: item.conversation)
        try insert.bind(4, text: item.message)
        try insert.bind(5, now)
        try insert.run()
    }

    /// Whether a person has accepted some content.
    func isAccepted(_ reason: Reason, _ content: [UInt8]) throws(SQLiteError) -> Bool {
        let select = try connection.statement(
            "SELECT accepted FROM lk_quarantine WHERE reason = ?1 AND digest = ?2"
        )
        try select.bind(1, reason.rawValue)
        try select.bind(2, blob: SHA256.digest(of: content))
        defer { select.reset() }
        return try select.step() && select.int64(0) != 0
    }

    /// A person has accepted another value in the place of one that was accepted before.
    func forgetAccepted(_ reason: Reason, _ content: [UInt8]) throws(SQLiteError) {
        let delete = try connection.statement(
            "DELETE FROM lk_quarantine WHERE reason = ?1 AND digest = ?2 AND accepted = 1"
        )
        try delete.bind(1, reason.rawValue)
        try delete.bind(2, blob: SHA256.digest(of: content))
        try delete.run()
    }

    /// Puts an item aside, or counts it once more.
    ///
    /// - Returns: whether it is new.
    /// - Throws: ``LockkeeperError`` with the code `quarantineFull` where nothing more may be put aside:
    ///   what cannot be merged is refused with the batch, and never dropped (I-9).
    @discardableResult
    func put(_ item: Item) throws -> Bool {
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
        if item.yieldsRoom {
            guard try hasRoom(for: item.content.count, inShare: 2).isThere else { return false }
        } else {
            try checkRoom(for: item.content.count)
        }
        let insert = try connection.statement(
            """
            INSERT INTO lk_quarantine (reason, digest, conversation_id, message_id, explanation,
                content, byte_count, count, first_at, last_at, seq)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8, ?8, ?9)
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
        try insert.bind(9, item.seq)
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

    /// The messages that were refused a place up to `seq`.
    func messages(in conversation: [UInt8], placedUpTo seq: Int64) throws(SQLiteError) -> [[UInt8]]
    {
        let select = try connection.statement(
            """
            SELECT DISTINCT message_id FROM lk_quarantine
            WHERE conversation_id = ?1 AND message_id IS NOT NULL AND seq <= ?2
            """
        )
        try select.bind(1, text: conversation)
        try select.bind(2, seq)
        var messages: [[UInt8]] = []
        while try select.step() { messages.append(select.bytes(0)) }
        return messages
    }

    /// Takes out what a clear reaches: what was refused for its place holds text and has no row.
    func forget(conversation: [UInt8], upTo seq: Int64) throws(SQLiteError) {
        let delete = try connection.statement(
            """
            DELETE FROM lk_quarantine
            WHERE conversation_id = ?1 AND message_id IS NOT NULL AND seq <= ?2
            """
        )
        try delete.bind(1, text: conversation)
        try delete.bind(2, seq)
        try delete.run()
    }

    /// Takes out and returns the lines about a message that were refused for their author and that
    /// `isWanted` wants.
    func takeUnauthorised(
        conversation: [UInt8],
        message: [UInt8],
        isWanted: ([UInt8]) -> Bool
    ) throws(SQLiteError) -> [[UInt8]] {
        let select = try connection.statement(
            """
            SELECT id, content FROM lk_quarantine
            WHERE conversation_id = ?1 AND message_id = ?2 AND reason = ?3 AND accepted = 0
            ORDER BY content
            """
        )
        try select.bind(1, text: conversation)
        try select.bind(2, text: message)
        try select.bind(3, Reason.unauthorised.rawValue)
        var found: [(id: Int64, line: [UInt8])] = []
        while try select.step() {
            let line = select.bytes(1)
            if isWanted(line) { found.append((select.int64(0), line)) }
        }
        for (id, _) in found { try remove(id) }
        return found.map(\.line)
    }

    /// Takes out one row.
    func remove(_ id: Int64) throws(SQLiteError) {
        let delete = try connection.statement("DELETE FROM lk_quarantine WHERE id = ?1")
        try delete.bind(1, id)
        try delete.run()
    }

    /// The rows with a reason: their numbers and bytes, in the order of the bytes.
    func content(of reason: Reason) throws(SQLiteError) -> [(number: Int64, bytes: [UInt8])] {
        let select = try connection.statement(
            "SELECT id, content FROM lk_quarantine WHERE reason = ?1 ORDER BY content"
        )
        try select.bind(1, reason.rawValue)
        var found: [(number: Int64, bytes: [UInt8])] = []
        while try select.step() { found.append((select.int64(0), select.bytes(1))) }
        return found
    }

    /// How much is put aside.
    private static func size(
        _ connection: Connection
    ) throws(SQLiteError) -> (count: Int64, byteCount: Int64) {
        let select = try connection.statement(
            "SELECT count(*), ifnull(sum(kept_count), 0) FROM lk_quarantine"
        )
        defer { select.reset() }
        guard try select.step() else { return (0, 0) }
        return (select.int64(0), select.int64(1))
    }

    private func checkRoom(for byteCount: Int) throws {
        let room = try hasRoom(for: byteCount, inShare: 1)
        guard !room.isThere else { return }
        throw LockkeeperError.quarantineFull(count: room.count, byteCount: room.byteCount)
    }

    /// Whether there is room in a share of the bound, a half of it for example, and how much is there.
    private func hasRoom(
        for byteCount: Int,
        inShare share: Int
    ) throws(SQLiteError) -> (isThere: Bool, count: Int64, byteCount: Int64) {
        let (count, bytes) = try Self.size(connection)
        let isThere =
            count < Int64(limits.quarantineCountMax / share)
            && bytes + Int64(byteCount) <= Int64(limits.quarantineByteCountMax / share)
        return (isThere, count, bytes)
    }

    /// Says that little room is left, from four fifths of the bound on: at the bound whole batches are
    /// refused, and with them what is good.
    static func warnings(
        _ connection: Connection,
        limits: Limits
    ) throws(SQLiteError) -> [InspectionFinding] {
        let (count, byteCount) = try size(connection)
        let (countMax, byteCountMax) = (limits.quarantineCountMax, limits.quarantineByteCountMax)
        guard count >= Int64(countMax) / 5 * 4 || byteCount >= Int64(byteCountMax) / 5 * 4,
            count > 0
        else { return [] }
        return [
            InspectionFinding(
                code: "quarantine-nearly-full",
                subject: "quarantine",
                explanation: "\(count) of \(countMax) items and \(byteCount) of \(byteCountMax)"
                    + " bytes are put aside; at the bound a batch that would put more aside is"
                    + " refused whole.",
                remedy:
                    "Look with 'lockkeeper quarantine list'; retry, accept or drop what is there."
            )
        ]
    }
}
