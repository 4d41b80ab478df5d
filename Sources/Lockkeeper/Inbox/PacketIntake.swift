package import LockkeeperSQLite
package import LockkeeperStorage

/// Makes the work of a transaction of a packet's bytes. Decoding is done when this is called, outside
/// of the transaction; what it returns may run more than once.
///
/// What it throws is the packet's fault: it is tried again as often as ``Limits/inboxAttemptCountMax``
/// says, and parked then.
package typealias PacketIntake =
    @Sendable (_ session: Session, _ packet: [UInt8]) throws ->
    PacketWork

/// What a packet does inside a transaction.
package typealias PacketWork = @Sendable (Connection, inout TopicSet) throws -> Void
