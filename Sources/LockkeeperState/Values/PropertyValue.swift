/// A value of the kinds that property lists have. There is no null: what is not there is left out.
public indirect enum PropertyValue: Sendable, Equatable {
    /// A text.
    case string(String)
    /// A whole number.
    case integer(Int64)
    /// A floating-point number; compared as numbers are, so that NaN equals nothing.
    case real(Double)
    /// True or false, which is no number.
    case bool(Bool)
    /// An instant.
    case date(DateValue)
    /// Bytes.
    case data(DataValue)
    /// Values in order.
    case array([PropertyValue])
    /// Values by name.
    case dictionary([String: PropertyValue])

    /// What kind of value it is, as command lines and errors name it.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case string, integer, real, bool, date, data, array, dictionary
    }

    /// The value's kind.
    public var kind: Kind {
        switch self {
        case .string: .string
        case .integer: .integer
        case .real: .real
        case .bool: .bool
        case .date: .date
        case .data: .data
        case .array: .array
        case .dictionary: .dictionary
        }
    }
}

/// An instant, to the millisecond.
public struct DateValue: Sendable, Hashable, Codable {
    /// Milliseconds since 1970 UTC, negative before.
    public let millisecondsSince1970: Int64

    /// Wraps a number of milliseconds.
    public init(millisecondsSince1970: Int64) {
        self.millisecondsSince1970 = millisecondsSince1970
    }
}

/// Bytes as one value, told from an array of numbers.
public struct DataValue: Sendable, Hashable, Codable {
    /// The bytes.
    public let bytes: [UInt8]

    /// Wraps bytes.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }
}
