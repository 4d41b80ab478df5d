/// How far somebody has read, or been delivered to, by the place in the conversation or by the message
/// that stands there (M-9).
public struct ReadEvent: Sendable, Hashable {
    /// The conversation.
    public var conversation: ConversationID
    /// Up to and with what.
    public var target: Target
    /// Who; `nil` is the account's own self.
    public var reader: PersonID?
    /// Read, or delivered only.
    public var kind: Kind

    /// Up to where a position reaches.
    public enum Target: Sendable, Hashable {
        /// A place, whether or not its message is known; 0 says that nothing is read and that this is
        /// known.
        case sequence(Int64)
        /// A message; the position waits until its place is known.
        case message(MessageID)
    }

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
        target: Target,
        reader: PersonID? = nil,
        kind: Kind = .read
    ) {
        self.conversation = conversation
        self.target = target
        self.reader = reader
        self.kind = kind
    }

    /// A position by its place.
    public init(
        conversation: ConversationID,
        sequence: Int64,
        reader: PersonID? = nil,
        kind: Kind = .read
    ) {
        self.init(
            conversation: conversation,
            target: .sequence(sequence),
            reader: reader,
            kind: kind
        )
    }

    /// The place, where the position names it.
    public var sequence: Int64? {
        if case .sequence(let sequence) = target { return sequence }
        return nil
    }

    /// The message, where the position names one.
    public var message: MessageID? {
        if case .message(let message) = target { return message }
        return nil
    }
}
