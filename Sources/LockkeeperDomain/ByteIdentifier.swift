/// An identifier whose identity is its bytes.
///
/// Swift's `String` compares by canonical equivalence, so that two ids which SQLite keeps apart
/// would be one key in a dictionary. Identifiers therefore hold, compare, hash and sort bytes.
/// Where they come from text the bytes are UTF-8; they may contain NUL.
public protocol ByteIdentifier: Sendable, Hashable, Comparable, CustomStringConvertible,
    ExpressibleByStringLiteral
{
    /// What the identifier names, for error sentences: "account id", "message id".
    static var noun: String { get }

    /// The identifier's bytes, 1 to `IdentifierError.byteCountMax` of them.
    var bytes: [UInt8] { get }

    /// Makes an identifier from bytes that are known to be valid.
    init(unchecked bytes: [UInt8])
}

extension ByteIdentifier {
    /// Makes an identifier from bytes.
    ///
    /// - Throws: ``IdentifierError`` when there are none or more than 512.
    public init(bytes: some Collection<UInt8>) throws(IdentifierError) {
        guard !bytes.isEmpty else { throw .empty(noun: Self.noun) }
        guard bytes.count <= IdentifierError.byteCountMax else {
            throw .tooLong(noun: Self.noun, byteCount: bytes.count)
        }
        self.init(unchecked: Array(bytes))
    }

    /// Makes an identifier from a text's UTF-8 bytes, without normalising them.
    ///
    /// - Throws: ``IdentifierError`` when the text is empty or longer than 512 bytes.
    public init(_ text: some StringProtocol) throws(IdentifierError) {
        try self.init(bytes: Array(text.utf8))
    }

    /// Makes an identifier from a literal in source code; an invalid one is a programmer's error.
    public init(stringLiteral text: String) {
        let bytes = Array(text.utf8)
        precondition(
            !bytes.isEmpty && bytes.count <= IdentifierError.byteCountMax,
            "a \(Self.noun) has 1 to \(IdentifierError.byteCountMax) bytes"
        )
        self.init(unchecked: bytes)
    }

    /// The identifier as text; bytes that are not UTF-8 are shown as replacement characters.
    public var description: String { String(decoding: bytes, as: UTF8.self) }

    /// Orders identifiers by their bytes.
    public static func < (left: Self, right: Self) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}

/// Why some bytes cannot be an identifier.
public enum IdentifierError: Error, Equatable, CustomStringConvertible {
    /// Thrown when there are no bytes.
    case empty(noun: String)
    /// Thrown when there are more than ``byteCountMax`` bytes.
    case tooLong(noun: String, byteCount: Int)

    /// The largest number of bytes in an identifier. SQLite keeps a key of this size in one
    /// B-tree page; servers' ids are far shorter.
    public static let byteCountMax = 512

    /// The problem as a sentence.
    public var description: String {
        switch self {
        case .empty(let noun): "a \(noun) must not be empty"
        case .tooLong(let noun, let byteCount):
            "a \(noun) has at most \(Self.byteCountMax) bytes, this one has \(byteCount)"
        }
    }
}

/// Names an account: the unit of sharing, with a database of its own.
public struct AccountID: ByteIdentifier {
    /// What the identifier names, for error sentences.
    public static let noun = "account id"
    /// The identifier's bytes.
    public let bytes: [UInt8]
    /// Makes an identifier from bytes that are known to be valid.
    public init(unchecked bytes: [UInt8]) { self.bytes = bytes }
}
