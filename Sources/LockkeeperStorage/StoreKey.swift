package import LockkeeperCrypto
import LockkeeperDomain
import LockkeeperSQLite

/// The key of an account's files: 32 random bytes, derived from nothing.
///
/// A file says by its first 16 bytes which key it has. SQLCipher begins a file with the salt that the key is
/// given with; ours is no secret and not drawn, but says `LKCIPHER` and the key's name. So a plain file,
/// an encrypted one, one of another key and a damaged one are told apart before a page is read.
package struct StoreKey: Sendable {
    /// What a key is called: eight bytes of a digest of it, which say nothing of it.
    package struct Name: Sendable, Hashable, CustomStringConvertible {
        let bytes: [UInt8]
        private static let byteCount = 8

        /// The name that eight bytes are; `nil` where there are not eight.
        init?(_ bytes: [UInt8]) {
            guard bytes.count == Self.byteCount else { return nil }
            self.bytes = bytes
        }

        fileprivate init(prefixOf digest: SecretBytes) {
            bytes = digest.withBytes { Array($0.prefix(Self.byteCount)) }
        }

        /// 16 hexadecimal digits.
        package var description: String { bytes.hexadecimal }
    }

    /// What the key is called.
    package let name: Name
    private let bytes: SecretBytes

    /// Bytes of a key.
    package static let byteCount = 32
    private static let magic = Array("LKCIPHER".utf8)

    /// A key of its bytes; `nil` where there are not 32.
    package init?(_ bytes: SecretBytes) {
        guard bytes.count == Self.byteCount else { return nil }
        self.init(whole: bytes)
    }

    private init(whole bytes: SecretBytes) {
        self.bytes = bytes
        name = Name(prefixOf: Self.digest("key name", bytes))
    }

    /// A new key, of the kernel's randomness.
    package static func random() -> StoreKey {
        var generator = SystemRandomNumberGenerator()
        return StoreKey(
            whole: SecretBytes((0..<byteCount).map { _ in .random(in: 0...255, using: &generator) })
        )
    }

    /// Lends the bytes.
    package func withBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value { try bytes.withBytes(body) }

    /// A key for something else than database files, which says nothing of this one.
    package func subkey(for purpose: StaticString) -> SecretBytes { Self.digest(purpose, bytes) }

    /// With what a file of this key begins.
    var head: [UInt8] { Self.magic + name.bytes }

    /// The key's name in the first bytes of a file; `nil` where no key of ours made it.
    static func name(inHead head: [UInt8]) -> Name? {
        guard head.count == Connection.headByteCount, head.starts(with: magic) else { return nil }
        return Name(Array(head.dropFirst(magic.count)))
    }

    /// Lends the key with its salt as SQLCipher takes them, and erases that afterwards.
    func withSpecification(
        _ body: (UnsafeRawBufferPointer) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        try bytes.withBytes { (bytes) throws(SQLiteError) in
            // Digit by digit: a string would leave copies behind.
            let count = 3 + 2 * (bytes.count + Connection.headByteCount)
            let text = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
            defer {
                SecureMemory.erase(text)
                text.deallocate()
            }
            text[0] = UInt8(ascii: "x")
            text[1] = UInt8(ascii: "'")
            var offset = 2
            func write(_ byte: UInt8) {
                for half in [byte >> 4, byte & 15] {
                    text[offset] =
                        half < 10 ? half + UInt8(ascii: "0") : half - 10 + UInt8(ascii: "a")
                    offset += 1
                }
            }
            for byte in bytes { write(byte) }
            for byte in head { write(byte) }
            text[offset] = UInt8(ascii: "'")
            try body(UnsafeRawBufferPointer(text))
        }
    }

    private static func digest(_ purpose: StaticString, _ bytes: SecretBytes) -> SecretBytes {
        var digest = SHA256()
        digest.update(Array("lockkeeper \(purpose)\0".utf8))
        bytes.withBytes { digest.update($0) }
        var sum = digest.finalize()
        defer { sum.withUnsafeMutableBytes { SecureMemory.erase($0) } }
        return SecretBytes(sum)
    }
}
