package import LockkeeperDomain
package import LockkeeperPlatform

/// What a store takes from outside, so that tests can move it.
package struct StoreEnvironment: Sendable {
    /// What deadlines and the commit log's monotonic times are read from.
    package let clock: any MonotonicClock
    /// What the commit log's wall-clock times are read from; for people only (I-15).
    package let wallClock: any WallClockSource
    /// The run of the kernel.
    package let bootID: BootID
    /// Spreads the waits of processes for the same lock.
    package let jitterSeed: UInt64
    /// A SQLite VFS, for tests; the default one otherwise.
    package let vfs: String?
    /// The keys of files that are encrypted.
    package let keys: KeyRing
    /// Tables that stand in no commit-log row besides this room's own.
    package let isBookkeeping: @Sendable (String) -> Bool

    /// An environment of its parts.
    package init(
        clock: any MonotonicClock,
        wallClock: any WallClockSource,
        bootID: BootID,
        jitterSeed: UInt64,
        vfs: String? = nil,
        keys: KeyRing = KeyRing(),
        isBookkeeping: @escaping @Sendable (String) -> Bool = { _ in false }
    ) {
        self.clock = clock
        self.wallClock = wallClock
        self.bootID = bootID
        self.jitterSeed = jitterSeed
        self.vfs = vfs
        self.keys = keys
        self.isBookkeeping = isBookkeeping
    }
}
