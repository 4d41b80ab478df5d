public import LockkeeperDomain

/// An account as the workspace's registry knows it.
public struct AccountInfo: Sendable, Hashable {
    /// The account's id.
    public let id: AccountID
    /// Who the account is on its server, for telling its own messages from others'.
    public let ownID: [UInt8]?
    /// What the account's server promises.
    public let contract: ServerContract
    /// Whether it takes writes.
    public let state: AccountState
    /// The generation of its last activation or retirement.
    public let generation: Generation
}
