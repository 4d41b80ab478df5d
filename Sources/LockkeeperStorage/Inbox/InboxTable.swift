package import LockkeeperSQLite

/// The names of packets whose files were applied and may still be there.
///
/// A name is recorded in the transaction that applies its packet. It is forgotten once the removal of
/// the file is on the disk: names are never given again, so that nobody can meet the file any more.
package struct InboxTable {
    private let connection: Connection

    /// The table of a store.
    package init(_ connection: Connection) { self.connection = connection }

    /// Whether a packet was applied.
    package func contains(_ name: PacketName) throws(SQLiteError) -> Bool {
        let statement = try connection.statement("SELECT 1 FROM lk_inbox_applied WHERE name = ?1")
        defer { statement.reset() }
        try statement.bind(1, name.description)
        return try statement.step()
    }

    /// Records that this transaction applies a packet.
    package func record(_ name: PacketName) throws(SQLiteError) {
        let statement = try connection.statement("INSERT INTO lk_inbox_applied (name) VALUES (?1)")
        try statement.bind(1, name.description)
        try statement.run()
    }

    /// Forgets packets whose files are gone for good.
    package func forget(_ names: some Collection<PacketName>) throws(SQLiteError) {
        let statement = try connection.statement("DELETE FROM lk_inbox_applied WHERE name = ?1")
        for name in names {
            try statement.bind(1, name.description)
            try statement.run()
        }
    }

    /// The names that are recorded, oldest first.
    ///
    /// - Parameter limit: at most so many.
    package func names(limit: Int) throws(SQLiteError) -> [PacketName] {
        let statement = try connection.statement(
            "SELECT name FROM lk_inbox_applied ORDER BY name LIMIT ?1"
        )
        defer { statement.reset() }
        try statement.bind(1, limit)
        var names: [PacketName] = []
        while try statement.step() {
            if let name = PacketName(statement.string(0)) { names.append(name) }
        }
        return names
    }
}
