package import LockkeeperSQLite
package import LockkeeperStorage

/// How the owner of a schema takes packets.
package struct PacketIntake: Sendable {
    /// The formats that it reads in this process. Packets of others are left for one that does.
    package let formats: Set<PacketFormat>
    /// The format of the packets that this process is handed.
    package let format: PacketFormat
    /// Makes the work of a transaction of a packet. Decoding is done when this returns, outside of
    /// the transaction; what it returns may run more than once.
    ///
    /// What it throws is the packet's fault: it is tried again as often as
    /// ``Limits/inboxAttemptCountMax`` says, and parked then.
    package let work: @Sendable (_ session: Session, _ packet: Packet) throws -> PacketWork

    /// An intake of its parts.
    package init(
        formats: Set<PacketFormat> = [.eventLines],
        format: PacketFormat = .eventLines,
        work: @escaping @Sendable (_ session: Session, _ packet: Packet) throws -> PacketWork
    ) {
        self.formats = formats
        self.format = format
        self.work = work
    }
}

/// What a packet does inside a transaction.
package typealias PacketWork = @Sendable (Connection, inout TopicSet) throws -> Void
