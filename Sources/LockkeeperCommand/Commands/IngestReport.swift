import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform
import LockkeeperSimulation
import Synchronization

/// What `ingest` has done so far, and how it says so: a receipt per batch, a note per line that
/// cannot be read, and the summary.
///
/// It has the same size whatever passes through. Receipts come from a session's threads and lines
/// from the command's. Lock rule: the mutex guards the totals alone and is let go before anything
/// is printed; receipts of one run are added one after the other.
final class IngestReport: Sendable {
    private let totals = Mutex(Totals())
    private let console: Console
    private let isJSON: Bool
    private let interruption: WakeEvent

    /// The sums over all batches.
    struct Totals: Sendable {
        /// Lines that were read, empty ones left out.
        var lineCount = 0
        /// Lines that are no events.
        var unreadableCount = 0
        /// Events that were read and not stored.
        var refusedCount = 0
        /// What became of the events that were stored.
        var outcomes = OutcomeCounts()
        /// Transactions that changed something.
        var commitCount = 0
        /// Packets that are kept as files.
        var keptCount = 0
        /// Where the cursors of the streams that were named stand.
        var cursors: [StreamID: Cursor?] = [:]
        /// How long batches stood in line for admission.
        var waits = WaitHistogram()
    }

    /// A report of nothing yet.
    ///
    /// - Parameter interruption: signalled when a receipt cannot be printed: whoever does not hear
    ///   of what is stored should be sent nothing more.
    init(console: Console, isJSON: Bool, interruption: WakeEvent) {
        self.console = console
        self.isJSON = isJSON
        self.interruption = interruption
    }

    /// The sums.
    var sums: Totals { totals.withLock { $0 } }

    /// Counts a line, and names it where it cannot be read.
    func countLine(_ number: Int, _ error: EventError?) {
        totals.withLock { totals in
            totals.lineCount += 1
            if error != nil { totals.unreadableCount += 1 }
        }
        guard let error else { return }
        guard isJSON else { return console.note("line \(number): \(error)") }
        console.note(json: { writer in
            writer.beginObject()
            writer.key("unreadable")
            writer.beginObject()
            writer.member("line", number)
            writer.member("code", error.code.rawValue)
            writer.member("field", error.field)
            writer.member("byte", error.offset)
            writer.member("reason", error.reason)
            writer.endObject()
            writer.endObject()
        })
    }

    /// Counts a line that is too long to be handed on, and names it.
    func countLine(_ number: Int, tooLong byteCount: Int, limit: Int) {
        let reason = "a line has at most \(limit) bytes, this one has \(byteCount)"
        countLine(number, EventError(.lineTooLong, reason: reason))
    }

    /// Counts events that were read and not stored.
    func countRefused(_ count: Int) { totals.withLock { $0.refusedCount += count } }

    /// Adds a batch that was stored, and prints its receipt.
    func add(_ receipt: Receipt, lines: ClosedRange<Int>) {
        totals.withLock { totals in
            totals.outcomes.add(receipt.outcomes)
            if receipt.commit != nil { totals.commitCount += 1 }
            totals.cursors.merge(receipt.cursors) { $1 }
            for wait in receipt.waits { totals.waits.add(wait) }
        }
        do {
            try console.print { ReceiptOutput.write(receipt, lines: lines, into: &$0) }
        } catch {
            // The console remembers why; the run ends and says it.
            interruption.signal()
        }
    }

    /// Adds a packet that was delivered, and prints its receipt, or that it is kept.
    func add(_ delivery: Delivery, lines: ClosedRange<Int>) {
        switch delivery {
        case .stored(let receipt): add(receipt, lines: lines)
        case .kept(let packet):
            totals.withLock { $0.keptCount += 1 }
            do {
                try console.print { writer in
                    writer.beginObject()
                    writer.key("kept")
                    writer.beginObject()
                    InboxOutput.write(packet, into: &writer)
                    writer.member("lines", lines)
                    writer.endObject()
                    writer.endObject()
                }
            } catch {
                // The console remembers why; the run ends and says it.
                interruption.signal()
            }
        }
    }

    /// Prints the summary of packets that were delivered, which may have gone into several
    /// generations, or into none.
    func printSummary(ofDeliveriesTo account: AccountID) throws(SystemCallError) {
        let sums = sums
        try console.print { writer in
            writer.beginObject()
            writer.key("summary")
            writer.beginObject()
            writer.member("account", account)
            writer.member("lines", sums.lineCount)
            writer.member("events", sums.outcomes.total)
            writer.members(sums.outcomes)
            writer.member("kept", sums.keptCount)
            writer.member("unreadable", sums.unreadableCount)
            writer.member("refused", sums.refusedCount)
            writer.member("commits", sums.commitCount)
            writer.member("cursors", sums.cursors)
            writer.endObject()
            writer.endObject()
        }
    }

    /// Prints the summary.
    ///
    /// - Parameter waiting: the pages of this run's streams that still wait for an earlier one.
    func printSummary(
        _ token: FencingToken,
        waiting: [PageGap],
        durability: Durability,
        stages: [StageTiming]
    ) throws(SystemCallError) {
        let sums = sums
        try console.print { writer in
            writer.beginObject()
            writer.key("summary")
            writer.beginObject()
            writer.member("account", token.account)
            writer.member("generation", token.generation.rawValue)
            writer.member("lines", sums.lineCount)
            writer.member("events", sums.outcomes.total)
            writer.members(sums.outcomes)
            writer.member("unreadable", sums.unreadableCount)
            writer.member("refused", sums.refusedCount)
            writer.member("commits", sums.commitCount)
            writer.member("cursors", sums.cursors)
            writer.member("gaps", waiting)
            writer.member("durable", durability == .durable)
            writer.key("admission")
            writer.beginObject()
            writer.member("p50_ms", milliseconds: sums.waits.quantile(0.5))
            writer.member("p99_ms", milliseconds: sums.waits.quantile(0.99))
            writer.member("max_ms", milliseconds: sums.waits.largest)
            writer.endObject()
            writer.member("stages", stages)
            writer.endObject()
            writer.endObject()
        }
    }
}
