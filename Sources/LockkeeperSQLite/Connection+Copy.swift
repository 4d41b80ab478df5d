import CLockkeeperSQLite

extension Connection {
    /// Copies every page of this database into another one, which is empty and nobody else's. The
    /// copy is what this connection reads: the log's pages included.
    ///
    /// - Throws: ``SQLiteError`` when reading or writing fails; the other database is worthless then.
    package func copy(into destination: Connection) throws(SQLiteError) {
        try core.requireUsable(.copy)
        try destination.core.requireUsable(.copy)
        guard
            let backup = sqlite3_backup_init(
                destination.core.database,
                "main",
                core.database,
                "main"
            )
        else { throw destination.core.error(SQLITE_ERROR, .copy) }
        let code = sqlite3_backup_step(backup, -1)
        // It also says what went wrong in the step.
        let end = sqlite3_backup_finish(backup)
        guard code == SQLITE_DONE, end == SQLITE_OK else {
            throw destination.core.error(end == SQLITE_OK ? code : end, .copy)
        }
    }
}
