import LockkeeperSQLite

/// Whether messages that are merged may notify.
public enum EffectPolicy: String, Sendable, Hashable, CaseIterable {
    /// Each message notifies once, when it is first shown and unread, as M-11 says.
    case decide
    /// None does: an import, or history that the account has seen elsewhere.
    case suppress
}

/// Decides in a merge which messages people are told of (M-11).
///
/// It follows what becomes of rows, not which event it came by. A message is first shown once, so that
/// *notify* is decided once, whoever ingests it how often; whatever makes it unfit afterwards takes it
/// back.
struct EffectDecisions {
    private let table: EffectTable
    private let policy: EffectPolicy
    /// Up to where conversations notify of nothing, as far as they were looked up.
    private var quietPlaces: [Int64: Int64] = [:]

    init(connection: Connection, policy: EffectPolicy) {
        table = EffectTable(connection: connection)
        self.policy = policy
    }

    /// A message's row changed.
    mutating func follow(
        _ change: RowChange,
        in conversation: ConversationState,
        ownID: [UInt8]?
    ) throws {
        // Its number may be given to another message.
        guard change.after.state != nil else { return try table.forget(change.id) }
        let (wasShown, isShown) = (change.before?.state == .shown, change.after.state == .shown)
        guard wasShown || isShown else { return }
        let isFit =
            change.after.place > conversation.readSeq ?? 0 && change.after.counts(ownID: ownID)
        if !wasShown {
            guard isFit, policy == .decide else { return }
            if change.after.place > (try quietPlace(conversation.row)) {
                try table.notify(change.id)
            }
        } else if !isFit {
            try table.takeBack(change.id)
        }
    }

    /// The account has read a range of places.
    func read(_ conversation: Int64, above lower: Int64, upTo upper: Int64) throws {
        try table.takeBack(in: conversation, above: lower, upTo: upper)
    }

    /// What is known of a conversation, whether it is muted for example, is another than it was.
    mutating func fieldsChanged(of conversation: Int64) { quietPlaces[conversation] = nil }

    private mutating func quietPlace(_ conversation: Int64) throws -> Int64 {
        if let known = quietPlaces[conversation] { return known }
        let place = try table.quietPlace(conversation)
        quietPlaces[conversation] = place
        return place
    }
}
