import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform

/// One run of `ingest`: lines from an input into an account.
///
/// It reads and decodes on the command's thread and blocks there while the queue is full, so that
/// whoever sends is made to wait and memory stays flat.
struct IngestRun {
    let messages: MessageStore
    let durability: Durability
    let admission: AdmissionClass
    let effects: EffectPolicy
    let report: IngestReport
    let interruption: WakeEvent
    /// Told how many bytes of the input were read, and how many there are.
    let progress: @Sendable (Int, Int?) -> Void

    /// Events that wait for the writer at the most. Ten batches are enough to keep it busy; four
    /// thousand messages would take 3 MiB of the 24 that a helper has when a push wakes it.
    private static let queueEventCountMax = 1024

    /// What follows a chunk of the input.
    private enum Continuation {
        /// Another one.
        case more
        /// Nothing: everything was read.
        case ended
        /// Nothing, although there may be more: the run was interrupted or takes no more.
        case stopped
    }

    /// Stores everything in batches; pages that come too early wait.
    ///
    /// - Returns: why it ended before its input did; `nil` where everything was stored.
    func pipelined(_ input: consuming IngestInput) async throws -> (any Error)? {
        let ingester = try Ingester(
            messages,
            durability: durability,
            admission: admission,
            effects: effects,
            queueEventCountMax: min(
                Self.queueEventCountMax,
                messages.session.database.limits.queueEventCountMax
            ),
            onStored: { [report] in report.add($0.receipt, lines: $0.marks) },
            onFailure: { [interruption] in interruption.signal() }
        )
        var source = input
        var isOpen = true
        var inputFailure: (any Error)?
        do {
            try readLines(from: &source) { number, line in
                // What is read once the ingester has ended is counted, so that the sender's number
                // and ours agree.
                if isOpen {
                    do { try ingester.submitBlocking(line, mark: number) } catch {
                        // The ingester has ended, and `finish` says why; or it takes no such page.
                        inputFailure = error
                        isOpen = false
                    }
                }
                if !isOpen { report.countRefused(1) }
                return isOpen
            }
        } catch {
            inputFailure = error
        }
        let summary = await ingester.finish()
        report.countRefused(summary.returnedCount)
        return summary.failure ?? inputFailure
    }

    /// Stores each page with its events in one transaction, or refuses it whole when it does not
    /// begin at its stream's cursor.
    ///
    /// - Returns: why it ended before its input did; `nil` where everything was stored.
    func pageByPage(_ input: consuming IngestInput) async throws -> (any Error)? {
        var source = input
        var decoder = LineDecoder(limits: messages.session.database.limits)
        var page = PendingPage(limits: messages.session.database.limits)
        // Decoded a chunk at a time: storing waits, which the decoder's callback cannot.
        var lines: [(number: Int, line: DecodedLine)] = []
        var takenCount = 0
        do {
            var next = Continuation.more
            while next == .more {
                lines.removeAll(keepingCapacity: true)
                takenCount = 0
                next = try readChunk(from: &source, &decoder) { number, line in
                    lines.append((number, line))
                    return true
                }
                for (number, line) in lines {
                    takenCount += 1
                    try page.append(line, number)
                    if case .page(let closing) = line.event {
                        try await store(&page, closing: closing)
                    }
                }
            }
            if next == .stopped {
                // Nobody hears of what is stored: the page that is not complete is sent again.
                report.countRefused(page.eventCount)
            } else if !page.lines.isEmpty {
                try await store(&page, closing: nil)
            }
            return nil
        } catch {
            report.countRefused(page.eventCount + lines.count - takenCount)
            return error
        }
    }

    private func store(_ page: inout PendingPage, closing: SyncPage?) async throws {
        let receipt = try await messages.ingest(
            page.lines,
            closing: closing,
            onGap: .refuse,
            durability: durability,
            // What was declared of the page's stream, where nothing is said.
            effects: effects == .suppress ? .suppress : nil
        )
        report.add(receipt, lines: page.firstNumber...page.lastNumber)
        page.removeAll()
    }

    /// Reads lines until the input ends, the run is interrupted, or `take` says that it wants no
    /// more; the lines that a chunk has completed are handed out all the same.
    private func readLines(
        from input: inout IngestInput,
        take: (Int, DecodedLine) -> Bool
    ) throws(SystemCallError) {
        var decoder = LineDecoder(limits: messages.session.database.limits)
        while try readChunk(from: &input, &decoder, take: take) == .more {}
    }

    /// Reads one chunk, and says whether there is another.
    private func readChunk(
        from input: inout IngestInput,
        _ decoder: inout LineDecoder,
        take: (Int, DecodedLine) -> Bool
    ) throws(SystemCallError) -> Continuation {
        var next = Continuation.more
        func handOut(_ number: Int, _ line: DecodedLine, _ error: EventError?) {
            report.countLine(number, error)
            if !take(number, line) { next = .stopped }
        }
        let chunk = try input.next()
        progress(input.byteCount, input.size)
        switch chunk {
        case .bytes(let bytes): decoder.feed(bytes, take: handOut)
        case .end:
            next = .ended
            decoder.finish(take: handOut)
        case .interrupted: next = .stopped
        }
        return next
    }
}

/// The lines of a page whose end has not come.
private struct PendingPage {
    private(set) var lines: [DecodedLine] = []
    private(set) var firstNumber = 0
    private(set) var lastNumber = 0
    private(set) var eventCount = 0
    private var byteCount = 0
    private let limits: Limits

    init(limits: Limits) { self.limits = limits }

    /// - Throws: ``CommandError`` when there are more than may be kept: a page that is refused whole
    ///   must be known whole.
    mutating func append(_ line: DecodedLine, _ number: Int) throws(CommandError) {
        if eventCount == 0 { firstNumber = number }
        lastNumber = number
        eventCount += 1
        // The page itself closes the transaction and is not one of its events.
        if case .page = line.event { return }
        lines.append(line)
        byteCount += line.byteCount
        guard lines.count <= limits.queueEventCountMax, byteCount <= limits.queueByteCountMax else {
            throw CommandError(
                "page-too-large",
                .usage,
                "The page that ends behind line \(number) has more than"
                    + " \(limits.queueEventCountMax) events or \(limits.queueByteCountMax) bytes,"
                    + " too many to refuse it whole. Leave out --refuse-gaps."
            )
        }
    }

    mutating func removeAll() {
        lines.removeAll(keepingCapacity: true)
        eventCount = 0
        byteCount = 0
    }
}
