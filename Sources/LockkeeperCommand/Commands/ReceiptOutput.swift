import LockkeeperDomain
import LockkeeperMessages

/// How a receipt is printed.
enum ReceiptOutput {
    /// Writes a receipt as one object.
    ///
    /// - Parameter lines: the first and last line of the input that it is for.
    /// - Parameter more: writes further members.
    static func write(
        _ receipt: Receipt,
        lines: ClosedRange<Int>?,
        into writer: inout JSONWriter,
        with more: (inout JSONWriter) -> Void = { _ in }
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
        more(&writer)
        writer.endObject()
    }

    /// Writes the receipt of an act of the account's own as one object.
    static func write(_ act: MessageStore.ActReceipt, into writer: inout JSONWriter) {
        write(act.receipt, lines: nil, into: &writer) { $0.member("item", act.item) }
    }
}
