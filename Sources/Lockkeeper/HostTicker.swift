import LockkeeperDomain
import LockkeeperPlatform

/// A thread of the host's that does something with each tick until it is closed.
final class HostTicker: Sendable {
    private let isClosed = Monitor(false)
    private let thread: WorkerThread

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - memory: what the thread remembers from tick to tick.
    ///   - tick: what it does.
    init<Memory: Sendable>(
        _ name: String,
        _ workspace: Workspace,
        memory: Memory,
        tick: @escaping @Sendable (Workspace, inout Memory) -> Void
    ) throws {
        let interval = workspace.limits.slowPollInterval
        thread = try WorkerThread.start(name: name) { [isClosed, weak workspace] in
            var memory = memory
            let clock = SystemClock()
            while true {
                let next = Deadline(after: interval, from: clock.now())
                if isClosed.wait(until: next, for: { $0 ? true : nil }) == true { return }
                guard let workspace else { return }
                tick(workspace, &memory)
            }
        }
    }

    deinit { askToEnd() }

    /// Ends the thread after the tick that runs.
    func close() {
        askToEnd()
        thread.join()
    }

    private func askToEnd() {
        isClosed.withLock { $0 = true }
        isClosed.broadcast()
    }
}
