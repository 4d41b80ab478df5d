import Lockkeeper
public import LockkeeperDomain
import LockkeeperIngest
import LockkeeperPlatform
import LockkeeperSQLite
import Synchronization

/// Takes a stream of events and stores it in batches: what a helper that reads from its server uses.
///
/// Producers wait while the queue stands at its bound. A batch closes by count, bytes, or the age of
/// its oldest event; it then stands in the writer's line, and the writer's thread takes it out of
/// the queue itself, so that no thread is crossed between the queue and the commit. Receipts come in
/// the order of the events.
public final class Ingester: Sendable {
    /// A batch that was stored.
    public struct Stored: Sendable {
        /// What became of it.
        public let receipt: Receipt
        /// The marks of its first and last event.
        public let marks: ClosedRange<Int>
    }

    /// An event that was accepted and is given back.
    public struct Returned: Sendable {
        /// The event; `nil` for a line that is none.
        public let event: Event?
        /// The mark that it was submitted with.
        public let mark: Int
    }

    /// What the ingester did, once it has ended.
    public struct Summary: Sendable {
        /// Events that were stored and acknowledged.
        public fileprivate(set) var storedCount = 0
        /// Events that were accepted and are given back because a batch failed, in the order of their
        /// marks. They were never acknowledged, and nothing writes them elsewhere: the caller may
        /// submit them to the account's next session, deliver them, or wait until the server, which
        /// had no acknowledgement, sends them again. As many as the queue holds and one batch, at most.
        public fileprivate(set) var returned: [Returned] = []
        /// How many events are given back.
        public var returnedCount: Int { returned.count }
        /// Why it ended before its input did.
        public fileprivate(set) var failure: (any Error)?
    }

    /// What waits in the queue. An object, because an event has a dozen fields with storage of their
    /// own: the queue, the batch and the merge pass one reference on instead of copying them all.
    final class Entry: Sendable {
        let item: IngestItem
        let mark: Int

        init(item: IngestItem, mark: Int) {
            self.item = item
            self.mark = mark
        }
    }

    private struct State {
        var summary = Summary()
        var jobCount = 0
        var isFinished = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let store: MessageStore
    private let durability: Durability
    private let admission: AdmissionClass
    private let effects: EffectPolicy
    private let onStored: @Sendable (Stored) -> Void
    private let onFailure: @Sendable () -> Void
    private let state = Mutex(State())
    private let timer: DeadlineTimer
    // The queue's callbacks lead back to the ingester, which owns the queue.
    private let queueBox = QueueBox()

    /// Starts an ingester.
    ///
    /// - Parameters:
    ///   - store: where to store.
    ///   - durability: what receipts promise.
    ///   - admission: whether somebody waits for the events: packets that have just come are live,
    ///     history is backfill. Live writes of this process go before backfill, which slows down
    ///     first while the log is degraded.
    ///   - effects: whether the messages may notify.
    ///   - onStored: called for each batch once its durability is reached, on a thread of the
    ///     session's; it must not block.
    ///   - onFailure: called once when a batch has failed and the ingester takes no more, so that a
    ///     producer that waits for input elsewhere can stop; ``finish()`` says why.
    /// - Throws: ``LockkeeperError`` with the code `contract`.
    public convenience init(
        _ store: MessageStore,
        durability: Durability = .durable,
        admission: AdmissionClass = .live,
        effects: EffectPolicy = .decide,
        onStored: @escaping @Sendable (Stored) -> Void,
        onFailure: @escaping @Sendable () -> Void = {}
    ) throws {
        try self.init(
            store,
            durability: durability,
            admission: admission,
            effects: effects,
            queueEventCountMax: store.session.database.limits.queueEventCountMax,
            onStored: onStored,
            onFailure: onFailure
        )
    }

    /// Starts an ingester with a bound of its own for what waits.
    ///
    /// - Throws: as the other one.
    package init(
        _ store: MessageStore,
        durability: Durability,
        admission: AdmissionClass,
        effects: EffectPolicy,
        queueEventCountMax: Int,
        onStored: @escaping @Sendable (Stored) -> Void,
        onFailure: @escaping @Sendable () -> Void
    ) throws {
        try store.check(durability)
        self.store = store
        self.durability = durability
        self.admission = admission
        self.effects = effects
        self.onStored = onStored
        self.onFailure = onFailure
        timer = store.session.timer
        var limits = store.session.database.limits
        limits.queueEventCountMax = queueEventCountMax
        queueBox.queue = BatchQueue(
            limits: BatchLimits(limits),
            clock: store.session.database.clock,
            onReady: { [weak self] in self?.enqueueJob() },
            onDeadline: { [weak self] deadline in self?.setTimer(deadline) }
        )
    }

    /// Offers an event and waits while the queue is full.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - mark: a number by which the caller knows it again, a line's for example; ascending.
    ///   - commitsAtOnce: its batch does not wait for more.
    /// - Throws: the failure that ended the ingester; `CancellationError` when the task was
    ///   cancelled while it waited; ``LockkeeperError`` — `invalidInput` for an event larger than
    ///   the queue, `contract` for a page of a stream that forbids it, `closed` after ``finish()``. The event was not accepted then.
    public func submit(_ event: Event, mark: Int = 0, commitsAtOnce: Bool = false) async throws {
        try store.check(durability, event)
        do throws(IngestError) {
            try await queue.submit(
                Entry(item: .event(event), mark: mark),
                eventCount: 1,
                byteCount: event.approximateByteCount,
                commitsAtOnce: commitsAtOnce
            )
        } catch {
            throw Self.publicError(error)
        }
    }

    /// Offers a decoded line from a thread of the caller's own, which blocks while the queue is full.
    ///
    /// - Throws: as ``submit(_:mark:commitsAtOnce:)``.
    package func submitBlocking(_ line: DecodedLine, mark: Int) throws {
        if let event = line.event { try store.check(durability, event) }
        do throws(IngestError) {
            try queue.submitBlocking(
                Entry(item: line.item, mark: mark),
                eventCount: 1,
                byteCount: line.byteCount
            )
        } catch {
            throw Self.publicError(error)
        }
    }

    /// Ends the input, waits until everything accepted is stored or given back, and says which.
    public func finish() async -> Summary {
        queue.finish()
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                state.isFinished = true
                if isDone(state) { return true }
                state.waiter = continuation
                return false
            }
            if hasEnded { continuation.resume() }
        }
        return state.withLock { state in
            // Batches behind the one that failed first may have been given back before it.
            state.summary.returned.sort { $0.mark < $1.mark }
            return state.summary
        }
    }

    /// What a queue's refusal is called outside.
    private static func publicError(_ error: IngestError) -> any Error {
        switch error {
        case .closed(let reason): reason
        case .cancelled: CancellationError()
        case .finished:
            LockkeeperError(
                .closed,
                subject: "ingester",
                explanation: error.description,
                answer: .fixProgram,
                remedy: "Submit before the input is finished.",
                cause: error
            )
        case .full, .elementTooLarge:
            LockkeeperError(
                .invalidInput,
                subject: "ingester",
                explanation: error.description,
                answer: .fixProgram,
                remedy: "Offer smaller events.",
                cause: error
            )
        }
    }

    private func setTimer(_ deadline: Deadline) {
        do {
            try timer.schedule(at: deadline) { [weak self] in self?.queueBox.queue?.tick() }
        } catch {
            // Without a timer nothing waits for more: what is there is committed now.
            queue.flush()
        }
    }

    private var queue: BatchQueue<Entry> {
        guard let queue = queueBox.queue else {
            preconditionFailure("the queue is set before the ingester is handed out")
        }
        return queue
    }

    /// One more batch can be taken: a job for it goes into the writer's line.
    private func enqueueJob() {
        state.withLock { $0.jobCount += 1 }
        let taken = Mutex<[Entry]?>(nil)
        store.session.database.submit(
            durability: durability,
            class: admission,
            body: { [store, queue, effects] connection, topics in
                // The closure may run again; the batch is taken once.
                let entries = taken.withLock { taken in
                    if taken == nil, let batch = queue.takeBatch() {
                        taken = batch.elements
                        store.session.noteQueue(since: batch.oldestOfferedAt)
                    }
                    return taken ?? []
                }
                return try store.merge(
                    closing: nil,
                    onGap: .wait,
                    effects: effects,
                    on: connection,
                    topics: &topics
                ) { merge in
                    for entry in entries { try merge.take(entry.item) }
                }
            },
            completion: { [self] result in
                finishJob(result, entries: taken.withLock { $0 ?? [] })
            }
        )
    }

    private func finishJob(
        _ result: Result<(BatchResult, CommitReceipt), any Error>,
        entries: [Entry]
    ) {
        switch result {
        case .success(let (result, commit)):
            if let first = entries.first, let last = entries.last {
                onStored(
                    Stored(
                        receipt: Receipt(result, commit),
                        marks: min(first.mark, last.mark)...max(first.mark, last.mark)
                    )
                )
            }
            state.withLock { $0.summary.storedCount += entries.count }
        case .failure(let error):
            let left = queue.close(error)
            let isFirst = state.withLock { state in
                state.summary.returned += (entries + left).map(Returned.init)
                defer { state.summary.failure = state.summary.failure ?? error }
                return state.summary.failure == nil
            }
            if isFirst { onFailure() }
        }
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.jobCount -= 1
            guard state.isFinished, isDone(state) else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    private func isDone(_ state: State) -> Bool {
        state.jobCount == 0 && (state.summary.failure != nil || queue.isDrained)
    }
}

extension Ingester.Returned {
    fileprivate init(_ entry: Ingester.Entry) {
        event = if case .event(let event) = entry.item { event } else { nil }
        mark = entry.mark
    }
}

/// Holds the queue, whose callbacks need the ingester before it is complete.
private final class QueueBox: @unchecked Sendable {
    // Safe because it is set once, before the ingester is handed out, and only read afterwards.
    var queue: BatchQueue<Ingester.Entry>?
}
