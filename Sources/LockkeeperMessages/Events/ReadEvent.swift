/// How far somebody has read, or been delivered to, by the place in the conversation (M-9).
public struct ReadEvent: Sendable, Hashable {
    /// The conversation.
    public var conversation: ConversationID
    /// Up to and with this place; 0 says that nothing is read and that this is known.
    public var sequence: Int64
    /// Who; `nil` is the account's own self.
    public var reader: PersonID?
    /// Read, or delivered only.
    public var kind: Kind

    /// What has happened up to the place. The raw values stand in lines and in the store.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Somebody has seen the messages.
        case read
        /// Somebody's device has the messages.
        case delivered
    }

    /// A position; ``Event/validate(limits:)`` says whether it can be stored.
    public init(
        conversation: ConversationID,
        sequence: Int64,
        reader: PersonID? = nil,
        kind: Kind = .read
    ) {
        self.conversation = conversation
        self.sequence = sequence
        self.reader = reader
        self.kind = kind
    }
}
