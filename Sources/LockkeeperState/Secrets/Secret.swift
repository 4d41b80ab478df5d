import LockkeeperCrypto

/// A password, token or key. It is never printed: not by `print`, `dump` or an error, and its memory
/// is overwritten when the last reference goes.
///
/// What it is made of, or what reads it, may have copies that this does not reach.
public struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let storage: Storage

    /// Copies bytes.
    public init(_ bytes: some Collection<UInt8>) { storage = Storage(bytes) }

    /// Copies a text's UTF-8 bytes.
    public init(_ text: some StringProtocol) { self.init(Array(text.utf8)) }

    /// How many bytes there are.
    public var count: Int { storage.bytes.count }

    /// Lends the bytes.
    public func withBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        defer { withExtendedLifetime(storage) {} }
        return try body(UnsafeRawBufferPointer(storage.bytes))
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

    // Safe to share because the bytes are written before anybody else has the object, and erased
    // after everybody has let it go.
    private final class Storage: @unchecked Sendable {
        let bytes: UnsafeMutableRawBufferPointer

        init(_ content: some Collection<UInt8>) {
            bytes = .allocate(byteCount: content.count, alignment: 16)
            bytes.copyBytes(from: content)
        }

        deinit {
            SecureMemory.erase(bytes)
            bytes.deallocate()
        }
    }
}
