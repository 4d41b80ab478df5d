import LockkeeperCrypto
import LockkeeperPlatform

/// How files of an account that are no databases, documents and packets, are encrypted: sealed to a
/// public key that lies in the account's folder, so that a helper can keep a packet while the keys are
/// locked, and cannot read it.
///
/// `sealing.key`, 0600: `LKSEALTO`, the name of the key of the account's databases (8 bytes), the public
/// key (32), of which the secret one follows from that key. It is there where the account is encrypted.
///
/// A sealed file:
///
/// | offset | bytes | content |
/// |---|---|---|
/// | 0 | 8 | `LKSEALED` |
/// | 8 | 1 | the version of this layout, 1 |
/// | 9 | 1 | what a packet's file has there, which is written again in place |
/// | 10 | 6 | 0 |
/// | 16 | 8 | the name of the key |
/// | 24 | N + 48 | the sealed content |
package struct FileSealing: Sendable {
    private let folder: String
    private let keys: KeyRing

    /// The file with the public key, in the account's folder.
    package static let keyFileName = "sealing.key"
    /// Bytes that sealing adds.
    package static let overheadByteCount = headByteCount + SealedBox.overheadByteCount
    private static let headByteCount = 24
    private static let magic = Array("LKSEALED".utf8)
    private static let keyMagic = Array("LKSEALTO".utf8)
    private static let countedOffset = Int(PacketFile.attemptOffset)

    /// How files in an account's folder are sealed.
    package init(account folder: String, keys: KeyRing) {
        self.folder = folder
        self.keys = keys
    }

    private var keyPath: String { "\(folder)/\(Self.keyFileName)" }

    /// Seals the content of a file; gives it back as it is where the account is not encrypted.
    ///
    /// - Throws: ``StorageError/sealingKeyMissing(path:)`` where files have to be encrypted and nothing
    ///   says with what yet.
    package func sealed(_ bytes: [UInt8]) throws(StorageError) -> [UInt8] {
        guard let (name, publicKey) = try publicKey() else {
            if keys.isRequired { throw .sealingKeyMissing(path: keyPath) }
            return bytes
        }
        var head = Self.magic + [1, 0, 0, 0, 0, 0, 0, 0] + name
        if bytes.starts(with: PacketFile.magic) {
            head[Self.countedOffset] = bytes[Self.countedOffset]
        }
        return head + SealedBox.seal(bytes, to: publicKey)
    }

    /// Opens the content of a file; gives one back as it is that is not sealed.
    ///
    /// - Returns: `nil` where it is sealed, and is not what was sealed.
    /// - Throws: what is wrong with its key (``KeyRing``).
    package func opened(_ bytes: [UInt8], at path: String) throws(StorageError) -> [UInt8]? {
        guard bytes.starts(with: Self.magic) else { return bytes }
        guard bytes.count >= Self.overheadByteCount, bytes[8] == 1 else { return nil }
        guard let key = try keys.key(named: Array(bytes[16..<24]), for: path) else { return nil }
        guard
            var content = SealedBox.open(Array(bytes[Self.headByteCount...]), with: Self.pair(key))
        else { return nil }
        if content.starts(with: PacketFile.magic) {
            content[Self.countedOffset] = bytes[Self.countedOffset]
        }
        return content
    }

    /// Says what files are sealed with from now on; `nil` for plain ones. Durable when it returns.
    package func use(_ key: StoreKey?) throws(StorageError) {
        let wanted = key.map { Self.keyMagic + $0.name.bytes + Self.pair($0).publicKey }
        guard try keyFile() != wanted else { return }
        try system { () throws(SystemCallError) in
            if let wanted {
                try FileSystem.replaceFile(at: keyPath, with: wanted)
            } else if try FileSystem.remove(keyPath) {
                try FileSystem.syncDirectory(folder)
            }
        }
    }

    /// Seals a file anew with what is used now, or makes it plain; one that cannot be opened is left.
    package func reseal(_ path: String) throws(StorageError) {
        let bytes = try system { () throws(SystemCallError) in try FileSystem.contents(of: path) }
        guard let content = try opened(bytes, at: path) else { return }
        let sealed = try publicKey() == nil ? content : sealed(content)
        try system { () throws(SystemCallError) in
            try FileSystem.replaceFile(at: path, with: sealed)
        }
    }

    /// The name of the key that a sealed file needs, or that what will be sealed to the account's public key
    /// will need; `nil` for another file.
    ///
    /// - Parameter head: its first 16 bytes.
    /// - Throws: what the kernel throws.
    static func keyName(ofFile path: String, head: [UInt8]) throws(StorageError) -> StoreKey.Name? {
        if head.starts(with: keyMagic) {
            return StoreKey.Name(Array(head.dropFirst(keyMagic.count)))
        }
        guard head.starts(with: magic) else { return nil }
        // No database begins like this, so that nobody has locks on it.
        let bytes = try system { () throws(SystemCallError) in
            try FileSystem.contents(of: path, limit: headByteCount)
        }
        return StoreKey.Name(Array(bytes.dropFirst(head.count)))
    }

    private func publicKey() throws(StorageError) -> (name: [UInt8], key: [UInt8])? {
        guard let bytes = try keyFile(), bytes.count == 16 + SealedBox.keyByteCount,
            bytes.starts(with: Self.keyMagic)
        else { return nil }
        return (Array(bytes[8..<16]), Array(bytes[16...]))
    }

    private func keyFile() throws(StorageError) -> [UInt8]? {
        do throws(SystemCallError) {
            return try FileSystem.contents(of: keyPath, limit: 256)
        } catch {
            if error.errno == .noSuchFile || error.errno == .notDirectory { return nil }
            throw .system(error)
        }
    }

    private static func pair(_ key: StoreKey) -> SealedBox.Keys {
        SealedBox.Keys(seed: key.subkey(for: "sealed files"))
    }
}
