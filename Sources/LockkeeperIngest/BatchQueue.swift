package import LockkeeperDomain
import Synchronization

/// The bounded queue between many producers and the one writer of a process, cut into batches.
///
/// Producers `submit` from tasks or threads and wait at the bound. For every batch that can be
/// taken `onReady` is called once; whoever writes then calls ``takeBatch()``, which never blocks.
/// The rules are those of ``BatchQueueStateMachine``.
///
/// Lock rules: one lock guards the machine and those who wait. It is held for a few hundred
/// instructions; inside it only the clock is called. Producers are resumed and both callbacks are
/// called after it was released, on the thread whose call caused them: the producer's, the
/// writer's or the timer's. A callback may therefore call the queue, and must not block.
package final class BatchQueue<Element: Sendable>: Sendable {
    private let state: Mutex<State>
    private let producerCount = Atomic<UInt64>(0)
    private let clock: any MonotonicClock
    private let onReady: @Sendable () -> Void
    private let onDeadline: @Sendable (Deadline) -> Void

    private struct State {
        var machine: BatchQueueStateMachine<Element>
        var waiters: [ProducerID: Waiter] = [:]

        mutating func removeWaiters(_ producers: [ProducerID]) -> [Waiter] {
            producers.compactMap { waiters.removeValue(forKey: $0) }
        }
    }

    private typealias Offer = BatchQueueStateMachine<Element>.Offer

    /// How a producer that waits is reached.
    private enum Waiter {
        case task(CheckedContinuation<Result<Void, IngestError>, Never>)
        case thread(ParkedThread)

        func resume(returning result: Result<Void, IngestError>) {
            switch self {
            case .task(let continuation): continuation.resume(returning: result)
            case .thread(let thread): thread.resume(returning: result)
            }
        }
    }

    /// Whom a producer's cancellation concerns: itself, and those behind it who now fit.
    private struct Cancellation {
        let cancelled: Waiter?
        let admitted: [Waiter]
        let signals: BatchQueueStateMachine<Element>.Signals
    }

    /// An empty queue.
    ///
    /// - Parameters:
    ///   - limits: The bounds of queue and batch.
    ///   - clock: Where ages are read from.
    ///   - onReady: One more batch can be taken. Called exactly once per batch.
    ///   - onDeadline: ``tick()`` is to be called once, at or soon after the deadline. At most one
    ///     is outstanding; none is ever called off.
    package init(
        limits: BatchLimits,
        clock: any MonotonicClock,
        onReady: @escaping @Sendable () -> Void,
        onDeadline: @escaping @Sendable (Deadline) -> Void
    ) {
        self.state = Mutex(State(machine: BatchQueueStateMachine(limits: limits)))
        self.clock = clock
        self.onReady = onReady
        self.onDeadline = onDeadline
    }

    /// What the queue holds and has done.
    package var counters: BatchQueueCounters { state.withLock { $0.machine.counters } }

    /// Whether the input has ended and everything was taken.
    package var isDrained: Bool { state.withLock { $0.machine.isDrained } }

    /// Submits an element from a task and waits, suspended, while the queue stands at its bound.
    /// Stays on the caller's actor, so that the usual case, there is room, costs no hop.
    ///
    /// - Parameter commitsAtOnce: Its batch does not wait for more.
    /// - Throws: ``IngestError/cancelled`` when the task was cancelled while it waited (an element
    ///   that was already let in stays accepted and nothing is thrown), `elementTooLarge`,
    ///   `finished` and `closed`.
    package func submit(
        _ element: Element,
        eventCount: Int,
        byteCount: Int,
        commitsAtOnce: Bool = false,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(IngestError) {
        let offer = Offer(element, eventCount, byteCount, commitsAtOnce)
        if let answer = self.offer(offer) { return try answer.get() }
        let producer = makeProducerID()
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The mark is set before the handler runs and the handler needs the lock: either
                // the mark is seen here, or the handler finds the producer in the line.
                let answer = self.offer(offer, by: producer, as: .task(continuation)) {
                    Task.isCancelled
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            cancel(producer)
        }
        try answer.get()
    }

    /// Submits an element from a thread of the caller's own, which blocks while the queue stands
    /// at its bound. Never to be called on the cooperative pool: it would take one of its threads.
    /// A thread that must not wait on is freed by ``close(_:)``.
    ///
    /// - Throws: ``IngestError``: `elementTooLarge`, `finished` and `closed`.
    package func submitBlocking(
        _ element: Element,
        eventCount: Int,
        byteCount: Int,
        commitsAtOnce: Bool = false
    ) throws(IngestError) {
        let offer = Offer(element, eventCount, byteCount, commitsAtOnce)
        if let answer = self.offer(offer) { return try answer.get() }
        let thread = ParkedThread()
        let answer = self.offer(offer, by: makeProducerID(), as: .thread(thread)) { false }
        if let answer { try answer.get() } else { try thread.wait().get() }
    }

    /// Submits an element if there is room at once, for producers that would rather be told to
    /// pause.
    ///
    /// - Throws: ``IngestError``: `full` where the other two would wait, `elementTooLarge`,
    ///   `finished` and `closed`.
    package func trySubmit(
        _ element: Element,
        eventCount: Int,
        byteCount: Int,
        commitsAtOnce: Bool = false
    ) throws(IngestError) {
        let offer = Offer(element, eventCount, byteCount, commitsAtOnce)
        guard let answer = self.offer(offer) else { throw .full }
        try answer.get()
    }

    /// Takes the next batch, `nil` while none is ready; after each `onReady` there is one. Never
    /// blocks: for the thread that holds the right to write.
    package func takeBatch() -> Batch<Element>? {
        let (action, waiters) = state.withLock { state in
            let action = state.machine.takeBatch(at: clock.now())
            return (action, state.removeWaiters(action.resumed))
        }
        for waiter in waiters { waiter.resume(returning: .success(())) }
        perform(action.signals)
        return action.batch
    }

    /// The deadline that `onDeadline` named has come.
    package func tick() {
        perform(state.withLock { $0.machine.tick(at: clock.now()) })
    }

    /// Has everything that was submitted until now committed without waiting for more.
    package func flush() {
        perform(state.withLock { $0.machine.flush(at: clock.now()) })
    }

    /// Ends the input: nothing more is taken, what was submitted before still comes out in batches,
    /// until ``isDrained``.
    package func finish() {
        perform(state.withLock { $0.machine.finish(at: clock.now()) })
    }

    /// Closes the queue. Who waits gets ``IngestError/closed(_:)``, as does who comes later.
    ///
    /// - Returns: What was accepted and not taken, in order: whoever closes the queue answers for
    ///   it. Empty when the queue was closed before.
    package func close(_ reason: any Error) -> [Element] {
        let (action, waiters) = state.withLock { state in
            let action = state.machine.fail(reason)
            return (action, state.removeWaiters(action.refused))
        }
        for waiter in waiters { waiter.resume(returning: .failure(.closed(reason))) }
        return action.remaining
    }

    /// Offers without waiting; `nil` when the queue stands at its bound.
    private func offer(_ offer: Offer) -> Result<Void, IngestError>? {
        let action = state.withLock { $0.machine.offer(offer, by: nil, at: clock.now()) }
        switch action {
        case .accept(let signals):
            perform(signals)
            return .success(())
        case .wait: preconditionFailure("an offer without a producer does not wait")
        case .refuse(.full): return nil
        case .refuse(let error): return .failure(error)
        }
    }

    /// Offers for a producer that is ready to wait; `nil` when it waits now and is resumed later.
    private func offer(
        _ offer: Offer,
        by producer: ProducerID,
        as waiter: Waiter,
        unless isCancelled: () -> Bool
    ) -> Result<Void, IngestError>? {
        let action = state.withLock { state -> BatchQueueStateMachine<Element>.OfferAction in
            if isCancelled() { return .refuse(.cancelled) }
            let action = state.machine.offer(offer, by: producer, at: clock.now())
            if case .wait = action { state.waiters[producer] = waiter }
            return action
        }
        switch action {
        case .accept(let signals):
            perform(signals)
            return .success(())
        case .wait(let signals):
            perform(signals)
            return nil
        case .refuse(let error): return .failure(error)
        }
    }

    private func cancel(_ producer: ProducerID) {
        let outcome = state.withLock { state -> Cancellation? in
            guard let action = state.machine.cancel(producer, at: clock.now()) else { return nil }
            return Cancellation(
                cancelled: state.waiters.removeValue(forKey: producer),
                admitted: state.removeWaiters(action.resumed),
                signals: action.signals
            )
        }
        // No outcome: the element was accepted or refused before, and the producer told so.
        guard let outcome else { return }
        outcome.cancelled?.resume(returning: .failure(.cancelled))
        for waiter in outcome.admitted { waiter.resume(returning: .success(())) }
        perform(outcome.signals)
    }

    private func makeProducerID() -> ProducerID {
        ProducerID(producerCount.wrappingAdd(1, ordering: .relaxed).newValue)
    }

    private func perform(_ signals: BatchQueueStateMachine<Element>.Signals) {
        if signals.isReady { onReady() }
        if let deadline = signals.deadline { onDeadline(deadline) }
    }
}
