import Lockkeeper
import LockkeeperCrypto
import LockkeeperDomain

/// An item as stores keep it. Integers are little endian:
///
/// | offset | bytes | content |
/// |---|---|---|
/// | 0 | 8 | `LKSECRET` |
/// | 8 | 1 | the version of this layout, 1 |
/// | 9 | 1 | the class: 0 always, 1 while unlocked, 2 this device only |
/// | 10 | 2 | S, the bytes of the service |
/// | 12 | 4 | N, the bytes of the secret |
/// | 16 | 16 | the revision |
/// | 32 | 32 | SHA-256 of all other bytes |
/// | 64 | S + N | service, secret |
struct SecretRecord {
    let service: SecretService
    let stored: StoredSecret

    static let byteCountMax = 1024 * 1024
    private static let headerByteCount = 64
    private static let magic = Array("LKSECRET".utf8)
    private static let classes: [SecretAccessibility] = [.always, .whileUnlocked, .thisDeviceOnly]

    /// The bytes of an item.
    var bytes: [UInt8] {
        var head = Self.magic + [1, UInt8(Self.classes.firstIndex(of: stored.accessibility) ?? 0)]
        withUnsafeBytes(of: UInt16(service.bytes.count).littleEndian) { head += $0 }
        withUnsafeBytes(of: UInt32(stored.secret.count).littleEndian) { head += $0 }
        head += stored.revision.bytes
        let tail = stored.secret.withBytes { service.bytes + $0 }
        return head + SHA256.digest(of: head + tail) + tail
    }

    init(service: SecretService, stored: StoredSecret) {
        self.service = service
        self.stored = stored
    }

    /// Reads an item; `nil` where the bytes are none.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.headerByteCount, bytes.prefix(8).elementsEqual(Self.magic),
            bytes[8] == 1, Self.classes.indices.contains(Int(bytes[9]))
        else { return nil }
        let serviceCount = Int(
            UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 10, as: UInt16.self))
        )
        let secretCount = Int(
            UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
        )
        let tail = bytes.dropFirst(Self.headerByteCount)
        guard tail.count == serviceCount + secretCount, serviceCount > 0 else { return nil }
        var digest = SHA256()
        digest.update(UnsafeRawBufferPointer(rebasing: bytes[..<32]))
        digest.update(UnsafeRawBufferPointer(rebasing: tail))
        guard digest.finalize().elementsEqual(bytes[32..<64]) else { return nil }
        service = SecretService(unchecked: Array(tail.prefix(serviceCount)))
        stored = StoredSecret(
            secret: Secret(tail.dropFirst(serviceCount)),
            accessibility: Self.classes[Int(bytes[9])],
            revision: SecretRevision(Array(bytes[16..<32]))
        )
    }
}
