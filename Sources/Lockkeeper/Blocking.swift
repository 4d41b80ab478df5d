import LockkeeperPlatform
import LockkeeperSQLite
import Synchronization

/// Runs work that may block on a thread of its own and waits for it without blocking.
///
/// Opening, switching and closing wait for locks and disks. On the cooperative pool such a wait
/// would stop unrelated tasks; they are rare enough for a thread each.
package func blocking<Value: Sendable>(
    _ name: String,
    _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        do {
            _ = try WorkerThread.start(name: name) {
                continuation.resume(with: Result { try body() })
            }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}

/// The same for the products, with errors of the rooms below as the public one.
package func blocking<Value: Sendable>(
    _ name: String,
    subject: String,
    _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await blocking(name) { try ErrorMapping.mapped(subject) { try body() } }
}

/// Whether long work that somebody waits for is to go on.
///
/// Lock rule: the mutex is held for single steps, and for interrupting, which waits for nobody.
final class Cancellation: Sendable {
    private let state = Mutex<State>(State())

    private struct State: Sendable {
        var isCancelled = false
        var running: InterruptHandle?
    }

    /// Whether it is not.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Ends the work: the statement that runs on its connection is interrupted.
    func cancel() {
        state.withLock { state in
            state.isCancelled = true
            state.running?.cancel()
        }
    }

    /// Says on which connection the work runs from now on.
    func runs(on connection: Connection) {
        let handle = connection.interruptHandle
        state.withLock { state in
            state.running = handle
            if state.isCancelled { handle.cancel() }
        }
    }
}

extension Workspace {
    /// ``work(_:)`` that its caller's task can cancel.
    func cancellableWork<Value: Sendable>(
        _ body: @escaping @Sendable (Workspace, Cancellation) throws -> Value
    ) async throws -> Value {
        let cancellation = Cancellation()
        return try await withTaskCancellationHandler {
            try await work { workspace in
                if cancellation.isCancelled { throw CancellationError() }
                return try body(workspace, cancellation)
            }
        } onCancel: {
            cancellation.cancel()
        }
    }
}
