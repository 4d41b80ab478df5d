extension Event {
    /// About how many bytes the event has as a line: what it counts against the bounds of queue and
    /// batch. Long texts decide; the rest of an event is small, and counting it exactly would cost
    /// more than it tells.
    var approximateByteCount: Int {
        switch self {
        case .message(let message):
            Self.fieldByteCount + message.body.utf8.count + (message.attachments?.bytes.count ?? 0)
                + (message.extra?.bytes.count ?? 0)
        case .edit(let edit):
            Self.fieldByteCount + (edit.body?.utf8.count ?? 0)
                + (edit.attachments?.bytes.count ?? 0) + (edit.extra?.bytes.count ?? 0)
        case .later(let later): later.line.count
        case .reaction(let reaction): Self.fieldByteCount + (reaction.extra?.bytes.count ?? 0)
        case .conversation(let conversation):
            Self.fieldByteCount + (conversation.title?.utf8.count ?? 0)
                + (conversation.extra?.bytes.count ?? 0)
        case .member(let member): Self.fieldByteCount + (member.extra?.bytes.count ?? 0)
        case .recall, .delete, .read, .clear, .history, .page, .reset: Self.fieldByteCount
        }
    }

    /// The names of the usual fields, ids and instants.
    private static let fieldByteCount = 192
}
