/// A fact that the present merge rules do not know: its type is new.
///
/// It is kept whole and decoded again when the merge rules get a new number.
public struct LaterEvent: Sendable, Hashable {
    /// The type that the line names.
    public let type: String
    /// The line without insignificant white space.
    public let line: [UInt8]

    /// Keeps a checked, canonical line.
    package init(type: String, line: [UInt8]) {
        self.type = type
        self.line = line
    }
}
