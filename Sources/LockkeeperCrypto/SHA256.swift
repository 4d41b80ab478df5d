import CLockkeeperSodium

/// The SHA-256 digest of bytes, computed by libsodium.
///
/// One shot through ``digest(of:)``, piece by piece through ``update(_:)`` and ``finalize()``.
package struct SHA256 {
    private var state = crypto_hash_sha256_state()

    /// Bytes in a digest.
    package static let byteCount = 32

    /// A digest of nothing yet.
    package init() {
        Self.requireLibrary()
        let code = crypto_hash_sha256_init(&state)
        precondition(code == 0, "libsodium cannot begin a digest")
    }

    /// Adds the next bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        // libsodium wants a pointer even for no bytes, which an empty buffer does not have.
        guard let start = bytes.baseAddress, bytes.count > 0 else { return }
        let code = crypto_hash_sha256_update(
            &state,
            start.assumingMemoryBound(to: UInt8.self),
            UInt64(bytes.count)
        )
        precondition(code == 0, "libsodium cannot continue a digest")
    }

    /// Adds the next bytes.
    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { update($0) }
    }

    /// The digest of everything that was added, 32 bytes.
    package consuming func finalize() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, count in
            // `baseAddress` is there because the capacity asked for is above zero.
            let code = crypto_hash_sha256_final(&state, buffer.baseAddress!)
            precondition(code == 0, "libsodium cannot finish a digest")
            count = Self.byteCount
        }
    }

    /// The digest of bytes, 32 bytes.
    package static func digest(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finalize()
    }

    /// The digest of bytes, 32 bytes.
    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { digest(of: $0) }
    }

    /// The digest of a text's UTF-8 bytes, 32 bytes.
    package static func digest(of text: String) -> [UInt8] {
        var text = text
        return text.withUTF8 { digest(of: UnsafeRawBufferPointer($0)) }
    }

    /// Initialises libsodium, which any number of threads may do at once and which is nearly free
    /// after the first time: a lazy constant keeps even that away.
    private static func requireLibrary() {
        precondition(libraryIsReady, "libsodium cannot be initialised")
    }

    private static let libraryIsReady = sodium_init() >= 0
}
