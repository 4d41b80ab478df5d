package import LockkeeperDomain

/// Names one producer that waits at the bound. Never given twice by one queue.
package struct ProducerID: Sendable, Hashable {
    /// A number of its own.
    package let rawValue: UInt64

    /// Wraps a number.
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// The bounded queue and its batcher as a pure value: inputs in, actions out, time as a parameter.
///
///     open ──finish()──▶ draining            taking the last element leaves it drained
///       └───────fail()──────┴──▶ closed
///
/// - *open* takes elements. One that does not fit makes its producer wait; while anybody waits,
///   everybody who comes later waits behind, so that no small element overtakes a large one. They
///   are let in when the queue has emptied to a half: a producer that was woken then fills the
///   other half, instead of being woken for each batch by the thread that holds up everybody.
/// - *draining* takes none, but those who waited before the end of input are still let in, in
///   order. Every batch is ready.
/// - *closed* holds nothing: `fail` has given back what was queued and refused who waited.
///
/// Inside open and draining the batch at the front is *gathering* or *ready*:
///
///     gathering ──settle()──▶ ready ──takeBatch()──▶ gathering (of the next batch)
///
/// It becomes ready when it is full by count or bytes, when its oldest element has reached the age
/// limit (later elements do not restart that clock), when it holds an element that must be
/// committed at once, when a producer waits (waiting longer would only hold up the producer), or at
/// the end of input. A ready batch stays ready until it is taken, and takes up what still fits.
///
/// What may be trusted at any time (I-9, R-4, R-5):
/// 1. Queued events and bytes never exceed the queue's bounds.
/// 2. Elements are taken in the order in which they were offered, each once; none is dropped.
/// 3. `Signals.isReady` is given exactly once for each batch that `takeBatch` then gives.
/// 4. While something is gathering, a `tick` is due at or before the age limit of the oldest.
///    There is at most one such tick outstanding, and it is never called off: deadlines only rise,
///    so that one which comes too early asks for the next. Signals may therefore be carried out
///    late and out of order by several threads without losing a wake-up.
package struct BatchQueueStateMachine<Element: Sendable>: Sendable {
    private let limits: BatchLimits
    private var phase = Phase.open
    private var entries = RingBuffer<Entry>()
    private var waiters = RingBuffer<Waiter>()
    private var front = Front()
    private var isFrontReady = false
    /// The tick that was asked for and has not come.
    private var armedDeadline: Deadline?
    /// Everything before this place, counted from the first element ever accepted, is to be
    /// committed without waiting for more.
    private var flushedCount = 0
    /// What the queue holds and has done.
    package private(set) var counters = BatchQueueCounters()

    /// What the owner must do after an input, outside of its lock.
    package struct Signals: Sendable, Hashable {
        /// One more batch can be taken.
        package var isReady = false
        /// Call `tick` once, at or soon after this instant.
        package var deadline: Deadline?
    }

    /// An element and what it weighs.
    package struct Offer: Sendable {
        /// What is to be written.
        package let element: Element
        /// The events in it, at least one.
        package let eventCount: Int
        /// The bytes of these events.
        package let byteCount: Int
        /// Whether its batch does not wait for more.
        package let commitsAtOnce: Bool

        /// Weighs an element.
        package init(
            _ element: Element,
            _ eventCount: Int,
            _ byteCount: Int,
            _ commitsAtOnce: Bool = false
        ) {
            precondition(eventCount > 0 && byteCount >= 0, "an element holds at least one event")
            self.element = element
            self.eventCount = eventCount
            self.byteCount = byteCount
            self.commitsAtOnce = commitsAtOnce
        }
    }

    /// What became of an offered element.
    package enum OfferAction: Sendable {
        /// The queue holds it.
        case accept(Signals)
        /// The machine keeps the element; its producer waits until it is named by a later action.
        case wait(Signals)
        /// The element was not taken.
        case refuse(IngestError)
    }

    /// The outcome of taking a batch.
    package struct TakeAction: Sendable {
        /// The batch; `nil` while none is ready.
        package var batch: Batch<Element>?
        /// Producers whose elements were accepted now, in the order in which they came.
        package var resumed: [ProducerID] = []
        /// What the owner must do.
        package var signals = Signals()
    }

    /// What is left when the queue is closed.
    package struct FailAction: Sendable {
        /// Elements that were accepted and not taken, in order.
        package var remaining: [Element] = []
        /// Producers whose elements were not accepted.
        package var refused: [ProducerID] = []
    }

    private enum Phase {
        case open
        case draining
        case closed(any Error)
    }

    private struct Entry {
        let offer: Offer
        let offeredAt: MonotonicInstant
    }

    private struct Waiter {
        let producer: ProducerID
        let entry: Entry
    }

    /// The batch at the front of the queue. Unless it is full it covers every entry.
    private struct Front {
        var elementCount = 0
        var eventCount = 0
        var byteCount = 0
        var isFull = false
    }

    /// An empty, open queue.
    package init(limits: BatchLimits) {
        precondition(limits.batchEventCountMax > 0 && limits.queueEventCountMax > 0)
        precondition(limits.batchByteCountMax > 0 && limits.queueByteCountMax > 0)
        self.limits = limits
    }

    /// Whether the input has ended and everything was taken.
    package var isDrained: Bool {
        if case .draining = phase { entries.isEmpty && waiters.isEmpty } else { false }
    }

    /// Offers an element. A producer without a name does not want to wait.
    package mutating func offer(
        _ offer: Offer,
        by producer: ProducerID?,
        at now: MonotonicInstant
    ) -> OfferAction {
        switch phase {
        case .open: break
        case .draining: return .refuse(.finished)
        case .closed(let reason): return .refuse(.closed(reason))
        }
        let (eventCount, byteCount) = (offer.eventCount, offer.byteCount)
        guard eventCount <= limits.queueEventCountMax, byteCount <= limits.queueByteCountMax else {
            return .refuse(.elementTooLarge(eventCount: eventCount, byteCount: byteCount))
        }
        let entry = Entry(offer: offer, offeredAt: now)
        if waiters.isEmpty && fits(entry) {
            accept(entry)
            return .accept(settle(at: now))
        }
        guard let producer else { return .refuse(.full) }
        waiters.append(Waiter(producer: producer, entry: entry))
        counters.waitingCount += 1
        return .wait(settle(at: now))
    }

    /// Takes the batch at the front if it is ready, and lets in who then fits.
    package mutating func takeBatch(at now: MonotonicInstant) -> TakeAction {
        guard isFrontReady, let oldest = entries.first else { return TakeAction() }
        var batch = Batch<Element>(
            elements: [],
            eventCount: front.eventCount,
            byteCount: front.byteCount,
            oldestOfferedAt: oldest.offeredAt
        )
        batch.elements.reserveCapacity(front.elementCount)
        for _ in 0..<front.elementCount {
            guard let entry = entries.popFirst() else {
                preconditionFailure("the front covers entries of the queue")
            }
            batch.elements.append(entry.offer.element)
        }
        counters.queuedEventCount -= front.eventCount
        counters.queuedByteCount -= front.byteCount
        counters.takenCount += front.elementCount
        isFrontReady = false
        gatherFront()
        return TakeAction(batch: batch, resumed: admitWaiters(), signals: settle(at: now))
    }

    /// The tick that was asked for has come.
    package mutating func tick(at now: MonotonicInstant) -> Signals {
        armedDeadline = nil
        return settle(at: now)
    }

    /// Everything that was offered until now is to be committed without waiting for more.
    package mutating func flush(at now: MonotonicInstant) -> Signals {
        // Those who wait are the next to be accepted, in this order.
        flushedCount = counters.acceptedCount + waiters.count
        return settle(at: now)
    }

    /// Ends the input. What was offered before is still taken.
    package mutating func finish(at now: MonotonicInstant) -> Signals {
        guard case .open = phase else { return Signals() }
        phase = .draining
        return settle(at: now)
    }

    /// Takes a waiting producer out of the line. `nil` when it does not wait: then its element was
    /// accepted or refused before. Otherwise the action holds no batch, but may let in those who
    /// stood behind it and are smaller.
    package mutating func cancel(_ producer: ProducerID, at now: MonotonicInstant) -> TakeAction? {
        guard waiters.removeFirst(where: { $0.producer == producer }) != nil else { return nil }
        counters.waitingCount -= 1
        return TakeAction(batch: nil, resumed: admitWaiters(), signals: settle(at: now))
    }

    /// Closes the queue and gives back what it held.
    package mutating func fail(_ reason: any Error) -> FailAction {
        var action = FailAction()
        if case .closed = phase { return action }
        phase = .closed(reason)
        while let entry = entries.popFirst() { action.remaining.append(entry.offer.element) }
        while let waiter = waiters.popFirst() { action.refused.append(waiter.producer) }
        counters.returnedCount = action.remaining.count
        counters.queuedEventCount = 0
        counters.queuedByteCount = 0
        counters.waitingCount = 0
        front = Front()
        isFrontReady = false
        return action
    }

    private func fits(_ entry: Entry) -> Bool {
        counters.queuedEventCount + entry.offer.eventCount <= limits.queueEventCountMax
            && counters.queuedByteCount + entry.offer.byteCount <= limits.queueByteCountMax
    }

    private mutating func accept(_ entry: Entry) {
        entries.append(entry)
        counters.acceptedCount += 1
        counters.queuedEventCount += entry.offer.eventCount
        counters.queuedByteCount += entry.offer.byteCount
        if entry.offer.commitsAtOnce { flushedCount = counters.acceptedCount }
        if !front.isFull { extendFront(with: entry) }
    }

    /// Lets waiting producers in, strictly from the first on. While anybody waits a batch is ready,
    /// so that the queue comes to its half without them.
    private mutating func admitWaiters() -> [ProducerID] {
        guard counters.queuedEventCount <= limits.queueEventCountMax / 2,
            counters.queuedByteCount <= limits.queueByteCountMax / 2
        else { return [] }
        var resumed: [ProducerID] = []
        while let waiter = waiters.first, fits(waiter.entry) {
            _ = waiters.popFirst()
            counters.waitingCount -= 1
            accept(waiter.entry)
            resumed.append(waiter.producer)
        }
        return resumed
    }

    private mutating func gatherFront() {
        front = Front()
        while !front.isFull && front.elementCount < entries.count {
            extendFront(with: entries[front.elementCount])
        }
    }

    private mutating func extendFront(with entry: Entry) {
        let fits =
            front.eventCount + entry.offer.eventCount <= limits.batchEventCountMax
            && front.byteCount + entry.offer.byteCount <= limits.batchByteCountMax
        guard fits || front.elementCount == 0 else {
            front.isFull = true
            return
        }
        front.elementCount += 1
        front.eventCount += entry.offer.eventCount
        front.byteCount += entry.offer.byteCount
        front.isFull =
            front.eventCount >= limits.batchEventCountMax
            || front.byteCount >= limits.batchByteCountMax
    }

    /// Brings readiness and the outstanding tick up to date; ends every input.
    private mutating func settle(at now: MonotonicInstant) -> Signals {
        var signals = Signals()
        guard !isFrontReady, let oldest = entries.first else { return signals }
        let ageLimit = Deadline(after: limits.batchAgeMax, from: oldest.offeredAt)
        if front.isFull || flushedCount > counters.takenCount || !waiters.isEmpty || isDraining
            || ageLimit.hasPassed(at: now)
        {
            isFrontReady = true
            signals.isReady = true
        } else if armedDeadline == nil {
            armedDeadline = ageLimit
            signals.deadline = ageLimit
        }
        return signals
    }

    private var isDraining: Bool {
        if case .draining = phase { true } else { false }
    }
}
