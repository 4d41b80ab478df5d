/// The end of a message's content, final at any version (M-6).
///
/// It may carry what stays of the message, so that a store that never had it shows the same gap as
/// one that did.
public struct RecallEvent: Sendable, Hashable {
    /// The conversation.
    public var conversation: ConversationID
    /// The message.
    public var id: MessageID
    /// The version at which it was recalled, 0 or more.
    public var version: Int64
    /// Who recalled it, where the server says so.
    public var recaller: PersonID?
    /// The message's place in the conversation, above 0.
    public var sequence: Int64?
    /// Who wrote the message.
    public var sender: PersonID?
    /// When the sender says that it was written.
    public var sentAt: Timestamp?
    /// Whether others wrote it.
    public var isIncoming: Bool?
    /// Fields that Lockkeeper does not know.
    public var extra: ExtraFields?

    /// A recall; ``Event/validate(limits:)`` says whether it can be stored.
    public init(
        conversation: ConversationID,
        id: MessageID,
        version: Int64,
        recaller: PersonID? = nil,
        sequence: Int64? = nil,
        sender: PersonID? = nil,
        sentAt: Timestamp? = nil,
        isIncoming: Bool? = nil,
        extra: ExtraFields? = nil
    ) {
        self.conversation = conversation
        self.id = id
        self.version = version
        self.recaller = recaller
        self.sequence = sequence
        self.sender = sender
        self.sentAt = sentAt
        self.isIncoming = isIncoming
        self.extra = extra
    }
}
