import LockkeeperDomain
import LockkeeperSQLite

/// A change of a message that the account wants and the server has not confirmed (M-10).
///
/// The message stands as the server has it; the change stands beside it. What an app shows meanwhile is
/// ``StoredMessage/wantedBody``.
public struct PendingChange: Sendable, Hashable {
    /// The item of the outbox that tells the server.
    public let item: Int64
    /// What is to change.
    public let change: Change
    /// Where it stands. Only what is on its way is shown as if it were done.
    public let state: OutboxItem.State
    /// Why it is where it is, where there is something to say.
    public let reason: String?

    /// What is to change.
    public enum Change: Sendable, Hashable {
        /// The text, to this.
        case edit(body: String)
        /// The message is to be recalled.
        case recall
    }
}

extension StoredMessage {
    /// The text as the account wants it: that of an edit that is on its way; `nil` where a recall is, or
    /// there is no text. Neither search nor a list finds it by this before the server has confirmed it.
    public var wantedBody: String? {
        guard let pendingChange, pendingChange.state.isOnItsWay else { return body }
        switch pendingChange.change {
        case .edit(let text): return body == nil ? nil : text
        case .recall: return nil
        }
    }
}

extension LastMessage {
    /// The beginning of the text as the account wants it, as ``StoredMessage/wantedBody`` has the whole.
    public var wantedPreview: String? {
        guard let pendingChange, pendingChange.state.isOnItsWay else { return preview }
        switch pendingChange.change {
        case .edit(let text):
            let wanted = MessagePreview(of: text)
            return preview == nil ? nil : String(decoding: wanted.bytes, as: UTF8.self)
        case .recall: return nil
        }
    }
}

/// What of the account's own is on its way, as readers of messages see it: changes by message, and how
/// many messages of each conversation are not confirmed.
struct PendingActs {
    private var changes: [Subject: PendingChange] = [:]
    private var sendCounts: [[UInt8]: Int] = [:]

    private struct Subject: Hashable {
        let conversation: [UInt8]
        let message: [UInt8]
    }

    /// Reads what is on its way, mostly nothing.
    ///
    /// - Parameter conversation: in one conversation; `nil` for all.
    init(in conversation: ConversationID? = nil, on connection: Connection) throws(SQLiteError) {
        let select: Statement
        if let conversation {
            select = try connection.statement(Self.oneQuery)
            try select.bind(1, text: conversation.bytes)
        } else {
            select = try connection.statement(Self.allQuery)
        }
        defer { select.reset() }
        while try select.step() {
            let act = OutboxAct(rawValue: select.string(1))
            let conversation = select.bytes(2)
            if act == .send { sendCounts[conversation, default: 0] += 1 }
            guard act == .edit || act == .recall,
                let message = select.optionalBytes(3), let change = PendingChange(reading: select)
            else { continue }
            let subject = Subject(conversation: conversation, message: message)
            // The newest that may still be done, else the newest that may not.
            if let known = changes[subject], known.state.isOnItsWay, !change.state.isOnItsWay {
                continue
            }
            changes[subject] = change
        }
    }

    /// How many messages of a conversation are not confirmed.
    func sendCount(in conversation: ConversationID) -> Int { sendCounts[conversation.bytes] ?? 0 }

    /// A message with what is on its way for it.
    func marked(_ message: StoredMessage) -> StoredMessage {
        guard !changes.isEmpty else { return message }
        let subject = Subject(conversation: message.conversation.bytes, message: message.id.bytes)
        guard let change = changes[subject] else { return message }
        var message = message
        message.pendingChange = change
        return message
    }

    /// The same of a conversation's last message.
    func marked(_ message: LastMessage, in conversation: ConversationID) -> LastMessage {
        guard !changes.isEmpty else { return message }
        let subject = Subject(conversation: conversation.bytes, message: message.id.bytes)
        guard let change = changes[subject] else { return message }
        var message = message
        message.pendingChange = change
        return message
    }

    /// The query for one conversation; its plan is asserted by a test.
    static let oneQuery: StaticString = """
        SELECT id, act, conversation_id, message_id, phase, reason,
            CASE act WHEN 'edit' THEN content END
        FROM lk_outbox WHERE conversation_id = ?1 AND phase < 4 ORDER BY id
        """

    /// The query for all; its plan is asserted by a test.
    static let allQuery: StaticString = """
        SELECT id, act, conversation_id, message_id, phase, reason,
            CASE act WHEN 'edit' THEN content END
        FROM lk_outbox INDEXED BY lk_outbox_open WHERE phase < 4 ORDER BY conversation_id, id
        """
}

extension PendingChange {
    fileprivate init?(reading row: Statement) {
        item = row.int64(0)
        let phase = AttemptState.Phase(rawValue: row.int64(4)) ?? .parked
        state = OutboxItem.State(phase)
        reason = row.isNull(5) ? nil : row.string(5)
        guard let line = row.optionalBytes(6) else {
            change = .recall
            return
        }
        var decoder = EventDecoder()
        guard case .edit(let edit) = try? decoder.decode(line: line), let body = edit.body else {
            return nil
        }
        change = .edit(body: body)
    }
}
