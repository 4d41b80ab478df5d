package import LockkeeperDomain

/// Where an account's store stands.
package struct StoreHead: Sendable, Hashable {
    /// The store.
    package var store: StoreIdentity
    /// The generation in its fence.
    package var generation: Generation
    /// Whether the account takes writes under this generation.
    package var state: AccountState
    /// The newest commit, 0 before the first.
    package var head: CommitNumber
    /// The oldest position from which the log can still be read.
    package var oldest: CommitNumber

    /// Where a store stands.
    package init(
        store: StoreIdentity,
        generation: Generation,
        state: AccountState,
        head: CommitNumber,
        oldest: CommitNumber
    ) {
        self.store = store
        self.generation = generation
        self.state = state
        self.head = head
        self.oldest = oldest
    }

    /// The position of whoever has read everything.
    package var position: Position { Position(store: store, commit: head) }

    /// The generation with its state, as a change line tells them.
    var change: GenerationChange { GenerationChange(generation: generation, state: state) }
}

/// The right to write an account has changed hands.
package struct GenerationChange: Sendable, Hashable {
    /// The new generation.
    package let generation: Generation
    /// Whether the account takes writes under it.
    package let state: AccountState

    /// Joins the two.
    package init(generation: Generation, state: AccountState) {
        self.generation = generation
        self.state = state
    }
}
