import LockkeeperDomain
import Synchronization

/// Ranges on their way from a feed's thread to its consumer.
///
/// Bounded: past the limit what comes is merged into what waits, which stays true because a merged
/// range covers both. One consumer at a time.
final class FeedChannel: Sendable {
    private struct State {
        var ranges: [ChangeRange] = []
        var end: Result<Void, any Error>?
        var consumer: CheckedContinuation<ChangeRange?, any Error>?
    }

    private let state = Mutex(State())
    private let rangeCountMax: Int

    init(rangeCountMax: Int) { self.rangeCountMax = rangeCountMax }

    /// Hands a range over. Never waits.
    func send(_ range: ChangeRange) {
        let consumer = state.withLock { state -> CheckedContinuation<ChangeRange?, any Error>? in
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
        consumer?.resume(returning: range)
    }

    /// Ends the channel. What was sent before is still handed out.
    func finish(_ end: Result<Void, any Error>) {
        let consumer = state.withLock { state -> CheckedContinuation<ChangeRange?, any Error>? in
            guard state.end == nil else { return nil }
            state.end = end
            defer { state.consumer = nil }
            return state.consumer
        }
        consumer?.resume(with: end.map { nil })
    }

    /// The next range; `nil` at the end.
    func next() async throws -> ChangeRange? {
        try await withCheckedThrowingContinuation { continuation in
            let answer = state.withLock { state -> Result<ChangeRange?, any Error>? in
                if !state.ranges.isEmpty { return .success(state.ranges.removeFirst()) }
                if let end = state.end { return end.map { nil } }
                precondition(state.consumer == nil, "a feed's iterator has one consumer")
                state.consumer = continuation
                return nil
            }
            if let answer { continuation.resume(with: answer) }
        }
    }
}
