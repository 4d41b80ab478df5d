/// What somebody has put on a message, or taken off it again: a register per person and slot (M-8).
public struct ReactionEvent: Sendable, Hashable {
    /// The conversation.
    public var conversation: ConversationID
    /// The message.
    public var id: MessageID
    /// Who reacts.
    public var reactor: PersonID
    /// What is put on the message, 1 to 512 bytes.
    public var emoji: String
    /// Which of the person's reactions it is; `nil` is the emoji itself. Where the server allows one
    /// reaction a person, every event names the same slot.
    public var slot: ReactionSlot?
    /// The version on the slot's own line.
    public var version: Int64
    /// Whether the reaction was taken off.
    public var isRemoved: Bool
    /// Fields that Lockkeeper does not know.
    public var extra: ExtraFields?

    /// A reaction; ``Event/validate(limits:)`` says whether it can be stored.
    public init(
        conversation: ConversationID,
        id: MessageID,
        reactor: PersonID,
        emoji: String,
        slot: ReactionSlot? = nil,
        version: Int64,
        removed: Bool = false,
        extra: ExtraFields? = nil
    ) {
        self.conversation = conversation
        self.id = id
        self.reactor = reactor
        self.emoji = emoji
        self.slot = slot
        self.version = version
        isRemoved = removed
        self.extra = extra
    }

    /// The slot's key.
    var slotBytes: [UInt8] { slot?.bytes ?? Array(emoji.utf8) }

    /// Whether both are the same to the byte.
    public static func == (left: ReactionEvent, right: ReactionEvent) -> Bool {
        // By the canonical lines, for the reasons that `MessageEvent` has.
        EventEncoder.line(.reaction(left)) == EventEncoder.line(.reaction(right))
    }

    /// Feeds what identifies the reaction.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(conversation)
        hasher.combine(id)
        hasher.combine(reactor)
        hasher.combine(version)
    }
}
