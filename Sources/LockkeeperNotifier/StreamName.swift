package import LockkeeperDomain

/// Names a stream of commits: one of an account's files.
package struct StreamName: Sendable, Hashable {
    /// The account.
    package let account: AccountID
    /// Which of its files.
    package let kind: StoreKind

    /// Joins the two.
    package init(_ account: AccountID, _ kind: StoreKind = .messages) {
        self.account = account
        self.kind = kind
    }
}

extension ChangeRange {
    /// The stream that the range belongs to.
    var stream: StreamName { StreamName(account, kind) }
}
