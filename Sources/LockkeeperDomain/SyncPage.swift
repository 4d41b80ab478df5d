/// The end of one page of a stream: all events between two cursors have been given (M-12).
public struct SyncPage: Sendable, Hashable {
    /// The stream.
    public var stream: StreamID
    /// The cursor with which the page was asked for; `nil` for a stream's first.
    public var after: Cursor?
    /// The cursor behind the page.
    public var next: Cursor
    /// Whether the server had nothing more at that moment.
    public var isDone: Bool

    /// A page between two cursors.
    public init(stream: StreamID, after: Cursor?, next: Cursor, done: Bool = false) {
        self.stream = stream
        self.after = after
        self.next = next
        self.isDone = done
    }
}

/// Names a sequence of pages of which the server keeps a place for us.
public struct StreamID: ByteIdentifier {
    /// What the identifier names, for error sentences.
    public static let noun = "stream id"
    /// The identifier's bytes.
    public let bytes: [UInt8]
    /// Makes an identifier from bytes that are known to be valid.
    public init(unchecked bytes: [UInt8]) { self.bytes = bytes }
}

/// A place in a stream: the server's own token, which nobody else reads or computes.
public struct Cursor: ByteIdentifier {
    /// What the identifier names, for error sentences.
    public static let noun = "cursor"
    /// The identifier's bytes.
    public let bytes: [UInt8]
    /// Makes an identifier from bytes that are known to be valid.
    public init(unchecked bytes: [UInt8]) { self.bytes = bytes }
}
