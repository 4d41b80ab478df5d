public import LockkeeperDomain

// Identity in the messages' world. Each is a type of its own, so that no id is taken for another.

/// Names a conversation within an account.
public struct ConversationID: ByteIdentifier {
    /// What the identifier names, for error sentences.
    public static let noun = "conversation id"
    /// The identifier's bytes.
    public let bytes: [UInt8]
    /// Makes an identifier from bytes that are known to be valid.
    public init(unchecked bytes: [UInt8]) { self.bytes = bytes }
}

/// Names a message within its conversation (M-1).
public struct MessageID: ByteIdentifier {
    /// What the identifier names, for error sentences.
    public static let noun = "message id"
    /// The identifier's bytes.
    public let bytes: [UInt8]
    /// Makes an identifier from bytes that are known to be valid.
    public init(unchecked bytes: [UInt8]) { self.bytes = bytes }
}

/// Names a person: a sender, whoever edits, recalls or reads, or the account's own self.
public struct PersonID: ByteIdentifier {
    /// What the identifier names, for error sentences.
    public static let noun = "person id"
    /// The identifier's bytes.
    public let bytes: [UInt8]
    /// Makes an identifier from bytes that are known to be valid.
    public init(unchecked bytes: [UInt8]) { self.bytes = bytes }
}

/// Names an attachment within its message. Its address may change, its id does not.
public struct AttachmentID: ByteIdentifier {
    /// What the identifier names, for error sentences.
    public static let noun = "attachment id"
    /// The identifier's bytes.
    public let bytes: [UInt8]
    /// Makes an identifier from bytes that are known to be valid.
    public init(unchecked bytes: [UInt8]) { self.bytes = bytes }
}

/// Names a message of one's own before the server has given it an id (M-10).
public struct ClientID: ByteIdentifier {
    /// What the identifier names, for error sentences.
    public static let noun = "client id"
    /// The identifier's bytes.
    public let bytes: [UInt8]
    /// Makes an identifier from bytes that are known to be valid.
    public init(unchecked bytes: [UInt8]) { self.bytes = bytes }
}

/// Names one of a person's reactions on a message (M-8).
public struct ReactionSlot: ByteIdentifier {
    /// What the identifier names, for error sentences.
    public static let noun = "reaction slot"
    /// The identifier's bytes.
    public let bytes: [UInt8]
    /// Makes an identifier from bytes that are known to be valid.
    public init(unchecked bytes: [UInt8]) { self.bytes = bytes }
}
