import LockkeeperCrypto
package import LockkeeperDomain

/// A packet that is kept as a file until its account's database can take it, and its layout.
///
/// Numbers are little-endian.
///
/// ```
/// offset  bytes
///      0      8  "LKPACKET"
///      8      1  version of this layout: 1
///      9      1  how often somebody began to apply it
///     10      1  the packet's format: 0 event lines, 1 the app's own
///     11      1  what is known of its page: 0 nothing, 1 the page, 3 the page, the last for now
///     12      2  A, the bytes of the account id
///     14      2  N, the bytes of the name of the process that kept it
///     16      2  R, the bytes of the reason
///     18      2  S, the bytes of the page's stream
///     20      2  F, the bytes of the cursor before the page; 0 for a stream's first
///     22      2  T, the bytes of the cursor behind the page
///     24      8  when it was kept, in milliseconds since 1970; for people (I-15)
///     32      8  P, the bytes of the packet
///     40      8  the birth of the account
///     48     32  SHA-256 of all other bytes, byte 9 taken as 0
///     80  A+N+R+S+F+T+P  account id, process name, reason, stream, cursors, packet
/// ```
///
/// A file is written whole, synced, and only then gets its name, so that a torn one is the disk's
/// fault. Length and checksum find it; it is put aside and never applied in part. Only byte 9 is
/// ever written again, in place.
package struct PacketFile: Sendable, Hashable {
    /// Whose packet it is.
    package var account: AccountID
    /// The birth of that account: one that was removed and added again under the id has another.
    package var birth: Generation
    /// The name of the process that kept it.
    package var processName: String
    /// Why the database could not take it: a stable name.
    package var reason: String
    /// When it was kept, in milliseconds since 1970; for people.
    package var keptAt: Int64
    /// How often somebody began to apply it and did not come back.
    package var attemptCount = 0
    /// What was kept.
    package var packet: Packet

    /// A packet to be kept.
    package init(
        account: AccountID,
        birth: Generation,
        processName: String,
        reason: String,
        keptAt: Int64,
        packet: Packet
    ) {
        self.account = account
        self.birth = birth
        self.processName = processName
        self.reason = reason
        self.keptAt = keptAt
        self.packet = packet
    }

    /// Where the count of attempts stands.
    static let attemptOffset: Int64 = 9
    /// Bytes before the account id.
    static let headerByteCount = 80
    /// More bytes than the parts beside the packet ever have.
    static let overheadByteCountMax = headerByteCount + 6 * Int(UInt16.max)

    static let magic = Array("LKPACKET".utf8)
    private static let version: UInt8 = 1
    private static let digestRange = 48..<80

    /// The file's bytes.
    package var encoded: [UInt8] {
        let name = Array(processName.utf8.prefix(Self.nameByteCountMax))
        let reason = Array(reason.utf8.prefix(Self.nameByteCountMax))
        let page = packet.page
        let parts = [
            account.bytes, name, reason, page?.stream.bytes ?? [], page?.after?.bytes ?? [],
            page?.next.bytes ?? [],
        ]
        var bytes = Self.magic
        bytes.append(Self.version)
        bytes.append(UInt8(clamping: attemptCount))
        bytes.append(packet.format.rawValue)
        bytes.append(page.map { $0.isDone ? 3 : 1 } ?? 0)
        for part in parts { bytes.append(littleEndian: UInt16(clamping: part.count)) }
        bytes.append(littleEndian: UInt64(bitPattern: keptAt))
        bytes.append(littleEndian: UInt64(packet.bytes.count))
        bytes.append(littleEndian: UInt64(bitPattern: birth.rawValue))
        bytes += [UInt8](repeating: 0, count: Self.digestRange.count)
        for part in parts { bytes += part }
        bytes += packet.bytes
        bytes.replaceSubrange(Self.digestRange, with: Self.digest(of: bytes))
        return bytes
    }

    /// Reads a file's bytes.
    ///
    /// - Parameter path: the file, for errors.
    /// - Throws: ``StorageError/packetTorn(path:reason:)``, and
    ///   ``StorageError/packetNewer(path:version:)`` for a layout of a newer program.
    package init(decoding bytes: [UInt8], path: String) throws(StorageError) {
        func torn(_ reason: String) -> StorageError { .packetTorn(path: path, reason: reason) }
        guard bytes.count >= Self.headerByteCount else { throw torn("it is too short") }
        guard bytes.starts(with: Self.magic) else { throw torn("it does not begin as one") }
        guard bytes[8] == Self.version else {
            throw .packetNewer(path: path, version: Int(bytes[8]))
        }
        guard Self.digest(of: bytes).elementsEqual(bytes[Self.digestRange]) else {
            throw torn("its checksum is wrong")
        }
        let counts = stride(from: 12, to: 24, by: 2).map {
            Int(bytes.littleEndian(UInt16.self, at: $0))
        }
        let packetStart = Self.headerByteCount + counts.reduce(0, +)
        guard packetStart <= bytes.count,
            UInt64(bytes.count - packetStart) == bytes.littleEndian(UInt64.self, at: 32)
        else { throw torn("its lengths contradict each other") }
        var start = Self.headerByteCount
        let parts = counts.map { count in
            defer { start += count }
            return Array(bytes[start..<start + count])
        }
        do {
            account = try AccountID(bytes: parts[0])
        } catch {
            throw torn(error.description)
        }
        birth = Generation(Int64(bitPattern: bytes.littleEndian(UInt64.self, at: 40)))
        processName = String(decoding: parts[1], as: UTF8.self)
        reason = String(decoding: parts[2], as: UTF8.self)
        keptAt = Int64(bitPattern: bytes.littleEndian(UInt64.self, at: 24))
        attemptCount = Int(bytes[Int(Self.attemptOffset)])
        guard let format = PacketFormat(rawValue: bytes[10]) else {
            throw torn("its format is not known")
        }
        let page: SyncPage? =
            bytes[11] & 1 == 0
            ? nil
            : SyncPage(
                stream: StreamID(unchecked: parts[3]),
                after: parts[4].isEmpty ? nil : Cursor(unchecked: parts[4]),
                next: Cursor(unchecked: parts[5]),
                done: bytes[11] & 2 != 0
            )
        packet = Packet(Array(bytes[packetStart...]), format: format, page: page)
    }

    /// What a name or a reason is cut to: far more than any has.
    private static let nameByteCountMax = 512

    private static func digest(of bytes: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        bytes.withUnsafeBytes { bytes in
            let attempt = Int(attemptOffset)
            hash.update(UnsafeRawBufferPointer(rebasing: bytes[..<attempt]))
            hash.update([0])
            hash.update(
                UnsafeRawBufferPointer(rebasing: bytes[(attempt + 1)..<digestRange.lowerBound])
            )
            hash.update(UnsafeRawBufferPointer(rebasing: bytes[digestRange.upperBound...]))
        }
        return hash.finalize()
    }
}

extension [UInt8] {
    fileprivate mutating func append<Number: FixedWidthInteger>(littleEndian number: Number) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }

    fileprivate func littleEndian<Number: FixedWidthInteger>(
        _ type: Number.Type,
        at offset: Int
    ) -> Number {
        withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: type)) }
    }
}
