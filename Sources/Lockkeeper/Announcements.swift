import LockkeeperDomain
import LockkeeperLocking
import LockkeeperNotifier
import LockkeeperPlatform
import Synchronization

/// Where this process's ranges go: into its own hub where it serves, to the hub's socket otherwise,
/// and to the feeds of this process, which may have no hub to hear it from.
final class Announcements: Sendable {
    private let announcer: Announcer
    private let hub = Mutex<Hub?>(nil)
    private let localFeeds = Mutex<[ObjectIdentifier: WakeEvent]>([:])

    init(socketPath: String, limits: Limits, clock: any MonotonicClock) {
        announcer = Announcer(path: socketPath, limits: limits, clock: clock)
    }

    /// Hands a range over. Never waits; one that is lost costs delay, never data (I-7).
    func announce(_ range: @autoclosure () -> ChangeRange) {
        if let hub = hub.withLock({ $0 }) {
            hub.announce(range())
        } else {
            announcer.announce(range())
        }
        // Each signal is one write that does not wait.
        localFeeds.withLock { feeds in
            for wake in feeds.values { wake.signal() }
        }
    }

    /// Tells those who listen here that the right to write an account has changed hands. Those who
    /// listen to another process's hub hear of it when that hub next looks at the account's fence.
    func announce(_ account: AccountID, _ change: GenerationChange) {
        hub.withLock { $0 }?.changeGeneration(of: account, to: change)
    }

    /// From now on ranges go into this process's own hub; `nil` ends that.
    func serve(through hub: Hub?) { self.hub.withLock { $0 = hub } }

    /// Wakes a feed of this process at each of this process's commits.
    func add(_ wake: WakeEvent) { localFeeds.withLock { $0[ObjectIdentifier(wake)] = wake } }

    func remove(_ wake: WakeEvent) {
        localFeeds.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(wake)) }
    }

    func close() {
        serve(through: nil)
        announcer.close()
    }
}
