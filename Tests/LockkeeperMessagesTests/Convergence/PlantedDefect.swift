import LockkeeperMessages

/// A mistake that stores of this kind are known to make, made on purpose: the property must see it
/// (a harness that cannot fail proves nothing).
enum PlantedDefect: CaseIterable {
    /// An edit or recall of a message that has not come yet is dropped.
    case earlyEditsAreLost
    /// The version is ignored: what arrives last is the newest.
    case lastWriterWins
    /// The cursor goes wherever the page that arrives leads (B56).
    case cursorFollowsAnyPage

    /// What the defective store makes of an event after those that came before it.
    func distort(_ event: Event, after earlier: [Event]) -> Event? {
        switch (self, event) {
        case (.earlyEditsAreLost, .edit(let edit)):
            return earlier.contains { $0.isMessage(edit.id) } ? event : nil
        case (.earlyEditsAreLost, .recall(let recall)):
            return earlier.contains { $0.isMessage(recall.id) } ? event : nil
        case (.lastWriterWins, .edit(var edit)):
            guard !earlier.contains(event) else { return event }
            edit.version = max(edit.version, Self.newest(edit.id, earlier) + 1)
            return .edit(edit)
        case (.lastWriterWins, .message(var message)):
            guard !earlier.contains(event) else { return event }
            message.version = max(message.version, Self.newest(message.id, earlier) + 1)
            return .message(message)
        case (.cursorFollowsAnyPage, .page(var page)):
            let last = earlier.last { if case .page = $0 { true } else { false } }
            if case .page(let last) = last { page.after = last.next } else { page.after = nil }
            return .page(page)
        default: return event
        }
    }

    private static func newest(_ id: MessageID, _ earlier: [Event]) -> Int64 {
        earlier.compactMap { event in
            switch event {
            case .message(let message) where message.id == id: message.version
            case .edit(let edit) where edit.id == id: edit.version
            default: nil
            }
        }.max() ?? -1
    }
}

extension Event {
    fileprivate func isMessage(_ id: MessageID) -> Bool {
        if case .message(let message) = self { message.id == id } else { false }
    }
}
