/// A newer version of some of a message's fields. What it does not carry stays as it is.
public struct EditEvent: Sendable, Hashable {
    /// The conversation.
    public var conversation: ConversationID
    /// The message.
    public var id: MessageID
    /// The version of what is carried, above 1, on the line that messages and edits share.
    public var version: Int64
    /// Who edited it, where the server says so.
    public var editor: PersonID?
    /// When it was edited, where the server says so.
    public var editedAt: Timestamp?
    /// The new text.
    public var body: String?
    /// Who is mentioned now.
    public var mentions: [PersonID]?
    /// Whether the account's own self is mentioned now.
    public var mentionsMe: Bool?
    /// The attachments now.
    public var attachments: Attachments?
    /// When the content now ends to be shown.
    public var expiresAt: Timestamp?
    /// Fields that Lockkeeper does not know.
    public var extra: ExtraFields?

    /// An edit; ``Event/validate(limits:)`` says whether it can be stored.
    public init(
        conversation: ConversationID,
        id: MessageID,
        version: Int64,
        editor: PersonID? = nil,
        editedAt: Timestamp? = nil,
        body: String? = nil,
        mentions: [PersonID]? = nil,
        mentionsMe: Bool? = nil,
        attachments: Attachments? = nil,
        expiresAt: Timestamp? = nil,
        extra: ExtraFields? = nil
    ) {
        self.conversation = conversation
        self.id = id
        self.version = version
        self.editor = editor
        self.editedAt = editedAt
        self.body = body
        self.mentions = mentions
        self.mentionsMe = mentionsMe
        self.attachments = attachments
        self.expiresAt = expiresAt
        self.extra = extra
    }

    /// Whether both are the same to the byte.
    public static func == (left: EditEvent, right: EditEvent) -> Bool {
        // By the canonical lines, for the reasons that `MessageEvent` has.
        EventEncoder.line(.edit(left)) == EventEncoder.line(.edit(right))
    }

    /// Feeds what identifies the edit.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(conversation)
        hasher.combine(id)
        hasher.combine(version)
    }
}
