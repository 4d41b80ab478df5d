import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTestSupport

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
        guard let outcome = result.wait(until: patience(), for: { $0 }) else {
            throw StillRunning()
        }
        return try outcome.get()
    }

    struct StillRunning: Error {}
}
