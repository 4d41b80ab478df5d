import Lockkeeper
import LockkeeperDomain

/// How a packet that is kept as a file is printed.
enum InboxOutput {
    /// Writes a packet's members.
    static func write(_ packet: KeptPacket, into writer: inout JSONWriter) {
        writer.member("packet", packet.name)
        writer.member("bytes", packet.byteCount)
        writer.member("parked", packet.parked)
        writer.member("reason", packet.reason)
        writer.member("kept_by", packet.processName)
        writer.member("kept_at", packet.keptAt)
        writer.member("attempts", packet.attemptCount)
    }
}
