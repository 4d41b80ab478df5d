import LockkeeperDomain
import LockkeeperMessages

/// How a receipt is printed.
enum ReceiptOutput {
    /// Writes a receipt as one object.
    ///
    /// - Parameter lines: the first and last line of the input that it is for.
    static func write(
        _ receipt: Receipt,
        lines: ClosedRange<Int>?,
        into writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.member("account", receipt.account)
        writer.member("generation", receipt.generation.rawValue)
        writer.member("commit", receipt.commit?.rawValue)
        if let lines { writer.member("lines", lines) }
        writer.member("events", receipt.outcomes.total)
        writer.members(receipt.outcomes)
        writer.member("cursors", receipt.cursors)
        if !receipt.gaps.isEmpty { writer.member("gaps", receipt.gaps) }
        writer.member("durable", receipt.durability == .durable)
        writer.member("waited_ms", milliseconds: receipt.waits.max() ?? .zero)
        writer.endObject()
    }
}
