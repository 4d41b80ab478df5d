/// Why something is no ``Timestamp``.
public enum TimestampError: Error, Hashable, CustomStringConvertible {
    /// Thrown when a text is not RFC 3339 from this byte on, or names a day or time that no
    /// calendar has.
    case malformed(offset: Int)
    /// Thrown when an instant lies before the year 1 or after the year 9999, in UTC.
    case outOfRange

    /// The problem as a sentence.
    public var description: String {
        switch self {
        case .malformed(let offset): "the text is no RFC 3339 date and time (at byte \(offset))"
        case .outOfRange: "an instant lies in the years 1 to 9999"
        }
    }
}
