import LockkeeperDomain
import LockkeeperStorage
import Synchronization

/// Ranges on their way from a feed's thread to its consumer.
///
/// Bounded: past the limit what comes is merged into what waits, which stays true because a merged
/// range covers both. One consumer at a time.
///
/// A consumer that waits may leave a ``Visit`` for the feed's thread, which reads there what the range
/// speaks of: it is read two changes of thread earlier than by a consumer that is woken first.
final class FeedChannel: Sendable {
    /// Looks at a range on the feed's thread, with that thread's reader. Returns whether the consumer
    /// is woken for it; a range for which it is not is left out.
    typealias Visit = @Sendable (ChangeRange, StoreReader) -> Bool

    private struct Consumer {
        let continuation: CheckedContinuation<ChangeRange?, any Error>
        let visit: Visit?
    }

    private struct State {
        var ranges: [ChangeRange] = []
        var end: Result<Void, any Error>?
        var consumer: Consumer?
    }

    private let state = Mutex(State())
    private let rangeCountMax: Int

    init(rangeCountMax: Int) { self.rangeCountMax = rangeCountMax }

    /// Hands a range over. Waits for nobody, but for the visit of a consumer that left one. Called by
    /// the feed's thread alone.
    ///
    /// - Parameter reader: the thread's reader, where it can be used.
    func send(_ range: ChangeRange, reader: StoreReader? = nil) {
        let consumer = state.withLock { state -> Consumer? in
            guard state.end == nil else { return nil }
            if let consumer = state.consumer {
                state.consumer = nil
                return consumer
            }
            if state.ranges.count >= rangeCountMax, let last = state.ranges.last,
                last.isFollowed(by: range)
            {
                state.ranges[state.ranges.count - 1].merge(range)
            } else {
                state.ranges.append(range)
            }
            return nil
        }
        guard let consumer else { return }
        if let visit = consumer.visit, let reader, !visit(range, reader) {
            // It goes on waiting. Nobody else ends the channel or consumes meanwhile.
            state.withLock { $0.consumer = consumer }
        } else {
            consumer.continuation.resume(returning: range)
        }
    }

    /// Ends the channel. What was sent before is still handed out. Called by the feed's thread alone,
    /// or where there is none.
    func finish(_ end: Result<Void, any Error>) {
        let consumer = state.withLock { state -> Consumer? in
            guard state.end == nil else { return nil }
            state.end = end
            defer { state.consumer = nil }
            return state.consumer
        }
        consumer?.continuation.resume(with: end.map { nil })
    }

    /// The next range; `nil` at the end. One that waits already is not visited.
    func next(visiting visit: Visit? = nil) async throws -> ChangeRange? {
        try await withCheckedThrowingContinuation { continuation in
            let answer = state.withLock { state -> Result<ChangeRange?, any Error>? in
                if !state.ranges.isEmpty { return .success(state.ranges.removeFirst()) }
                if let end = state.end { return end.map { nil } }
                precondition(state.consumer == nil, "a feed's iterator has one consumer")
                state.consumer = Consumer(continuation: continuation, visit: visit)
                return nil
            }
            if let answer { continuation.resume(with: answer) }
        }
    }
}
