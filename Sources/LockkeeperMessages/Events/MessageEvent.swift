/// A message as the server, a push payload (version 0) or an export states it.
public struct MessageEvent: Sendable, Hashable {
    /// The conversation.
    public var conversation: ConversationID
    /// The message's id in its conversation.
    public var id: MessageID
    /// The place in the conversation, above 0; only a provisional message may lack it.
    public var sequence: Int64?
    /// Who wrote it.
    public var sender: PersonID
    /// When the sender says that it was written.
    public var sentAt: Timestamp
    /// The text, byte for byte.
    public var body: String
    /// The version on the line that messages and edits share; 0 is provisional (M-4).
    public var version: Int64
    /// What kind of content it is; read as "text".
    public var kind: String?
    /// Whether it counts as unread; read as true.
    public var counts: Bool?
    /// Whether others wrote it; read as whether the sender is not the account's own id.
    public var isIncoming: Bool?
    /// When the server took it; read as ``sentAt``.
    public var serverAt: Timestamp?
    /// The id that its writer gave it before the server did (M-10).
    public var clientID: ClientID?
    /// The message that it answers.
    public var replyTo: MessageID?
    /// Who is mentioned, in the order of the line.
    public var mentions: [PersonID]?
    /// Whether the account's own self is mentioned; read as false.
    public var mentionsMe: Bool?
    /// Its attachments; read as none.
    public var attachments: Attachments?
    /// When its content ends to be shown.
    public var expiresAt: Timestamp?
    /// Fields that Lockkeeper does not know.
    public var extra: ExtraFields?

    /// The version of a message whose line names none.
    public static let versionDefault: Int64 = 1

    /// A message; ``Event/validate(limits:)`` says whether it can be stored.
    public init(
        conversation: ConversationID,
        id: MessageID,
        sequence: Int64?,
        sender: PersonID,
        sentAt: Timestamp,
        body: String,
        version: Int64 = versionDefault,
        kind: String? = nil,
        counts: Bool? = nil,
        isIncoming: Bool? = nil,
        serverAt: Timestamp? = nil,
        clientID: ClientID? = nil,
        replyTo: MessageID? = nil,
        mentions: [PersonID]? = nil,
        mentionsMe: Bool? = nil,
        attachments: Attachments? = nil,
        expiresAt: Timestamp? = nil,
        extra: ExtraFields? = nil
    ) {
        self.conversation = conversation
        self.id = id
        self.sequence = sequence
        self.sender = sender
        self.sentAt = sentAt
        self.body = body
        self.version = version
        self.kind = kind
        self.counts = counts
        self.isIncoming = isIncoming
        self.serverAt = serverAt
        self.clientID = clientID
        self.replyTo = replyTo
        self.mentions = mentions
        self.mentionsMe = mentionsMe
        self.attachments = attachments
        self.expiresAt = expiresAt
        self.extra = extra
    }

    /// Whether this only stands in until a server's version comes (M-4).
    public var isProvisional: Bool { version == 0 }

    /// Whether both are the same to the byte.
    public static func == (left: MessageEvent, right: MessageEvent) -> Bool {
        // By the canonical lines: `String` would compare by canonical equivalence, and a list of
        // fields would one day miss one.
        EventEncoder.line(.message(left)) == EventEncoder.line(.message(right))
    }

    /// Feeds what identifies the message.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(conversation)
        hasher.combine(id)
        hasher.combine(version)
    }
}
