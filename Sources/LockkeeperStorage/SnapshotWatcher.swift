package import LockkeeperDomain

/// Told when a reader's snapshot begins and ends, by whoever keeps account of what pins the log.
/// Both are called on the reader's thread and must not wait.
package protocol SnapshotWatcher: AnyObject {
    /// A snapshot is about to begin.
    func began(_ purpose: ReadPurpose)

    /// The snapshot that was begun has ended, or did not come about.
    func ended()
}
