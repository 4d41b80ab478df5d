import LockkeeperDomain
import LockkeeperPlatform
import Synchronization

extension Workspace {
    /// Does something for at most a while.
    ///
    /// Opening an account can wait for long, for another process's migration for example, and cannot
    /// be taken back; so it goes on behind the caller's back, and only its result is not waited for.
    ///
    /// - Returns: what it gave; `nil` when it had not ended in time. It is cancelled then.
    /// - Throws: what it threw, and `CancellationError` when the caller's task was cancelled.
    package func within<Value: Sendable>(
        _ duration: Duration,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        let race = Race<Value>()
        let task = Task { race.end(await Self.result(of: body)) }
        let deadline = Deadline(after: duration, from: SystemClock().now())
        let token = try timer.schedule(at: deadline) { race.end(.success(nil)) }
        defer {
            timer.cancel(token)
            task.cancel()
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { race.wait($0) }
        } onCancel: {
            race.end(.failure(CancellationError()))
        }
    }

    private static func result<Value>(
        of body: @Sendable () async throws -> Value
    ) async -> Result<Value?, any Error> {
        do { return .success(try await body()) } catch { return .failure(error) }
    }
}

/// Lets the first of several ends count.
private final class Race<Value: Sendable>: Sendable {
    private enum State {
        case running
        case awaited(CheckedContinuation<Value?, any Error>)
        case ended(Result<Value?, any Error>)
        case told
    }

    private let state = Mutex(State.running)

    func wait(_ continuation: CheckedContinuation<Value?, any Error>) {
        let result = state.withLock { state -> Result<Value?, any Error>? in
            guard case .ended(let result) = state else {
                state = .awaited(continuation)
                return nil
            }
            state = .told
            return result
        }
        if let result { continuation.resume(with: result) }
    }

    func end(_ result: Result<Value?, any Error>) {
        let continuation = state.withLock { state -> CheckedContinuation<Value?, any Error>? in
            switch state {
            case .running:
                state = .ended(result)
                return nil
            case .awaited(let continuation):
                state = .told
                return continuation
            case .ended, .told: return nil
            }
        }
        continuation?.resume(with: result)
    }
}
