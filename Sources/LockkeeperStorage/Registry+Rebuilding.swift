package import LockkeeperDomain
import LockkeeperSQLite

/// What a registry says, for one that is made anew.
package struct RegistryContents: Sendable, Hashable {
    /// The accounts.
    package var accounts: [AccountRecord] = []
    /// The removals that are to be completed.
    package var removals: [PendingRemoval] = []
    /// The newest generation that counts as given.
    package var generation = Generation(0)
    /// What is to be finished.
    package var intent: SwitchIntent?
    /// The recoveries that are to be gone on with.
    package var recoveries: [RecoveryIntent] = []
    /// When it was made because another one was lost, in milliseconds since 1970; for people.
    package var rebuiltAt: Int64?

    /// A registry that knows nothing.
    package init() {}
}

extension Registry {
    /// Writes what a new registry is to say, in one transaction.
    ///
    /// - Throws: what SQLite throws.
    package func fill(with contents: RegistryContents) throws(StorageError) {
        try transaction { () throws(StorageError) in
            for record in contents.accounts { try insert(record) }
            for removal in contents.removals { try insert(removal) }
            if let intent = contents.intent { try write(intent) }
            for recovery in contents.recoveries { try write(recovery) }
            try raiseCounter(to: contents.generation)
            try sqlite { () throws(SQLiteError) in
                let update = try connection.statement("UPDATE lk_workspace SET rebuilt_at = ?1")
                try update.bind(1, contents.rebuiltAt)
                try update.run()
            }
        }
    }

    /// When this registry was made because another one was lost, in milliseconds since 1970; `nil` for
    /// one that was made with its workspace.
    package func rebuiltAt() throws(StorageError) -> Int64? {
        try sqlite { () throws(SQLiteError) in
            let select = try connection.statement("SELECT rebuilt_at FROM lk_workspace")
            defer { select.reset() }
            return try select.step() ? select.optionalInt64(0) : nil
        }
    }

    /// Makes sure that the file is a registry, before anything is written to it: a program that died
    /// as it made one may have left an empty file.
    func requireRegistry(_ path: String) throws(StorageError) {
        let known = try sqlite { () throws(SQLiteError) in
            try connection.value("SELECT 1 FROM sqlite_schema WHERE name = 'lk_workspace'")
        }
        if known == nil { throw .notAStore(path: path, reason: "it holds no registry") }
    }

    /// Makes sure that all of it can be read and makes sense. It has a few pages.
    func requireSound(_ path: String) throws(StorageError) {
        let damage = try sqlite { () throws(SQLiteError) in
            try connection.integrityCheck(quick: true)
        }
        if let first = damage.first { throw .notAStore(path: path, reason: "\(first)") }
        _ = try (accounts(), generation(), intent(), removals())
    }
}
