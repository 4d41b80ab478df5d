package import LockkeeperDomain

/// Who can read a packet. The raw value stands in files and rows.
package enum PacketFormat: UInt8, Sendable, Hashable, CaseIterable {
    /// Event lines, which every program with the schema reads.
    case eventLines = 0
    /// The app's own: only its decoder reads it.
    case ownOfApp = 1
}

/// What is kept of a packet until it is applied.
package struct Packet: Sendable, Hashable {
    /// The bytes as they came.
    package var bytes: [UInt8]
    /// Who can read them.
    package var format: PacketFormat
    /// The page that the packet is, where that is known before it is decoded: from then on the
    /// server can be asked from the page's end, although nothing of it is processed.
    package var page: SyncPage?

    /// A packet of its parts.
    package init(
        _ bytes: [UInt8],
        format: PacketFormat = .eventLines,
        page: SyncPage? = nil
    ) {
        self.bytes = bytes
        self.format = format
        self.page = page
    }
}
