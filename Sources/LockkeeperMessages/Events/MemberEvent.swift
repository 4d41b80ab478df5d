/// Somebody's part in a conversation. It always says whether the person is in it; a role that it does
/// not carry stays as it is.
public struct MemberEvent: Sendable, Hashable {
    /// The conversation.
    public var conversation: ConversationID
    /// The person.
    public var person: PersonID
    /// The version of what is carried, 0 or more.
    public var version: Int64
    /// The person's role, in the server's words.
    public var role: String?
    /// Whether the person has left, or was removed.
    public var isRemoved: Bool
    /// Fields that Lockkeeper does not know.
    public var extra: ExtraFields?

    /// A membership; ``Event/validate(limits:)`` says whether it can be stored.
    public init(
        conversation: ConversationID,
        person: PersonID,
        version: Int64,
        role: String? = nil,
        removed: Bool = false,
        extra: ExtraFields? = nil
    ) {
        self.conversation = conversation
        self.person = person
        self.version = version
        self.role = role
        isRemoved = removed
        self.extra = extra
    }

    /// Whether both are the same to the byte.
    public static func == (left: MemberEvent, right: MemberEvent) -> Bool {
        // By the canonical lines, for the reasons that `MessageEvent` has.
        EventEncoder.line(.member(left)) == EventEncoder.line(.member(right))
    }

    /// Feeds what identifies the event.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(conversation)
        hasher.combine(person)
        hasher.combine(version)
    }
}
