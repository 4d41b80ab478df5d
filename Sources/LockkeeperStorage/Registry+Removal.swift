package import LockkeeperDomain
import LockkeeperSQLite

/// An account that is in the workspace no more, and of which files may still be there.
package struct PendingRemoval: Sendable, Hashable {
    /// The account.
    package let id: AccountID
    /// The name of its directory under `accounts/`.
    package let directory: String

    /// A removal of its parts.
    package init(id: AccountID, directory: String) {
        self.id = id
        self.directory = directory
    }
}

/// Removing accounts.
///
///     known ──beginRemoval──▶ pending ──completeRemoval──▶ unknown
///
/// A *pending* account is unknown to every other operation; what is left of it is files that are
/// erased by whoever comes next. The caller holds SWITCH.
extension Registry {
    /// The removals that somebody began and nobody completed, in the order of the ids.
    ///
    /// - Throws: ``StorageError/malformedRegistry(reason:)``; what SQLite throws.
    package func removals() throws(StorageError) -> [PendingRemoval] {
        let select = try prepare("SELECT id, directory FROM lk_removal ORDER BY id")
        var removals: [PendingRemoval] = []
        while try step(select) {
            guard let id = try? AccountID(bytes: select.bytes(0)) else {
                throw .malformedRegistry(reason: "the row of a removal makes no sense")
            }
            removals.append(PendingRemoval(id: id, directory: select.string(1)))
        }
        return removals
    }

    /// Takes an account out of the workspace: the point after which it is removed, whatever happens.
    /// An intent that concerns it alone goes with it.
    ///
    /// - Throws: ``StorageError/unknownAccount(_:)``; ``StorageError/intentPending(_:)`` when an
    ///   intent concerns another account as well; what SQLite throws.
    package func beginRemoval(of id: AccountID) throws(StorageError) -> PendingRemoval {
        try transaction { () throws(StorageError) in
            let record = try known(id)
            if let intent = try intent(), intent.concerns(id) {
                guard intent.retiring == nil || intent.activating == nil else {
                    throw .intentPending(intent)
                }
                try deleteIntent()
            }
            let removal = PendingRemoval(id: id, directory: record.directory)
            try insert(removal)
            try run("DELETE FROM lk_account WHERE id = ?1", on: id)
            try forgetRecovery(of: id)
            return removal
        }
    }

    /// Notes that no file of the account is left. The id can be added again from then on.
    ///
    /// - Throws: what SQLite throws.
    package func completeRemoval(of id: AccountID) throws(StorageError) {
        try transaction { () throws(StorageError) in
            try run("DELETE FROM lk_removal WHERE id = ?1", on: id)
        }
    }

    // MARK: - Within a transaction

    func insert(_ removal: PendingRemoval) throws(StorageError) {
        let insert = try prepare("INSERT INTO lk_removal VALUES (?1, ?2)")
        try sqlite { () throws(SQLiteError) in
            try insert.bind(1, text: removal.id.bytes)
            try insert.bind(2, removal.directory)
            try insert.run()
        }
    }

    private func run(_ sql: StaticString, on id: AccountID) throws(StorageError) {
        let statement = try prepare(sql)
        try sqlite { () throws(SQLiteError) in
            try statement.bind(1, text: id.bytes)
            try statement.run()
        }
    }
}

extension SwitchIntent {
    /// Whether it retires or activates an account.
    package func concerns(_ account: AccountID) -> Bool {
        retiring?.account == account || activating?.account == account
    }
}
