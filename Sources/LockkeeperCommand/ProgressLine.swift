import Synchronization

/// Says on the error stream how far long work is: a line for each tenth. Work that is done before
/// anybody could read it says nothing.
final class ProgressLine: Sendable {
    private let console: Console
    private let leastCount: Int
    private let tenths = Mutex(0)

    /// - Parameter leastCount: steps from which on it is worth saying something.
    init(_ console: Console, leastCount: Int) {
        self.console = console
        self.leastCount = leastCount
    }

    /// Notes how far it is. Called on any thread.
    func show(done: Int, of count: Int) {
        guard count >= leastCount, count > 0 else { return }
        let tenth = done * 10 / count
        let isNew = tenths.withLock { tenths in
            defer { tenths = max(tenths, tenth) }
            return tenth > tenths
        }
        if isNew { console.note("lockkeeper: \(tenth * 10) %") }
    }
}
