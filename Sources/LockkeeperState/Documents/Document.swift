public import LockkeeperDomain

/// A whole thing that is written and read at once: a profile, a draft of a form, a layout.
///
///     struct Profile: Document {
///         static let kind = "profile"
///         static let version = 2
///         var name: String
///         var pronouns: String?
///
///         static func upgrade(_ value: PropertyValue, from version: Int) throws -> PropertyValue {
///             guard case .dictionary(var members) = value else { return value }
///             members["name"] = members.removeValue(forKey: "full_name")     // 1 to 2
///             return .dictionary(members)
///         }
///     }
public protocol Document: Codable, Sendable {
    /// What it is, the same for ever: a file of another kind is never taken for it.
    static var kind: String { get }

    /// The version of its form, from 1. One is added whenever an older program could not read it, or
    /// would lose something of it.
    static var version: Int { get }

    /// Brings what an older program stored one version further; called once for each version between
    /// the stored one and ``version``.
    ///
    /// - Parameters:
    ///   - value: what was stored.
    ///   - version: the version that `value` has.
    static func upgrade(_ value: PropertyValue, from version: Int) throws -> PropertyValue
}

extension Document {
    /// Takes the stored form as it is: enough where each new member is optional.
    public static func upgrade(_ value: PropertyValue, from version: Int) throws -> PropertyValue {
        value
    }
}

/// Names a document of an account.
public struct DocumentName: ByteIdentifier {
    /// What the identifier names, for error sentences.
    public static let noun = "document name"
    /// The identifier's bytes.
    public let bytes: [UInt8]
    /// Makes an identifier from bytes that are known to be valid.
    public init(unchecked bytes: [UInt8]) { self.bytes = bytes }
}
