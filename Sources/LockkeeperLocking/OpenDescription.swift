import LockkeeperPlatform
import Synchronization

/// An open file description of a lock file beside the membership's own: what holds the lock of a
/// guard or stands in the turnstile. It is counted, so that ``LockFileMembership/detach()`` knows
/// when the last one has gone.
struct OpenDescription: ~Copyable, Sendable {
    let descriptor: LockDescriptor
    private let counted: Counted

    /// How many are open.
    final class Census: Sendable {
        fileprivate let value = Atomic<Int>(0)

        /// How many are open.
        var count: Int { value.load(ordering: .acquiring) }
    }

    /// One in the census.
    private struct Counted: ~Copyable, Sendable {
        private let census: Census

        init(_ census: Census) {
            self.census = census
            census.value.add(1, ordering: .acquiringAndReleasing)
        }

        deinit { census.value.subtract(1, ordering: .acquiringAndReleasing) }
    }

    /// Opens the file that a membership has open.
    ///
    /// - Throws: ``LockingError/lockFileReplaced(path:)`` when newcomers lock another file;
    ///   ``LockingError/system(_:)`` when the kernel refuses.
    init(
        path: String,
        identity: FileIdentity,
        census: Census
    ) throws(LockingError) {
        // Counted before it is opened: who counts none finds none.
        let counted = Counted(census)
        let descriptor = try systemCalls { () throws(SystemCallError) in
            try LockDescriptor(opening: path)
        }
        guard descriptor.identity == identity else { throw .lockFileReplaced(path: path) }
        self.descriptor = descriptor
        self.counted = counted
    }
}
