import LockkeeperDomain
import Synchronization

/// Up to where the commits of an account are known to survive a power loss: by this process's own
/// syncs, each of which covers every commit before it, whoever wrote it (5.2).
///
/// It costs a writer one comparison per sync, and nobody is sent anything for it: whoever tells a
/// range raises the range's mark by what is known here at that moment.
final class DurableMark: Sendable {
    private let known = Mutex<Position?>(nil)

    /// The newest commit that is known to be durable, in the store in which it is.
    var position: Position? { known.withLock { $0 } }

    /// Notes that a sync has ended that began after a commit.
    func raise(to position: Position) {
        known.withLock { known in
            if let old = known, old.store == position.store, old.commit >= position.commit {
                return
            }
            known = position
        }
    }
}
