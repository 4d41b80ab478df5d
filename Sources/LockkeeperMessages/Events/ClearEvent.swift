/// For the account's own self everything up to a place is gone from a conversation (M-7).
public struct ClearEvent: Sendable, Hashable {
    /// The conversation.
    public var conversation: ConversationID
    /// Up to and with this place, above 0.
    public var sequence: Int64

    /// A clear; ``Event/validate(limits:)`` says whether it can be stored.
    public init(conversation: ConversationID, sequence: Int64) {
        self.conversation = conversation
        self.sequence = sequence
    }
}
