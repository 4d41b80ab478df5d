import LockkeeperDomain
import LockkeeperSQLite

/// Notices that another process has migrated a store that this one has open (I-14).
///
/// Steps are only ever added, so that their number says whether there are new ones. It is read with
/// the fence, in the transaction that it protects.
struct SchemaWatch {
    private let migrator: Migrator
    private var count: Int64

    /// Looks at a store for the first time, and keeps closures from the tables of schemas that the
    /// migrator does not know.
    ///
    /// - Throws: ``StorageError/newerSchema(owner:name:)`` and
    ///   ``StorageError/migrationChanged(owner:name:)``; what SQLite throws.
    init(_ migrator: Migrator, _ connection: Connection) throws(StorageError) {
        self.migrator = migrator
        count = try sqlite { () throws(SQLiteError) in
            try connection.value("SELECT count(*) FROM lk_migration")?.integer ?? 0
        }
        try look(connection)
    }

    /// Compares the number of applied steps with the one that is known. Where there are more, they
    /// must be of owners that this program does not know.
    ///
    /// - Throws: ``StorageError/newerSchema(owner:name:)``: a process with a newer program has
    ///   migrated the store, and this one opens it no more.
    mutating func check(_ count: Int64, _ connection: Connection) throws(StorageError) {
        if count == self.count { return }
        try look(connection)
        self.count = count
    }

    private func look(_ connection: Connection) throws(StorageError) {
        _ = try migrator.pending(in: connection)
        connection.foreignTables = try migrator.foreignTables(in: connection)
    }
}
