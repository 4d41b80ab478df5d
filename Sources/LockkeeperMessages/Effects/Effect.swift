import LockkeeperCrypto
import LockkeeperDomain

/// Something that a person must be told of a message, or not be told any more (M-11).
public struct Effect: Sendable, Hashable, Identifiable {
    /// The message's row: the number by which the effect is known here.
    public let id: Int64
    /// What is to be done.
    public let kind: Kind
    /// The conversation.
    public let conversation: ConversationID
    /// The message.
    public let message: MessageID
    /// The message as it is now; `nil` of one that is to be withdrawn.
    public let content: StoredMessage?
    /// Where it stands.
    public let state: State
    /// The number of its newest attempt; 0 before the first.
    public let attempt: Int
    /// Why it is where it is, where there is something to say.
    public let reason: String?

    /// What is to be done. The raw values are printed.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Show the message to the person.
        case notify
        /// Take it back: it was read elsewhere, recalled or deleted.
        case withdraw
    }

    /// Where an effect stands. The raw values are printed.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// It waits for somebody, or for its next attempt.
        case waiting
        /// An attempt has begun and was not confirmed yet; perhaps its claimer has died.
        case attempting
        /// Too many attempts failed, or it was refused for good.
        case parked
    }

    /// Names the notification: a notify and its withdraw have the same. What shows notifications uses
    /// it as their name, so that a second notify replaces the first.
    public var tag: String { Self.tag(of: message, in: conversation) }

    /// Names the effect: the same at every attempt, so that whoever acts knows a repetition.
    public var key: String { "\(kind.rawValue)-\(tag)" }

    /// The tag of a message's notification: 32 hexadecimal digits.
    public static func tag(of message: MessageID, in conversation: ConversationID) -> String {
        var digest = SHA256()
        // With the length, so that two pairs never make the same bytes.
        digest.update(Array("\(conversation.bytes.count):".utf8))
        digest.update(conversation.bytes)
        digest.update(message.bytes)
        return Array(digest.finalize().prefix(16)).hexadecimal
    }
}
