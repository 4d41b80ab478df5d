package import LockkeeperDomain

extension ChangeRange {
    /// The same commits, said to whoever stands somewhat before or inside of them.
    ///
    /// Before: what lies between does not concern the reader. Inside: what the reader has already
    /// is told once more, since a merged range cannot be taken apart. Both cover at least what
    /// happened, and whoever checks that one range continues the other finds that it does.
    package func continuing(from told: CommitNumber) -> ChangeRange {
        if told == predecessor { return self }
        precondition(told < last, "a range continues only where something of it is new")
        return ChangeRange(
            account: account,
            kind: kind,
            store: store,
            generation: generation,
            predecessor: told,
            commits: max(first, told.next)...last,
            tables: tables,
            topics: topics,
            origins: origins,
            isDurable: isDurable,
            isMerged: isMerged
        )
    }
}
