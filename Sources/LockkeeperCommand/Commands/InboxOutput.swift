import Lockkeeper
import LockkeeperDomain

/// How a packet of the inbox is printed.
enum InboxOutput {
    /// Writes a packet's members.
    static func write(_ packet: KeptPacket, into writer: inout JSONWriter) {
        writer.member("packet", packet.name)
        writer.member("bytes", packet.byteCount)
        writer.member("parked", packet.parked)
        writer.member("place", packet.place.rawValue)
        writer.member("reason", packet.reason)
        writer.member("failure", packet.failure)
        writer.key("event_lines")
        if let isEventLines = packet.isEventLines {
            writer.bool(isEventLines)
        } else {
            writer.null()
        }
        writer.member("stream", packet.page?.stream)
        writer.member("next", packet.page?.next)
        writer.member("kept_by", packet.processName)
        writer.member("kept_at", packet.keptAt)
        writer.member("attempts", packet.attemptCount)
    }
}
