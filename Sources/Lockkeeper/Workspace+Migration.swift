public import LockkeeperDomain
import LockkeeperSQLite
import LockkeeperStorage

/// A migration that was applied, or is to be.
public struct AppliedMigration: Sendable, Hashable {
    /// The account's database.
    public let kind: StoreKind
    /// Whose schema it belongs to.
    public let owner: String
    /// Its name.
    public let name: String
}

extension Workspace {
    /// Brings an account's databases to the schemas that this program knows, as opening a session of it
    /// does, and tells what was to be done. A backup is made first of a database in which something
    /// stands.
    ///
    /// - Returns: what was applied; nothing where everything was there, or where the account was never
    ///   activated.
    /// - Throws: ``LockkeeperError``: `newerSchema` where the store is ahead of this program;
    ///   `migrationFailed`, after which the schema is as it was before that step; `busy`, which says
    ///   how far another process is with it; `diskFull`, `ioFailed`.
    @discardableResult
    public func migrate(_ id: AccountID) async throws -> [AppliedMigration] {
        try await work { workspace in
            guard try workspace.registry.record(of: id).messagesFile > 0 else { return [] }
            let files = try AccountFiles(id, of: workspace)
            return try files.users.naming {
                try files.prepare(deadline: workspace.deadlineOfOpening())
            }
        }
    }

    /// What ``migrate(_:)`` would apply. Changes nothing.
    ///
    /// - Throws: ``LockkeeperError``: `newerSchema`; `accountInactive` where the account was never
    ///   activated.
    public func pendingMigrations(of id: AccountID) async throws -> [AppliedMigration] {
        try await work { workspace in
            let files = try AccountFiles(id, of: workspace)
            return try files.users.naming {
                try StoreKind.allCases.flatMap { kind in
                    let connection = try StoreFile.open(
                        try files.path(of: kind),
                        for: .reading,
                        environment: workspace.environment,
                        busyDeadline: workspace.deadlineOfOpening()
                    )
                    defer { try? connection.close() }
                    return try workspace.migrator(for: kind).pending(in: connection).map {
                        AppliedMigration(
                            kind: kind,
                            owner: $0.owner,
                            name: $0.name
                        )
                    }
                }
            }
        }
    }
}
