import CLockkeeperSodium

/// Encrypting to a public key, with what the matching secret key opens: libsodium's sealed boxes (X25519,
/// XSalsa20 and Poly1305). Whoever seals keeps no key and cannot open what he sealed.
package enum SealedBox {
    /// Bytes of a public key.
    package static let keyByteCount = crypto_box_publickeybytes()
    /// Bytes that sealing adds.
    package static let overheadByteCount = crypto_box_sealbytes()
    /// Bytes of what a pair of keys is derived from.
    package static let seedByteCount = crypto_box_seedbytes()

    /// A pair of keys.
    package struct Keys: Sendable {
        /// What everybody may know.
        package let publicKey: [UInt8]
        fileprivate let secretKey: SecretBytes

        /// The pair that follows from 32 secret bytes.
        package init(seed: SecretBytes) {
            precondition(seed.count == seedByteCount, "a seed has \(seedByteCount) bytes")
            var publicKey = [UInt8](repeating: 0, count: keyByteCount)
            var secretKey = [UInt8](repeating: 0, count: crypto_box_secretkeybytes())
            defer { secretKey.withUnsafeMutableBytes { SecureMemory.erase($0) } }
            let code = seed.withBytes { seed -> Int32 in
                guard let start = seed.assumingMemoryBound(to: UInt8.self).baseAddress else {
                    return -1
                }
                return crypto_box_seed_keypair(&publicKey, &secretKey, start)
            }
            precondition(code == 0, "libsodium cannot derive keys")
            self.publicKey = publicKey
            self.secretKey = SecretBytes(secretKey)
        }
    }

    /// Seals bytes to a public key.
    package static func seal(_ bytes: [UInt8], to publicKey: [UInt8]) -> [UInt8] {
        precondition(publicKey.count == keyByteCount, "a public key has \(keyByteCount) bytes")
        // Its randomness needs a library that is ready.
        precondition(sodium_init() >= 0, "libsodium cannot be initialised")
        var sealed = [UInt8](repeating: 0, count: bytes.count + overheadByteCount)
        let code = crypto_box_seal(&sealed, bytes, UInt64(bytes.count), publicKey)
        precondition(code == 0, "libsodium cannot seal")
        return sealed
    }

    /// Opens what was sealed to a public key; `nil` where it is not what was sealed, or was to another.
    package static func open(_ sealed: [UInt8], with keys: Keys) -> [UInt8]? {
        guard sealed.count >= overheadByteCount else { return nil }
        var bytes = [UInt8](repeating: 0, count: sealed.count - overheadByteCount)
        let code = keys.secretKey.withBytes { secretKey -> Int32 in
            guard let start = secretKey.assumingMemoryBound(to: UInt8.self).baseAddress else {
                return -1
            }
            return crypto_box_seal_open(
                &bytes,
                sealed,
                UInt64(sealed.count),
                keys.publicKey,
                start
            )
        }
        return code == 0 ? bytes : nil
    }
}
