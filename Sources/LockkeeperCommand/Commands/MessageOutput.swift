import LockkeeperDomain
import LockkeeperMessages

/// How a message is printed.
enum MessageOutput {
    /// A message as one line for people.
    static func line(_ message: StoredMessage) -> String {
        let seq = message.sequence.map(String.init) ?? "-"
        let time = message.sentAt?.description ?? "-"
        let sender = message.sender.map { terminalID($0.description) } ?? "?"
        // Deleted, cleared and expired look alike: what it was is nobody's business any more.
        var text =
            message.isGone
            ? "(gone)" : message.isRecalled ? "(recalled)" : terminalText(message.body ?? "")
        if message.editedAt != nil || message.version > 1, !message.isRecalled, !message.isGone {
            text += " (edited)"
        }
        if message.isDamaged { text += " (damaged)" }
        if let pending = message.pendingChange { text = line(message.wantedBody, text, pending) }
        return "\(seq)\t\(time)\t\(sender): \(text)"
    }

    /// What is on its way is shown as if it were done; what is held is only named.
    private static func line(
        _ wanted: String?,
        _ text: String,
        _ pending: PendingChange
    ) -> String {
        let state = pending.state.rawValue
        switch pending.change {
        case .edit where !pending.state.isOnItsWay: return "\(text) (edit \(state))"
        case .edit: return "\(terminalText(wanted ?? "")) (edit \(state))"
        case .recall where !pending.state.isOnItsWay: return "\(text) (recall \(state))"
        case .recall: return "(recall \(state))"
        }
    }

    /// Writes what is on its way.
    private static func write(_ pending: PendingChange, into writer: inout JSONWriter) {
        writer.key("pending")
        writer.beginObject()
        writer.member("item", pending.item)
        switch pending.change {
        case .edit(let body):
            writer.member("act", "edit")
            writer.member("body", body)
        case .recall: writer.member("act", "recall")
        }
        writer.member("state", pending.state.rawValue)
        writer.member("reason", pending.reason)
        writer.endObject()
    }

    /// The last message of a conversation as one line for people.
    static func line(_ message: LastMessage) -> String {
        let seq = message.sequence.map(String.init) ?? "-"
        let time = message.sentAt?.description ?? "-"
        let sender = message.sender.map { terminalID($0.description) } ?? "?"
        var text = message.isRecalled ? "(recalled)" : terminalText(message.preview ?? "")
        if message.isCut { text += "…" }
        if message.editedAt != nil || message.version > 1, !message.isRecalled {
            text += " (edited)"
        }
        if message.isDamaged { text += " (damaged)" }
        if let pending = message.pendingChange { text = line(message.wantedPreview, text, pending) }
        return "\(seq)\t\(time)\t\(sender): \(text)"
    }

    /// Writes the members of a conversation's last message.
    static func write(_ message: LastMessage, into writer: inout JSONWriter) {
        writer.member("id", message.id)
        writer.member("seq", message.sequence)
        writer.member("sender", message.sender)
        writer.member("sent_at", message.sentAt)
        writer.member("server_at", message.serverAt)
        writer.member("preview", message.preview)
        writer.member("cut", message.isCut)
        writer.member("version", message.version)
        writer.member("kind", message.kind)
        writer.member("has_attachments", message.hasAttachments)
        writer.member("incoming", message.isIncoming)
        writer.member("recalled", message.isRecalled)
        if message.isDamaged { writer.member("damaged", true) }
        if let editedAt = message.editedAt { writer.member("edited_at", editedAt) }
        if let pending = message.pendingChange { write(pending, into: &writer) }
    }

    /// Writes what people have put on a message.
    static func write(_ reactions: [Reaction], into writer: inout JSONWriter) {
        writer.key("reactions")
        writer.beginArray()
        for reaction in reactions {
            writer.beginObject()
            writer.member("by", reaction.reactor)
            writer.member("emoji", reaction.emoji)
            writer.member("slot", reaction.slot)
            writer.endObject()
        }
        writer.endArray()
    }

    /// Writes a message's members.
    static func write(_ message: StoredMessage, into writer: inout JSONWriter) {
        writer.member("conversation", message.conversation)
        writer.member("id", message.id)
        writer.member("seq", message.sequence)
        writer.member("sender", message.sender)
        writer.member("sent_at", message.sentAt)
        writer.member("server_at", message.serverAt)
        writer.member("body", message.body)
        writer.member("version", message.version)
        writer.member("kind", message.kind)
        writer.member("incoming", message.isIncoming)
        writer.member("recalled", message.isRecalled)
        if message.isGone { writer.member("gone", true) }
        if message.isDamaged { writer.member("damaged", true) }
        if let pending = message.pendingChange { write(pending, into: &writer) }
        if let editedAt = message.editedAt { writer.member("edited_at", editedAt) }
        if let replyTo = message.replyTo { writer.member("reply_to", replyTo) }
        if let clientID = message.clientID { writer.member("client_id", clientID) }
        if let attachments = message.attachments {
            writer.key("attachments")
            writer.raw(attachments.utf8)
        }
        if let extra = message.extra {
            writer.key("extra")
            writer.raw(extra.utf8)
        }
    }
}
