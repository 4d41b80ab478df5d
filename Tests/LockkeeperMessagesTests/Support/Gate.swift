import LockkeeperDomain
import LockkeeperPlatform
import Synchronization

/// Stops a thread inside a transaction until the test goes on, and tells the test that it is there.
final class Gate: Sendable {
    private let isOpen = Monitor(false)
    private let (arrivals, continuation) = AsyncStream.makeStream(of: Void.self)

    /// Says that somebody is there.
    func arrive() { continuation.yield() }

    /// Waits, suspended, for one arrival.
    func arrived() async { _ = await arrivals.first { _ in true } }

    /// Lets everybody through, from now on.
    func open() {
        isOpen.withLock { $0 = true }
        isOpen.broadcast()
    }

    /// Blocks the calling thread, which must not be one of the cooperative pool.
    func waitUntilOpen() { _ = isOpen.wait(until: .never) { $0 ? true : nil } }
}
