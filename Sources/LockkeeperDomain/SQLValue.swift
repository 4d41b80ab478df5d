/// A value of SQLite's five kinds, for SQL that is not known when this is compiled.
public enum SQLValue: Sendable, Hashable {
    /// NULL.
    case null
    /// An integer of 64 bits.
    case integer(Int64)
    /// A floating-point number.
    case real(Double)
    /// UTF-8 bytes, NUL among them where the text has one; not checked, not normalised.
    case text([UInt8])
    /// Bytes.
    case blob([UInt8])

    /// An integer.
    public init(_ number: Int) { self = .integer(Int64(number)) }
    /// An integer.
    public init(_ number: Int64) { self = .integer(number) }
    /// A floating-point number; SQLite stores NaN as NULL.
    public init(_ number: Double) { self = .real(number) }
    /// 1 or 0.
    public init(_ isTrue: Bool) { self = .integer(isTrue ? 1 : 0) }
    /// A text's UTF-8 bytes.
    public init(_ text: String) { self = .text(Array(text.utf8)) }
    /// Bytes, as a blob.
    public init(_ bytes: [UInt8]) { self = .blob(bytes) }

    /// The integer, where it is one.
    public var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
    /// The number, where it is an integer or a floating-point number.
    public var real: Double? {
        switch self {
        case .real(let number): number
        case .integer(let number): Double(number)
        case .null, .text, .blob: nil
        }
    }
    /// The text, where it is one; bytes that are not UTF-8 become replacement characters.
    public var text: String? {
        if case .text(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { nil }
    }
    /// The bytes of a text or a blob.
    public var bytes: [UInt8]? {
        switch self {
        case .text(let bytes), .blob(let bytes): bytes
        case .null, .integer, .real: nil
        }
    }
}

extension SQLValue: ExpressibleByNilLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByBooleanLiteral
{
    /// NULL.
    public init(nilLiteral: ()) { self = .null }
    /// An integer.
    public init(integerLiteral number: Int64) { self = .integer(number) }
    /// A floating-point number.
    public init(floatLiteral number: Double) { self = .real(number) }
    /// A text.
    public init(stringLiteral text: String) { self.init(text) }
    /// 1 or 0.
    public init(booleanLiteral isTrue: Bool) { self.init(isTrue) }
}
