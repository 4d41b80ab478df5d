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
