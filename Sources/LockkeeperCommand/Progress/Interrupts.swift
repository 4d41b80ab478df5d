import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform

/// What ^C means to a command that takes long. The command names SIGINT among its
/// ``Command/awaitedSignals``.
enum Interrupts {
    /// Calls a closure on a thread of its own at the first ^C. A second one ends the program at once,
    /// as a kill would: whoever presses it again does not want to wait.
    static func watch(_ first: @escaping @Sendable () -> Void) throws {
        _ = try WorkerThread.start(name: "lk-signals") {
            _ = CurrentProcess.wait(for: [.interrupt])
            first()
            _ = CurrentProcess.wait(for: [.interrupt])
            CurrentProcess.exit(ExitCode.interrupted.rawValue)
        }
    }

    /// Runs work that ^C cancels.
    ///
    /// - Throws: `CancellationError` where that ended it; else what the work throws.
    static func cancelling<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let task = Task { try await body() }
        try watch { task.cancel() }
        return try await task.value
    }

    /// For work that cannot be cancelled and loses nothing when it is killed: ^C says so and ends the
    /// program.
    ///
    /// - Parameter sentence: what it leaves behind.
    static func explaining(_ sentence: String, on console: Console) throws {
        try watch {
            console.note("lockkeeper: Interrupted. \(sentence)")
            CurrentProcess.exit(ExitCode.interrupted.rawValue)
        }
    }
}
