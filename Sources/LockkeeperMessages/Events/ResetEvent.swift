/// The server no longer knows a stream's cursor: the stream needs a full sync (M-12, R-57).
public struct ResetEvent: Sendable, Hashable {
    /// The stream.
    public var stream: StreamID
    /// The cursor that was refused. Where the stream has moved on since, the event is overtaken.
    public var expected: Cursor

    /// The refusal of a cursor.
    public init(stream: StreamID, expected: Cursor) {
        self.stream = stream
        self.expected = expected
    }
}
