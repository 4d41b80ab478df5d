package import LockkeeperDomain

/// What a transaction that was committed gave.
package struct TransactionOutcome<Value> {
    /// What the closure returned.
    package let value: Value
    /// What to announce; `nil` when nothing changed.
    package let change: CommittedChange?
    /// The newest commit of the log when the transaction ended, its own or an earlier one.
    package let head: CommitNumber
}

/// A commit as it is announced, but for what only the announcer knows: whether it is durable.
package struct CommittedChange: Sendable, Hashable {
    /// The generation under which it happened.
    package let generation: Generation
    /// The commit before.
    package let predecessor: CommitNumber
    /// The transaction's commit; with the jump before it where it was the first after a boot.
    package let commits: ClosedRange<CommitNumber>
    /// The changed tables in the order of their names.
    package let tables: [TableChange]
    /// The topics that the closure named; `nil` means any.
    package let topics: [[UInt8]]?
    /// The name of the process that wrote.
    package let origin: String

    /// The range to announce.
    package func range(
        account: AccountID,
        kind: StoreKind,
        store: StoreIdentity,
        isDurable: Bool
    ) -> ChangeRange {
        ChangeRange(
            account: account,
            kind: kind,
            store: store,
            generation: generation,
            predecessor: predecessor,
            commits: commits,
            tables: tables,
            topics: topics,
            origins: [origin],
            isDurable: isDurable
        )
    }
}
