import LockkeeperCrypto

/// A password, token or key. It is never printed: not by `print`, `dump` or an error, and its memory
/// is overwritten when the last reference goes.
///
/// What it is made of, or what reads it, may have copies that this does not reach.
public struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let storage: SecretBytes

    /// Copies bytes.
    public init(_ bytes: some Collection<UInt8>) { storage = SecretBytes(bytes) }

    /// Copies a text's UTF-8 bytes.
    public init(_ text: some StringProtocol) { self.init(Array(text.utf8)) }

    /// The bytes, shared with others that erase them.
    var shared: SecretBytes { storage }

    /// How many bytes there are.
    public var count: Int { storage.count }

    /// Lends the bytes.
    public func withBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try storage.withBytes(body)
    }

    /// Compares in a time that depends on the length alone.
    public static func == (left: Secret, right: Secret) -> Bool {
        left.withBytes { first in right.withBytes { SecureMemory.isEqual(first, $0) } }
    }

    /// Says that there is a secret, and nothing of it.
    public var description: String { "<secret>" }
    /// Says that there is a secret, and nothing of it.
    public var debugDescription: String { "<secret>" }
    /// Has no parts.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
