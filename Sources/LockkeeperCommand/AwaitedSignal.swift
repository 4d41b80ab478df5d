import Lockkeeper
import LockkeeperPlatform
import LockkeeperSystemd

/// What commands that run for long do about signals that they wait for.
enum AwaitedSignal {
    /// Waits for a signal on a thread of its own, because the wait blocks. The signals are blocked in
    /// every thread (``Command/awaitedSignals``).
    static func next(of signals: [Signal]) async throws -> Signal {
        try await withCheckedThrowingContinuation { continuation in
            do {
                _ = try WorkerThread.start(name: "lk-signals") {
                    continuation.resume(returning: CurrentProcess.wait(for: signals))
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// Stops the process as ^Z asks, without a lock or a file of the workspace; returns when it goes
    /// on. It is not stopped where it cannot be suspended: it would stand in everybody's way.
    static func stop(
        _ workspace: Workspace,
        _ console: Console,
        suspended: () throws -> Void = {}
    ) async throws {
        do {
            try await workspace.suspend()
        } catch let error as LockkeeperError where error.code == .busy {
            console.log(
                "cannot stop yet: \(error)",
                .warning,
                [Journal.Field("LOCKKEEPER_CODE", error.code.rawValue)]
            )
            return
        }
        try suspended()
        CurrentProcess.stop()
        try await workspace.resume()
    }
}
