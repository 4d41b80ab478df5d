import CLockkeeperSodium

/// Memory that holds secrets.
package enum SecureMemory {
    /// Overwrites bytes in a way that no compiler leaves out.
    package static func erase(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        sodium_memzero(start, bytes.count)
    }

    /// Whether two runs of bytes are equal, in a time that depends on their length alone.
    package static func isEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer)
        -> Bool
    {
        guard left.count == right.count else { return false }
        guard let first = left.baseAddress, let second = right.baseAddress else { return true }
        return sodium_memcmp(first, second, left.count) == 0
    }
}
