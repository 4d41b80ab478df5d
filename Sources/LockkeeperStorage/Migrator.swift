import LockkeeperDomain
package import LockkeeperSQLite

/// Brings a database to this program's schema, and refuses one that is ahead of it (I-14).
///
/// What was applied is known by the set of names and not by a largest number: two branches may each
/// have added a step, and the one with the smaller name may arrive later. Whoever applies holds the
/// lock that keeps everybody else out.
package struct Migrator: Sendable {
    /// The steps of all owners, in the order in which they run: by owner as the caller has them,
    /// then by name.
    package let migrations: [Migration]

    private static let table = """
        CREATE TABLE IF NOT EXISTS lk_migration(
          owner TEXT NOT NULL,
          name TEXT NOT NULL,
          checksum BLOB NOT NULL,
          applied_at INTEGER NOT NULL,
          PRIMARY KEY(owner, name)
        ) WITHOUT ROWID
        """

    /// A migrator for some steps. An owner's steps must stand together.
    package init(_ migrations: [Migration]) {
        var owners: [String] = []
        for migration in migrations where !owners.contains(migration.owner) {
            owners.append(migration.owner)
        }
        self.migrations = owners.flatMap { owner in
            migrations.filter { $0.owner == owner }
                .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        }
    }

    /// The steps that the database does not have. Nothing is written.
    ///
    /// - Throws: ``StorageError/newerSchema(owner:name:)`` when it has one that this program does
    ///   not know, of an owner that it knows; ``StorageError/migrationChanged(owner:name:)`` when
    ///   it has one whose text was another; what SQLite throws.
    package func pending(in connection: Connection) throws(StorageError) -> [Migration] {
        let applied = try applied(in: connection)
        for (owner, name, _) in applied where migrations.contains(where: { $0.owner == owner }) {
            guard migrations.contains(where: { $0.owner == owner && $0.name == name }) else {
                throw .newerSchema(owner: owner, name: name)
            }
        }
        var pending: [Migration] = []
        for migration in migrations {
            let same = applied.first { $0.owner == migration.owner && $0.name == migration.name }
            if let same {
                guard same.checksum == migration.checksum else {
                    throw .migrationChanged(owner: migration.owner, name: migration.name)
                }
            } else {
                pending.append(migration)
            }
        }
        return pending
    }

    /// Applies the steps that are pending, each in a transaction of its own: a step runs whole or
    /// not at all.
    ///
    /// - Parameter milliseconds: the wall clock, for people.
    /// - Returns: the steps that were applied.
    /// - Throws: as ``pending(in:)``; steps before the one that failed stay applied.
    @discardableResult
    package func apply(
        to connection: Connection,
        at milliseconds: Int64
    ) throws(StorageError) -> [Migration] {
        let pending = try pending(in: connection)
        for migration in pending {
            try sqlite { () throws(SQLiteError) in
                try apply(migration, to: connection, at: milliseconds)
            }
        }
        return pending
    }

    private func apply(
        _ migration: Migration,
        to connection: Connection,
        at milliseconds: Int64
    ) throws(SQLiteError) {
        try connection.begin(.immediate)
        do throws(SQLiteError) {
            try connection.execute(Self.table)
            // Under the closures' rules, so that no step can commit half of itself.
            try connection.withPolicy(.restricted) { connection throws(SQLiteError) in
                try connection.execute(migration.sql)
            }
            try record(migration, in: connection, at: milliseconds)
            try connection.commit()
        } catch {
            connection.rollBack()
            throw error
        }
    }

    private func record(
        _ migration: Migration,
        in connection: Connection,
        at milliseconds: Int64
    ) throws(SQLiteError) {
        let insert = try connection.prepare("INSERT INTO lk_migration VALUES (?1, ?2, ?3, ?4)")
        try insert.bind(1, migration.owner)
        try insert.bind(2, migration.name)
        try insert.bind(3, blob: migration.checksum)
        try insert.bind(4, milliseconds)
        try insert.run()
    }

    private func applied(
        in connection: Connection
    ) throws(StorageError) -> [(owner: String, name: String, checksum: [UInt8])] {
        try sqlite { () throws(SQLiteError) in
            let exists = try connection.value(
                "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'lk_migration'"
            )
            guard exists != nil else { return [] }
            let select = try connection.prepare(
                "SELECT owner, name, checksum FROM lk_migration ORDER BY owner, name"
            )
            var applied: [(owner: String, name: String, checksum: [UInt8])] = []
            while try select.step() {
                applied.append((select.string(0), select.string(1), select.bytes(2)))
            }
            return applied
        }
    }
}
