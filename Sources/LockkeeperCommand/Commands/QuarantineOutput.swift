import LockkeeperDomain
import LockkeeperMessages

/// How something that was put aside is printed.
enum QuarantineOutput {
    /// Writes an item's members, its bytes left out.
    static func write(_ item: QuarantinedItem, into writer: inout JSONWriter) {
        writer.member("number", item.number)
        writer.member("reason", item.reason)
        writer.member("explanation", item.explanation)
        writer.member("conversation", item.conversation)
        writer.member("id", item.message)
        writer.member("count", item.count)
        writer.member("bytes", item.byteCount)
        writer.member("sha256", item.digest.hexadecimal)
        writer.member("first_at", item.firstAt)
        writer.member("last_at", item.lastAt)
    }
}
