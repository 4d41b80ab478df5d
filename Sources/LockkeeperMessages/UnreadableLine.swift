import LockkeeperCrypto
import LockkeeperDomain

/// A line that is no event: what quarantine keeps of it, so that nothing a server sent is lost
/// because this program could not read it.
package struct UnreadableLine: Sendable, Hashable {
    /// Why it cannot be read, without a word of what it says.
    package let explanation: String
    /// Its bytes; of an over-long line the first ``Limits/quarantinedByteCountMax``.
    package let content: [UInt8]
    /// How many bytes it had.
    package let byteCount: Int
    /// The SHA-256 of all its bytes. It is computed where the line is read, so that nobody waits
    /// for it while the account is being written.
    package let digest: [UInt8]

    /// A line that is kept whole.
    init(_ bytes: UnsafeRawBufferPointer, _ error: EventError) {
        explanation = error.description
        content = Array(bytes)
        byteCount = bytes.count
        digest = SHA256.digest(of: bytes)
    }

    /// A line of which only the first bytes are kept.
    init(prefix: UnsafeRawBufferPointer, byteCount: Int, digest: [UInt8], _ error: EventError) {
        explanation = error.description
        content = Array(prefix)
        self.byteCount = byteCount
        self.digest = digest
    }

    /// What is put aside of it.
    var quarantined: QuarantineTable.Item {
        QuarantineTable.Item(
            reason: .unreadable,
            explanation: explanation,
            content: content,
            digest: digest,
            byteCount: byteCount
        )
    }
}
