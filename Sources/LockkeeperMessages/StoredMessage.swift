import LockkeeperDomain
import LockkeeperSQLite

/// A message as it stands in the store, defaults applied.
public struct StoredMessage: Sendable, Hashable, Identifiable {
    /// The conversation.
    public let conversation: ConversationID
    /// The message's id.
    public let id: MessageID
    /// Its place in the conversation; `nil` for a provisional one, which stands at the end.
    public let sequence: Int64?
    /// Who sent it; `nil` while only edits or a recall of it are known.
    public internal(set) var sender: PersonID?
    /// When it says it was sent. Order does not depend on it.
    public internal(set) var sentAt: Timestamp?
    /// When the server took it.
    public internal(set) var serverAt: Timestamp?
    /// Its text; `nil` once it was recalled, deleted, cleared or has expired. Bytes that are not UTF-8 are shown as replacement
    /// characters.
    public internal(set) var body: String?
    /// Whether its text, id or sender is not UTF-8: a damaged row, of which ``body`` shows what can be
    /// read. Nothing that is ingested is (B95).
    public let isDamaged: Bool
    /// The largest version that wrote something.
    public let version: Int64
    /// What it is: "text" unless its sender says otherwise.
    public internal(set) var kind: String
    /// Whether somebody else sent it.
    public let isIncoming: Bool
    /// Whether it was recalled.
    public let isRecalled: Bool
    /// Whether it was deleted, lies below a clear or has expired: only its id and place are left.
    public internal(set) var isGone: Bool
    /// When it was last edited, where an edit says so.
    public internal(set) var editedAt: Timestamp?
    /// The message that it answers.
    public internal(set) var replyTo: MessageID?
    /// The id that the sending client gave it.
    public internal(set) var clientID: ClientID?
    /// Its attachments as a JSON array.
    public internal(set) var attachments: String?
    /// Fields that this program does not know, as a JSON object.
    public internal(set) var extra: String?
    /// When it ends to be shown; `nil`: never by itself.
    public let expiresAt: Timestamp?
    /// What the account wants to change of it and the server has not confirmed: an edit or a recall.
    public internal(set) var pendingChange: PendingChange?

    /// Where it stands, to page from.
    public var place: MessagePlace { MessagePlace(sequence: sequence, id: id) }

    /// Reads a row whose columns are those of `MessageStore.timelineQuery`.
    init(conversation: ConversationID, ownID: [UInt8]?, reading row: Statement) {
        self.conversation = conversation
        id = MessageID(unchecked: row.bytes(0))
        sequence = row.optionalInt64(1)
        sender = row.optionalBytes(2).map(PersonID.init(unchecked:))
        sentAt = row.optionalInt64(3).map(Timestamp.init(stored:))
        serverAt = row.optionalInt64(4).map(Timestamp.init(stored:)) ?? sentAt
        body = row.isNull(5) ? nil : row.string(5)
        // Of NULL there are no bytes, which is text.
        isDamaged =
            !(row.withBytes(5, isUTF8) && row.withBytes(0, isUTF8) && row.withBytes(2, isUTF8))
        version = max(row.int64(6), row.int64(15))
        kind = row.isNull(7) ? Self.kindDefault : row.string(7)
        if let incoming = row.optionalInt64(8) {
            isIncoming = incoming != 0
        } else {
            isIncoming = ownID == nil || sender?.bytes != ownID
        }
        let state = MessageRow.State(rawValue: row.int64(9))
        isRecalled = state == .recalled || state == .recalledWaiting
        isGone = state == .gone
        editedAt = row.optionalInt64(10).map(Timestamp.init(stored:))
        replyTo = row.optionalBytes(11).map(MessageID.init(unchecked:))
        clientID = row.optionalBytes(12).map(ClientID.init(unchecked:))
        attachments = row.isNull(13) ? nil : row.string(13)
        extra = row.isNull(14) ? nil : row.string(14)
        expiresAt = row.optionalInt64(16).map(Timestamp.init(stored:))
    }

    private static let kindDefault = "text"

    /// Whether its time is over.
    func hasExpired(at now: Int64) -> Bool {
        expiresAt.map { $0.millisecondsSince1970 <= now } ?? false
    }

    /// The message without its content where its time is over.
    func asSeen(at now: Int64) -> StoredMessage {
        guard hasExpired(at: now) else { return self }
        var seen = self
        seen.isGone = true
        seen.body = nil
        seen.attachments = nil
        seen.extra = nil
        // What was removed has none of these either.
        (seen.sender, seen.sentAt, seen.serverAt, seen.kind) = (nil, nil, nil, Self.kindDefault)
        (seen.editedAt, seen.replyTo, seen.clientID, seen.pendingChange) = (nil, nil, nil, nil)
        return seen
    }
}

/// A place in a conversation's order: by `seq`, then by id; without a seq at the end (M-14).
public struct MessagePlace: Sendable, Hashable {
    /// The seq; `nil` at the end.
    public let sequence: Int64?
    /// The id that decides among equals; `nil` stands before all of them.
    public let id: MessageID?

    /// A place.
    public init(sequence: Int64?, id: MessageID? = nil) {
        self.sequence = sequence
        self.id = id
    }
}

/// The last message of a conversation, as a list shows it: the beginning of its text, and nothing that
/// may be large. ``MessageStore/message(_:in:)`` has the whole.
public struct LastMessage: Sendable, Hashable, Identifiable {
    /// The message's id.
    public let id: MessageID
    /// Its place in the conversation; `nil` for a provisional one, which stands at the end.
    public let sequence: Int64?
    /// Who sent it.
    public let sender: PersonID?
    /// When it says it was sent. Order does not depend on it.
    public let sentAt: Timestamp?
    /// When the server took it.
    public let serverAt: Timestamp?
    /// The first bytes of its text, up to 512, cut between two characters; `nil` once it was recalled.
    public let preview: String?
    /// Whether the text goes on behind the preview.
    public let isCut: Bool
    /// Whether its preview, id or sender is not UTF-8: a damaged row (B95).
    public let isDamaged: Bool
    /// The largest version that wrote something.
    public let version: Int64
    /// What it is: "text" unless its sender says otherwise.
    public let kind: String
    /// Whether it has attachments.
    public let hasAttachments: Bool
    /// Whether somebody else sent it.
    public let isIncoming: Bool
    /// Whether it was recalled.
    public let isRecalled: Bool
    /// When it was last edited, where an edit says so.
    public let editedAt: Timestamp?
    /// When it ends to be shown; `nil`: never by itself.
    public let expiresAt: Timestamp?
    /// What the account wants to change of it and the server has not confirmed: an edit or a recall.
    public internal(set) var pendingChange: PendingChange?

    /// Reads a row whose columns are those of `MessageStore.conversationsQuery`.
    init(ownID: [UInt8]?, reading row: Statement) {
        id = MessageID(unchecked: row.bytes(0))
        sequence = row.optionalInt64(1)
        sender = row.optionalBytes(2).map(PersonID.init(unchecked:))
        sentAt = row.optionalInt64(3).map(Timestamp.init(stored:))
        serverAt = row.optionalInt64(4).map(Timestamp.init(stored:)) ?? sentAt
        version = max(row.int64(5), row.int64(6))
        kind = row.isNull(7) ? "text" : row.string(7)
        isIncoming =
            row.optionalInt64(8).map { $0 != 0 } ?? (ownID == nil || sender?.bytes != ownID)
        isRecalled = row.int64(9) == MessageRow.State.recalled.rawValue
        editedAt = row.optionalInt64(10).map(Timestamp.init(stored:))
        expiresAt = row.optionalInt64(11).map(Timestamp.init(stored:))
        hasAttachments = row.int64(12) != 0
        preview = row.isNull(13) ? nil : row.string(13)
        isCut = row.int64(14) != 0
        // Of NULL there are no bytes, which is text.
        isDamaged =
            !(row.withBytes(13, isUTF8) && row.withBytes(0, isUTF8) && row.withBytes(2, isUTF8))
    }

    /// The same of a message that was read whole.
    init(_ message: StoredMessage) {
        id = message.id
        sequence = message.sequence
        sender = message.sender
        sentAt = message.sentAt
        serverAt = message.serverAt
        let cut = message.body.map(MessagePreview.init(of:))
        preview = cut.map { String(decoding: $0.bytes, as: UTF8.self) }
        isCut = cut?.isCut ?? false
        isDamaged = message.isDamaged
        version = message.version
        kind = message.kind
        hasAttachments = message.attachments != nil
        isIncoming = message.isIncoming
        isRecalled = message.isRecalled
        editedAt = message.editedAt
        expiresAt = message.expiresAt
    }
}

/// A conversation as a list shows it.
public struct ConversationInfo: Sendable, Hashable, Identifiable {
    /// The conversation.
    public let id: ConversationID
    /// When the server took its last message, by which it is listed; `nil` where it has none.
    public let lastAt: Timestamp?
    /// Its last message that was not deleted.
    public let last: LastMessage?
    /// How many messages of the account's own stand behind it and were not confirmed: they are no part
    /// of ``last`` (see ``MessageStore/timelineEnd(_:limit:)``).
    public let pendingCount: Int
    /// Up to where the account has read; `nil` while that is not known.
    public let readSequence: Int64?
    /// How many messages are unread; `nil` while the read position is not known (M-9).
    public let unread: Int?
    /// How many of them mention the account.
    public let unreadMentions: Int?
    /// Whether everything between the read position and the newest message that is known was given
    /// (M-13). Where it was not, more may be unread than is counted.
    public let unreadIsComplete: Bool
    /// Up to where everything was cleared; `nil` where nothing was.
    public let clearedSequence: Int64?
    /// Its name.
    public let title: String?
    /// What kind of conversation it is, in the server's words.
    public let kind: String?
    /// Whether it is silent.
    public let isMuted: Bool
    /// Whether it is listed before the others.
    public let isPinned: Bool
    /// Whether it was put away.
    public let isArchived: Bool
    /// Whether it was marked as unread by hand.
    public let isMarkedUnread: Bool
    /// The conversation that it belongs to.
    public let parent: ConversationID?
}

/// How much is unread in all conversations that are not muted (M-9).
public struct UnreadTotal: Sendable, Hashable {
    /// Messages in conversations whose read position is known.
    public let unread: Int
    /// How many of them mention the account.
    public let mentions: Int
    /// Conversations that were marked as unread by hand and in which nothing is unread.
    public let markedCount: Int
    /// Conversations whose read position is not known.
    public let unknownCount: Int
}

/// What somebody has put on a message (M-8).
///
/// One of the account's own that the server has not confirmed is listed too, as pending.
public struct Reaction: Sendable, Hashable {
    /// Who.
    public let reactor: PersonID
    /// What.
    public let emoji: String
    /// Which of the person's reactions it is.
    public let slot: ReactionSlot
    /// What the account wants of it and the server has not confirmed; `nil` where it simply stands.
    public internal(set) var pending: Pending?

    /// What is on its way.
    public enum Pending: Sendable, Hashable {
        /// It was put on.
        case putOn
        /// It was taken off, or another one was put into its slot.
        case takenOff
    }
}

/// Somebody in a conversation.
public struct Member: Sendable, Hashable {
    /// The person.
    public let person: PersonID
    /// The person's role, in the server's words.
    public let role: String?
    /// Whether the person has left, or was removed.
    public let isRemoved: Bool
}

/// Something that was put aside (M-3).
public struct QuarantinedItem: Sendable, Hashable {
    /// The item's number.
    public let number: Int64
    /// Why it was put aside, as a stable name.
    public let reason: String
    /// Why, as a sentence.
    public let explanation: String
    /// The conversation that it speaks of, where that is known.
    public let conversation: ConversationID?
    /// The message that it speaks of, where that is known.
    public let message: MessageID?
    /// How often it came.
    public let count: Int
    /// How many bytes it has; more than ``content`` where only the first were kept.
    public let byteCount: Int
    /// The SHA-256 of all bytes.
    public let digest: [UInt8]
    /// The bytes; empty in a list.
    public let content: [UInt8]
    /// When it came first.
    public let firstAt: Timestamp
    /// When it came last.
    public let lastAt: Timestamp
}
