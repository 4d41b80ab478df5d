import LockkeeperDomain

/// What an item of the outbox tells the server. The raw values are stored and printed.
public enum OutboxAct: String, Sendable, Hashable, CaseIterable {
    /// A message of the account's own.
    case send
    /// A newer text of a message.
    case edit
    /// The end of a message's content.
    case recall
    /// A message is gone for the account.
    case delete
    /// A reaction, or its end.
    case reaction
    /// Everything up to a place is gone for the account.
    case clear
    /// How far the account has read.
    case read
    /// How far the account has been delivered to.
    case delivered

    /// Whether an attempt of unknown outcome may be made again whatever the contract says. Only a
    /// message can be there twice: a recall, a deletion and a position only grow, and an edit or a
    /// reaction that comes again says the same.
    var repeatsSafely: Bool { self != .send }

    /// Whether a newer item of the same conversation says all that an older one says.
    var isSupersededByNewer: Bool { self == .read || self == .delivered || self == .clear }

    /// The smallest version at which the server can have it.
    package var versionMin: Int64 { self == .edit ? 2 : 1 }

    /// Whether it is merged only once the server has confirmed it.
    var isMergedWhenConfirmed: Bool { self == .edit || self == .recall || self == .reaction }
}

/// Something that the server must be told and has not confirmed (M-10).
public struct OutboxItem: Sendable, Hashable, Identifiable {
    /// The item's number: its place in the order of all items. Never given again.
    public let id: Int64
    /// What the server is told.
    public let act: OutboxAct
    /// The conversation.
    public let conversation: ConversationID
    /// Of a message that is to be sent: what names it until the server has given it an id. Every
    /// attempt carries the same.
    public let clientID: ClientID?
    /// Of another act: the message that it is about.
    public let message: MessageID?
    /// The act as an event. That of a message that is to be sent has the client id in the place of
    /// its id, no seq, and version 0.
    public let event: Event
    /// When the account did it; for people.
    public let createdAt: Timestamp
    /// Where it stands.
    public let state: State
    /// The number of its newest attempt; 0 before the first.
    public let attempt: Int
    /// Why it is where it is, where there is something to say. It never holds message text, unless
    /// whoever answered an attempt put some in.
    public let reason: String?

    /// Where an item stands. The raw values are printed.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// It waits for its turn, or for its next attempt.
        case waiting
        /// An attempt has begun and was not answered yet; perhaps its claimer has died.
        case sending
        /// An attempt had no answer, and the server would take the message twice.
        case unknown
        /// It was refused for good or failed too often.
        case parked

        /// Whether it may yet be done without anybody's asking.
        public var isOnItsWay: Bool { self == .waiting || self == .sending }

        init(_ phase: AttemptState.Phase) {
            self =
                switch phase {
                case .waiting: .waiting
                case .attempting: .sending
                case .unknown: .unknown
                case .parked: .parked
                }
        }
    }

    /// A name of the item that is the same for every attempt: what a server, or whoever stands before
    /// it, knows a repetition by.
    public var key: String {
        if let clientID { return clientID.description }
        // With the time: a restored backup gives numbers again that were given before.
        return "item-\(id)-\(createdAt.millisecondsSince1970)"
    }
}

/// A message that the account wants to send.
public struct OutgoingMessage: Sendable, Hashable {
    /// The conversation.
    public var conversation: ConversationID
    /// What names it until the server has given it an id; random where nothing is said. A program
    /// that is not sure whether it has sent a message sends it again under the same.
    public var clientID: ClientID
    /// The text, byte for byte.
    public var body: String
    /// What kind of content it is; read as "text".
    public var kind: String?
    /// The message that it answers.
    public var replyTo: MessageID?
    /// Who is mentioned.
    public var mentions: [PersonID]?
    /// Its attachments.
    public var attachments: Attachments?
    /// When its content ends to be shown.
    public var expiresAt: Timestamp?
    /// Fields that Lockkeeper does not know.
    public var extra: ExtraFields?

    /// A message.
    public init(
        conversation: ConversationID,
        body: String,
        clientID: ClientID? = nil,
        kind: String? = nil,
        replyTo: MessageID? = nil,
        mentions: [PersonID]? = nil,
        attachments: Attachments? = nil,
        expiresAt: Timestamp? = nil,
        extra: ExtraFields? = nil
    ) {
        self.conversation = conversation
        self.body = body
        self.clientID = clientID ?? .random()
        self.kind = kind
        self.replyTo = replyTo
        self.mentions = mentions
        self.attachments = attachments
        self.expiresAt = expiresAt
        self.extra = extra
    }
}

extension ClientID {
    /// A client id that nobody else has: 128 random bits in hexadecimal.
    public static func random() -> ClientID {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return ClientID(unchecked: Array(bytes.hexadecimal.utf8))
    }
}

/// What became of a message that was to be sent.
public struct SendReceipt: Sendable, Hashable {
    /// What names it.
    public let clientID: ClientID
    /// The item that tells the server; `nil` where there is none any more.
    public let item: Int64?
    /// Whether the outbox had not known it.
    public let isNew: Bool
    /// The message's id, where it was sent already.
    public let message: MessageID?
    /// Whether it was taken out of the outbox before anybody said that it was sent: it is not sent, also
    /// not now. Under another client id it is.
    public var isCancelled: Bool { !isNew && item == nil && message == nil }
}
