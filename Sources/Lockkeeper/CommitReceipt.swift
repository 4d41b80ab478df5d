public import LockkeeperDomain

/// What is known of a write that returned.
public struct CommitReceipt: Sendable, Hashable {
    /// The token under which it was written.
    public let token: FencingToken
    /// The store that was written.
    public let store: StoreIdentity
    /// The commit's number; `nil` where the transaction changed nothing.
    public let commit: CommitNumber?
    /// What is promised. A write that changed nothing promises the same: what it found may have been
    /// another process's commit that was not on disk yet.
    public let durability: Durability
    /// How long the write stood in line for admission.
    public let waited: Duration
}
