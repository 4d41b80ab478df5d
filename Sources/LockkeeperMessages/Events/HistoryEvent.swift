/// All messages that the server has in a range of places have been given (M-13).
public struct HistoryEvent: Sendable, Hashable {
    /// The conversation.
    public var conversation: ConversationID
    /// The first place of the range, above 0.
    public var from: Int64
    /// The last place of the range, not below the first.
    public var to: Int64

    /// A range; ``Event/validate(limits:)`` says whether it can be stored.
    public init(conversation: ConversationID, from: Int64, to: Int64) {
        self.conversation = conversation
        self.from = from
        self.to = to
    }
}
