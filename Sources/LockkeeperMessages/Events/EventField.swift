internal import LockkeeperDomain

/// Every field that some event has, about in the order of the lines: the next field of a line is
/// looked for behind the one before it.
enum EventField: Int, CaseIterable {
    case type, stream, after, next, done
    case conversation, id, sequence, sender, sentAt, body, version, by, editedAt, kind, counts
    case incoming, serverAt, clientID, replyTo, mentions, mentionsMe, attachments, expiresAt
    case emoji, slot, removed, title, muted, pinned, archived, markedUnread, parent, person, role
    case from, to, expected

    /// The field's name in a line.
    var name: StaticString {
        switch self {
        case .type: "type"
        case .stream: "stream"
        case .after: "after"
        case .next: "next"
        case .done: "done"
        case .conversation: "conversation"
        case .id: "id"
        case .sequence: "seq"
        case .sender: "sender"
        case .sentAt: "sent_at"
        case .body: "body"
        case .version: "version"
        case .by: "by"
        case .editedAt: "edited_at"
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
        case .emoji: "emoji"
        case .slot: "slot"
        case .removed: "removed"
        case .title: "title"
        case .muted: "muted"
        case .pinned: "pinned"
        case .archived: "archived"
        case .markedUnread: "marked_unread"
        case .parent: "parent"
        case .person: "who"
        case .role: "role"
        case .from: "from"
        case .to: "to"
        case .expected: "expected"
        }
    }

    /// The same as a `String`.
    var text: String { name.description }
}

/// A set of fields in one word.
struct EventFieldSet: OptionSet, Sendable {
    let rawValue: UInt64

    /// The fields of a message; what else stands in its line is extra. The other sets alike.
    static let message: EventFieldSet = [
        .type, .conversation, .id, .sequence, .sender, .sentAt, .body, .version, .kind, .counts,
        .incoming, .serverAt, .clientID, .replyTo, .mentions, .mentionsMe, .attachments, .expiresAt,
    ]
    static let edit: EventFieldSet = [
        .type, .conversation, .id, .version, .by, .editedAt, .body, .mentions, .mentionsMe,
        .attachments, .expiresAt,
    ]
    static let recall: EventFieldSet = [
        .type, .conversation, .id, .version, .by, .sequence, .sender, .sentAt, .incoming,
    ]

    static let reaction: EventFieldSet = [
        .type, .conversation, .id, .by, .emoji, .slot, .version, .removed,
    ]
    static let conversation: EventFieldSet = [
        .type, .conversation, .version, .title, .kind, .muted, .pinned, .archived, .markedUnread,
        .parent,
    ]
    static let member: EventFieldSet = [
        .type, .conversation, .person, .version, .role, .removed,
    ]

    init(rawValue: UInt64) { self.rawValue = rawValue }

    init(arrayLiteral fields: EventField...) {
        self.init(rawValue: fields.reduce(0) { $0 | 1 << UInt64($1.rawValue) })
    }

    /// Whether a field is in the set.
    func has(_ field: EventField) -> Bool { rawValue >> UInt64(field.rawValue) & 1 == 1 }

    /// The names of the fields.
    var names: Set<[UInt8]> {
        Set(EventField.allCases.filter(has).map { Array($0.text.utf8) })
    }

    /// Adds a field.
    mutating func add(_ field: EventField) {
        self = EventFieldSet(rawValue: rawValue | 1 << UInt64(field.rawValue))
    }
}
