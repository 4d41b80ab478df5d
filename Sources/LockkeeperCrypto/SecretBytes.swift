/// Bytes of a secret, overwritten when the last reference goes.
///
/// What they were copied from, or what reads them, may have copies that this does not reach.
// Safe to share because the bytes are written before anybody else has the object, and erased after
// everybody has let it go.
package final class SecretBytes: @unchecked Sendable {
    private let bytes: UnsafeMutableRawBufferPointer

    /// Copies bytes.
    package init(_ content: some Collection<UInt8>) {
        bytes = .allocate(byteCount: content.count, alignment: 16)
        bytes.copyBytes(from: content)
    }

    deinit {
        SecureMemory.erase(bytes)
        bytes.deallocate()
    }

    /// How many bytes there are.
    package var count: Int { bytes.count }

    /// Lends the bytes.
    package func withBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        defer { withExtendedLifetime(self) {} }
        return try body(UnsafeRawBufferPointer(bytes))
    }
}
