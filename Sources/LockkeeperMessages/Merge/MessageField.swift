/// One field of a message, a register of its own (M-2).
///
/// The raw value is the field's bit in the masks that the column `registers` stores, so that a
/// number once given is never given again.
enum MessageField: Int, RegisterField {
    case seq = 0
    case sender = 1
    case sentAt = 2
    case kind = 3
    case counts = 4
    case incoming = 5
    case serverAt = 6
    case clientID = 7
    case replyTo = 8
    case mentionsMe = 9
    case expiresAt = 10
    case editedBy = 11
    case editedAt = 12
    // What may be large comes last: SQLite goes through the pages of all columns before the one that is
    // read.
    case body = 13
    case mentions = 14
    case attachments = 15
    case extra = 16

    /// The field's name in event lines.
    var name: String {
        switch self {
        case .seq: "seq"
        case .sender: "sender"
        case .sentAt: "sent_at"
        case .body: "body"
        case .kind: "kind"
        case .counts: "counts"
        case .incoming: "incoming"
        case .serverAt: "server_at"
        case .clientID: "client_id"
        case .replyTo: "reply_to"
        case .mentions: "mentions"
        case .mentionsMe: "mentions_me"
        case .attachments: "attachments"
        case .expiresAt: "expires_at"
        case .editedBy: "by"
        case .editedAt: "edited_at"
        case .extra: "extra"
        }
    }

    /// What stays of a message that was recalled: enough to keep its place and to count it, no text
    /// (M-6).
    static let keptAfterRecall: [MessageField] = [.seq, .sender, .sentAt, .incoming]

    /// What stays of a message that was deleted, cleared or has expired (M-7).
    static let keptWhenGone: [MessageField] = [.seq]

    /// What only a message brings, never an edit.
    static let onlyOfMessages: Set<MessageField> = [
        .seq, .sender, .sentAt, .kind, .counts, .incoming, .serverAt, .clientID, .replyTo,
    ]

    /// Whether two values at one version above 0 contradict each other (M-3). Servers send times in
    /// other precision and sign attachment addresses again; none of that is a contradiction.
    /// Attachments contradict by their ids. Of what is unknown each key is compared for itself.
    func contradict(_ left: FieldValue, _ right: FieldValue) -> Bool {
        switch self {
        case .body, .sender, .incoming, .seq: return true
        case .attachments:
            guard case .text(let left) = left, case .text(let right) = right else { return true }
            return Self.attachmentIDs(left) != Self.attachmentIDs(right)
        default: return false
        }
    }

    /// The set of ids in a stored array; `nil` where it is damaged.
    private static func attachmentIDs(_ stored: [UInt8]) -> Set<AttachmentID>? {
        (try? Attachments(stored: stored)).map { Set($0.ids) }
    }
}

/// What is known of a conversation, a register per field (M-2). The raw values as for ``MessageField``.
enum ConversationField: Int, RegisterField {
    case title = 0
    case kind = 1
    case muted = 2
    case pinned = 3
    case archived = 4
    case markedUnread = 5
    case parent = 6
    case extra = 7

    /// The field's name in event lines.
    var name: String {
        switch self {
        case .title: "title"
        case .kind: "kind"
        case .muted: "muted"
        case .pinned: "pinned"
        case .archived: "archived"
        case .markedUnread: "marked_unread"
        case .parent: "parent"
        case .extra: "extra"
        }
    }

    func contradict(_ left: FieldValue, _ right: FieldValue) -> Bool { self != .extra }
}

/// What is known of somebody's part in a conversation. The raw values as for ``MessageField``.
enum MemberField: Int, RegisterField {
    case role = 0
    case removed = 1
    case extra = 2

    /// The field's name in event lines.
    var name: String {
        switch self {
        case .role: "role"
        case .removed: "removed"
        case .extra: "extra"
        }
    }

    func contradict(_ left: FieldValue, _ right: FieldValue) -> Bool { self != .extra }
}

/// A field's value in the form that is compared and stored.
enum FieldValue: Equatable {
    case integer(Int64)
    case text([UInt8])

    /// Orders values of one field: numbers as numbers, texts as bytes. Any total order would do; it
    /// only has to be the same everywhere.
    static func < (left: FieldValue, right: FieldValue) -> Bool {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): left < right
        case (.text(let left), .text(let right)): left.lexicographicallyPrecedes(right)
        case (.integer, .text): true
        case (.text, .integer): false
        }
    }
}
