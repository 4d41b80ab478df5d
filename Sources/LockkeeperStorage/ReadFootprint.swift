package import LockkeeperDomain

/// Which tables a read has read, as far as a range of commits can speak of them.
package struct ReadFootprint: Sendable, Hashable {
    /// The names in lower case, as SQLite compares them; `nil` where any commit may matter.
    private let tables: Set<String>?

    /// - Parameters:
    ///   - tables: what the connection noted; `nil` where it could not tell.
    ///   - isLeftOut: whether commits say nothing of a table: it may change with every one of them.
    init(tables: Set<String>?, isLeftOut: (String) -> Bool) {
        let names = tables.map { Set($0.map { $0.lowercased() }) }
        self.tables = names?.contains(where: isLeftOut) == false ? names : nil
    }

    /// Whether commits may have changed what was read.
    package func isTouched(by range: ChangeRange) -> Bool {
        guard let tables else { return true }
        return range.tables.contains { tables.contains($0.name.lowercased()) }
    }
}
