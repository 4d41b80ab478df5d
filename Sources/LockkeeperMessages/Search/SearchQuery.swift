import LockkeeperDomain

/// What is looked for.
public struct SearchQuery: Sendable, Hashable {
    /// How the text is understood. None of it is syntax: every character stands for itself.
    public enum Match: Sendable, Hashable {
        /// Its words, in any order and anywhere in the message, inside of longer words too.
        case words
        /// All of it in one piece. White space, whatever it is and however much, matches white space.
        case phrase
    }

    /// What a person typed. Empty text, or one of nothing but white space, finds nothing.
    public var text: String
    /// How it is understood.
    public var match: Match
    /// Only messages of one conversation.
    public var conversation: ConversationID?
    /// Only messages of one sender.
    public var sender: PersonID?
    /// Only messages that the server took at this instant or later.
    public var after: Timestamp?
    /// Only messages that the server took before this instant.
    public var before: Timestamp?

    /// A question.
    public init(
        _ text: String,
        match: Match = .words,
        conversation: ConversationID? = nil,
        sender: PersonID? = nil,
        after: Timestamp? = nil,
        before: Timestamp? = nil
    ) {
        self.text = text
        self.match = match
        self.conversation = conversation
        self.sender = sender
        self.after = after
        self.before = before
    }
}

/// A place in the order of hits, to page from.
///
/// Hits are ordered by the time at which the server took them, the newest first; those of one
/// instant by conversation, and within one from its end. The order follows from the messages alone:
/// it is the same whatever came first.
public struct SearchPlace: Sendable, Hashable {
    /// When the server took the message.
    public let serverAt: Timestamp
    /// Its conversation.
    public let conversation: ConversationID
    /// Its place there.
    public let place: MessagePlace
}

/// A message that was found.
public struct SearchHit: Sendable, Hashable, Identifiable {
    /// The message.
    public let message: StoredMessage
    /// The part of its text to show.
    public let snippet: SearchSnippet
    /// Where it stands among the hits: the next page begins after the last one's.
    public let place: SearchPlace

    /// The conversation and the message's id in it.
    public var id: [[UInt8]] { [message.conversation.bytes, message.id.bytes] }
}

/// How far the index of texts is behind the messages. What is found does not depend on it; how long
/// it takes does.
public struct SearchStatus: Sendable, Hashable {
    /// Why texts are not indexed at all, as a sentence; `nil` where they are. Searching then reads
    /// every message.
    public let shortcoming: String?
    /// Whether the index is made anew and not whole yet.
    public let isBeingMade: Bool
    /// Rows that are in the index or need not be.
    public let indexedCount: Int
    /// Rows that are not in it yet and are looked through one by one.
    public let waitingCount: Int

    /// Whether everything is in the index.
    public var isCaughtUp: Bool { shortcoming == nil && !isBeingMade && waitingCount == 0 }
}
