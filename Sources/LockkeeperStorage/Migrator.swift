import LockkeeperDomain
import LockkeeperPlatform
package import LockkeeperSQLite

/// Brings a database to this program's schema, and refuses one that is ahead of it (I-14).
///
/// What was applied is known by the set of names and not by a largest number: two branches may each
/// have added a step, and the one with the smaller name may arrive later. Whoever applies holds the
/// lock that keeps everybody else out.
///
/// A step runs as SQLite's recipe for changing tables wants it (sqlite.org/lang_altertable.html,
/// section 7): foreign keys are off, because dropping a table that others refer to would delete
/// their rows; they are checked before the commit.
package struct Migrator: Sendable {
    /// The steps of all owners, in the order in which they run: by owner as the caller has them,
    /// then by name.
    package let migrations: [Migration]

    /// `lk_owned` says whose an app's table is, so that a program which does not know that app's
    /// schema is kept from it.
    private static let tables = """
        CREATE TABLE IF NOT EXISTS lk_migration(
          owner TEXT NOT NULL,
          name TEXT NOT NULL,
          checksum BLOB NOT NULL,
          applied_at INTEGER NOT NULL,
          PRIMARY KEY(owner, name)
        ) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS lk_owned(
          name TEXT PRIMARY KEY,
          owner TEXT NOT NULL
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
    ///   it has one whose text was another; ``StorageError/malformedMigration`` when its list is
    ///   damaged; what SQLite throws.
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
                    if !Self.isDigest(same.checksum) { throw .malformedMigration }
                    throw .migrationChanged(owner: migration.owner, name: migration.name)
                }
            } else {
                pending.append(migration)
            }
        }
        return pending
    }

    /// Whether what a database has and what it lists as applied fit together: whether the steps that it
    /// does not list can still be applied to its schema. A list that lost a line says of a step whose
    /// tables are there that it is yet to come.
    ///
    /// - Throws: ``StorageError/newerSchema(owner:name:)``,
    ///   ``StorageError/migrationChanged(owner:name:)``; what SQLite throws for what is no damage.
    func fits(_ connection: Connection) throws -> Bool {
        do throws(StorageError) {
            if try pending(in: connection).isEmpty { return true }
        } catch {
            guard error.isDamage else { throw error }
            return false
        }
        guard let texts = try SchemaTexts(reading: connection), texts.hasSteps else { return false }
        return try texts.takes(self)
    }

    /// The tables of apps whose schema this program does not know, each with its owner.
    ///
    /// - Throws: what SQLite throws.
    package func foreignTables(
        in connection: Connection
    ) throws(StorageError) -> [String: String] {
        try sqlite { () throws(SQLiteError) in
            guard try Self.hasTable("lk_owned", connection) else { return [:] }
            let select = try connection.prepare("SELECT name, owner FROM lk_owned")
            var tables: [String: String] = [:]
            while try select.step() {
                let owner = select.string(1)
                if migrations.contains(where: { $0.owner == owner }) { continue }
                tables[select.string(0).lowercased()] = owner
            }
            return tables
        }
    }

    /// Applies the steps that are pending, each in a transaction of its own: a step runs whole or
    /// not at all.
    ///
    /// - Parameters:
    ///   - milliseconds: the wall clock, for people.
    ///   - progress: told before each step how many are done, and of how many.
    /// - Returns: the steps that were applied.
    /// - Throws: as ``pending(in:)``; ``StorageError/migrationFailed(owner:name:cause:)``. Steps
    ///   before the one that failed stay applied, and of that one nothing is left.
    @discardableResult
    package func apply(
        to connection: Connection,
        at milliseconds: Int64,
        progress: (_ done: Int, _ count: Int) -> Void = { _, _ in }
    ) throws(StorageError) -> [Migration] {
        let pending = try pending(in: connection)
        if pending.isEmpty { return [] }
        try sqlite { () throws(SQLiteError) in
            try connection.execute("PRAGMA foreign_keys = OFF")
        }
        for (index, migration) in pending.enumerated() {
            progress(index, pending.count)
            do {
                try apply(migration, to: connection, at: milliseconds)
            } catch {
                // Where even this fails the connection is of no use to anybody.
                try? connection.execute("PRAGMA foreign_keys = ON")
                throw .migrationFailed(owner: migration.owner, name: migration.name, cause: error)
            }
        }
        try sqlite { () throws(SQLiteError) in
            try connection.execute("PRAGMA foreign_keys = ON")
        }
        return pending
    }

    // MARK: - One step

    private func apply(
        _ migration: Migration,
        to connection: Connection,
        at milliseconds: Int64
    ) throws {
        do {
            try attempt(migration, in: connection, at: milliseconds, ignoring: [])
        } catch let error as DanglingRows {
            // Rows that a foreign program left dangling earlier are no fault of the step.
            let before = Set(try connection.foreignKeyCheck(limit: Self.danglingRowMax))
            guard error.rows.isSubset(of: before) else { throw error }
            try attempt(migration, in: connection, at: milliseconds, ignoring: before)
        }
    }

    /// More than anybody reads; enough to tell new ones from those that were there.
    private static let danglingRowMax = 1000

    private func attempt(
        _ migration: Migration,
        in connection: Connection,
        at milliseconds: Int64,
        ignoring known: Set<Connection.ForeignKeyViolation>
    ) throws {
        try connection.withTransaction(.immediate) { connection in
            try connection.execute(Self.tables)
            // The registry is opened by many at once: another process may have been faster between
            // the look and this transaction.
            let isApplied = try applied(in: connection).contains {
                $0.owner == migration.owner && $0.name == migration.name
            }
            if isApplied { return }
            try run(migration, in: connection)
            let dangling = try connection.foreignKeyCheck(limit: Self.danglingRowMax)
            let new = Set(dangling).subtracting(known)
            if !new.isEmpty { throw DanglingRows(new) }
            try record(migration, in: connection, at: milliseconds)
            Failpoint.migrationRun.reach()
        }
        Failpoint.migrationCommitted.reach()
    }

    /// Runs a step under the closures' rules, so that it cannot commit half of itself.
    private func run(_ migration: Migration, in connection: Connection) throws {
        let before = migration.isOfApp ? try Objects(of: connection) : nil
        try connection.withPolicy(.restricted) { connection throws in
            switch migration.body {
            case .sql(let text): try connection.execute(text)
            case .step(let step): try step(connection)
            }
        }
        guard let before else { return }
        let after = try Objects(of: connection)
        guard after.ours == before.ours else { throw ReservedNames() }
        for name in before.tables.subtracting(after.tables) {
            let delete = try connection.prepare("DELETE FROM lk_owned WHERE name = ?1")
            try delete.bind(1, name)
            try delete.run()
        }
        for name in after.tables.subtracting(before.tables) {
            let insert = try connection.prepare("INSERT INTO lk_owned VALUES (?1, ?2)")
            try insert.bind(1, name)
            try insert.bind(2, migration.owner)
            try insert.run()
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

    // MARK: - What is there

    /// What stands in a schema: our own objects with their texts, and the app's tables.
    private struct Objects {
        var ours: [String] = []
        var tables: Set<String> = []

        init(of connection: Connection) throws(SQLiteError) {
            let select = try connection.prepare(
                "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
            )
            while try select.step() {
                let (type, name, table) = (select.string(0), select.string(1), select.string(2))
                if [name, table].contains(where: { $0.lowercased().hasPrefix("lk_") }) {
                    ours.append("\(type) \(name) \(table) \(select.string(3))")
                } else if type == "table", !name.hasPrefix("sqlite_") {
                    tables.insert(name)
                }
            }
        }
    }

    private func applied(
        in connection: Connection
    ) throws(StorageError) -> [(owner: String, name: String, checksum: [UInt8])] {
        let applied = try sqlite {
            () throws(SQLiteError) -> [(owner: String, name: String, checksum: [UInt8])] in
            guard try Self.hasTable("lk_migration", connection) else { return [] }
            let select = try connection.prepare(
                "SELECT owner, name, checksum FROM lk_migration ORDER BY owner, name"
            )
            var applied: [(owner: String, name: String, checksum: [UInt8])] = []
            while try select.step() {
                applied.append((select.string(0), select.string(1), select.bytes(2)))
            }
            return applied
        }
        // Who takes what is left of a damaged page for a name sends people to a newer program.
        guard applied.allSatisfy({ Self.isName($0.owner) && Self.isName($0.name) }) else {
            throw .malformedMigration
        }
        return applied
    }

    /// Whether a text can be an owner or a step, and is not what is left of one on a damaged page.
    static func isName(_ text: String) -> Bool {
        !text.isEmpty
            && text.unicodeScalars.allSatisfy {
                // The last one stands for bytes that are no text.
                $0.value >= 0x20 && $0.value != 0x7f && $0.value != 0xfffd
            }
    }

    /// Whether bytes can be a SHA-256, and not what is left of one that was overwritten with zeros.
    private static func isDigest(_ bytes: [UInt8]) -> Bool {
        bytes.count == 32
            && ![bytes.prefix(4), bytes.suffix(4)].contains { $0.allSatisfy { $0 == 0 } }
    }

    private static func hasTable(
        _ name: String,
        _ connection: Connection
    ) throws(SQLiteError) -> Bool {
        let select = try connection.prepare(
            "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1"
        )
        try select.bind(1, name)
        defer { select.reset() }
        return try select.step()
    }
}

/// A step leaves rows whose foreign keys lead nowhere.
private struct DanglingRows: Error, CustomStringConvertible {
    let rows: Set<Connection.ForeignKeyViolation>

    init(_ rows: Set<Connection.ForeignKeyViolation>) { self.rows = rows }

    var description: String {
        let tables = Set(rows.map { "\($0.table) that name no row of \($0.parent)" })
        return "it leaves rows of \(tables.sorted().joined(separator: ", "))"
    }
}

/// An app's step touches what is Lockkeeper's.
private struct ReservedNames: Error, CustomStringConvertible {
    let description =
        "it makes, changes or removes something that begins with lk_, or on a table of"
        + " that name, which is Lockkeeper's"
}
