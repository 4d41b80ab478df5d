/// The end of a message for the account's own self, on all of its devices (M-7).
///
/// It may carry the message's place, so that a store that never had it keeps the place taken.
public struct DeleteEvent: Sendable, Hashable {
    /// The conversation.
    public var conversation: ConversationID
    /// The message.
    public var id: MessageID
    /// The message's place in the conversation, above 0, where it is known.
    public var sequence: Int64?
    /// The version at which the message has that place; 0 gives way to any other.
    public var version: Int64

    /// A deletion; ``Event/validate(limits:)`` says whether it can be stored.
    public init(
        conversation: ConversationID,
        id: MessageID,
        sequence: Int64? = nil,
        version: Int64 = 0
    ) {
        self.conversation = conversation
        self.id = id
        self.sequence = sequence
        self.version = version
    }
}
