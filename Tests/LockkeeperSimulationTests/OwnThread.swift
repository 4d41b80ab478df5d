import LockkeeperDomain
import LockkeeperPlatform

/// Runs what blocks on a thread of its own: the cooperative pool has few, and other tests need them.
func onOwnThread<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        do {
            _ = try WorkerThread.start(name: "test") {
                continuation.resume(with: Result { try body() })
            }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}

/// Something that goes on beside the test, on a thread of its own.
final class Background<Value: Sendable>: Sendable {
    private let result = Monitor<Result<Value, any Error>?>(nil)

    init(_ body: @escaping @Sendable () throws -> Value) throws {
        _ = try WorkerThread.start(name: "test-beside") { [result] in
            let outcome = Result { try body() }
            result.withLock { $0 = outcome }
            result.broadcast()
        }
    }

    /// Waits for its end, on a thread that may block, and gives what it returned.
    func value() throws -> Value {
        let end = Deadline(after: .seconds(30), from: SystemClock().now())
        guard let outcome = result.wait(until: end, for: { $0 }) else { throw StillRunning() }
        return try outcome.get()
    }

    struct StillRunning: Error {}
}
