/// What is known about a conversation itself. What it does not carry stays as it is (M-2).
public struct ConversationEvent: Sendable, Hashable {
    /// The conversation.
    public var conversation: ConversationID
    /// The version of what is carried, 0 or more.
    public var version: Int64
    /// Its name.
    public var title: String?
    /// What kind of conversation it is, in the server's words.
    public var kind: String?
    /// Whether it is silent: it notifies nobody and is left out of the total of unread messages.
    public var isMuted: Bool?
    /// Whether it stands before the others in the list (M-14).
    public var isPinned: Bool?
    /// Whether it was put away.
    public var isArchived: Bool?
    /// Whether somebody has marked it as unread by hand. The read position is not moved by it.
    public var isMarkedUnread: Bool?
    /// The conversation that it belongs to, a thread's for example.
    public var parent: ConversationID?
    /// Fields that Lockkeeper does not know.
    public var extra: ExtraFields?

    /// What is known at a version; ``Event/validate(limits:)`` says whether it can be stored.
    public init(
        conversation: ConversationID,
        version: Int64,
        title: String? = nil,
        kind: String? = nil,
        muted: Bool? = nil,
        pinned: Bool? = nil,
        archived: Bool? = nil,
        markedUnread: Bool? = nil,
        parent: ConversationID? = nil,
        extra: ExtraFields? = nil
    ) {
        self.conversation = conversation
        self.version = version
        self.title = title
        self.kind = kind
        isMuted = muted
        isPinned = pinned
        isArchived = archived
        isMarkedUnread = markedUnread
        self.parent = parent
        self.extra = extra
    }

    /// Whether both are the same to the byte.
    public static func == (left: ConversationEvent, right: ConversationEvent) -> Bool {
        // By the canonical lines, for the reasons that `MessageEvent` has.
        EventEncoder.line(.conversation(left)) == EventEncoder.line(.conversation(right))
    }

    /// Feeds what identifies the event.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(conversation)
        hasher.combine(version)
    }
}
