import LockkeeperDomain

/// What happened to one row of `lk_message`: what everything that derives from messages is told.
struct RowChange {
    /// The row's number, the same before and after.
    let id: Int64
    /// The index of its conversation in the batch.
    let conversation: Int
    /// The row as it was; `nil` where it is new.
    let before: MessageRow?
    /// The row as it is.
    let after: Content

    /// A row after a change.
    enum Content {
        /// A message that was stored as it came: most are, and nothing is copied for them.
        case event(MessageEvent)
        /// A row that was merged.
        case row(MessageRow)
        /// There is none any more: it was purged.
        case none
    }

    /// A message that was not known and is shown now.
    init(_ id: Int64, of conversation: Int, inserted event: MessageEvent) {
        self.id = id
        self.conversation = conversation
        before = nil
        after = .event(event)
    }

    /// A row that was merged, or that was purged where there is nothing after.
    init(_ id: Int64, of conversation: Int, before: MessageRow?, after: MessageRow?) {
        self.id = id
        self.conversation = conversation
        self.before = before
        self.after = after.map(Content.row) ?? .none
    }
}

extension RowChange.Content {
    /// The state; `nil` where there is no row.
    var state: MessageRow.State? {
        switch self {
        case .event: .shown
        case .row(let row): row.state
        case .none: nil
        }
    }

    /// Whether it has a place in the timeline, with or without text.
    var isPlaced: Bool { state == .shown || state == .recalled }

    var seq: Int64? {
        switch self {
        case .event(let event): event.sequence
        case .row(let row): row.seq
        case .none: nil
        }
    }

    var place: Int64 { seq ?? MessageRow.lastPlace }

    /// The largest seq that any event gave it.
    var mostSeq: Int64? {
        switch self {
        case .event(let event): event.sequence
        case .row(let row): row.mostSeq
        case .none: nil
        }
    }

    /// When the server took it (M-14).
    var serverAt: Int64? {
        switch self {
        case .event(let event): (event.serverAt ?? event.sentAt).millisecondsSince1970
        case .row(let row): row.serverAt
        case .none: nil
        }
    }

    /// Its text as stored bytes; `nil` while it is not shown, and once it was recalled or is gone.
    var text: [UInt8]? {
        switch self {
        case .event(let event): Array(event.body.utf8)
        case .row(let row): row.state == .shown ? row.registers.bytes(.body) : nil
        case .none: nil
        }
    }

    /// The beginning of its text; `nil` where it has none.
    var preview: MessagePreview? {
        switch self {
        case .event(let event): MessagePreview(of: event.body)
        case .row, .none:
            text.map { text in text.withUnsafeBytes { MessagePreview(of: $0) } }
        }
    }

    /// Whether it counts as unread while it stands above the read position (M-9).
    func counts(ownID: [UInt8]?) -> Bool {
        switch self {
        case .event(let event):
            event.counts ?? true
                && (event.isIncoming ?? (ownID.map { $0 != event.sender.bytes } ?? true))
        case .row(let row): row.counts(ownID: ownID)
        case .none: false
        }
    }

    var mentionsMe: Bool {
        switch self {
        case .event(let event): event.mentionsMe ?? false
        case .row(let row): row.mentionsMe
        case .none: false
        }
    }
}

/// What happened to a conversation beside its messages.
enum ConversationChange {
    /// The account's own read position moved; `nil`: it had not been known.
    case read(from: Int64?, to: Int64)
    /// Everything up to a place is gone. The rows were told of before.
    case cleared(upTo: Int64)
    /// What is known of the conversation itself changed.
    case fields(before: Registers<ConversationField>, after: Registers<ConversationField>)
}
