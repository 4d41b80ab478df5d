import CLockkeeperSQLite

extension Connection {
    /// Copies every page of this database into another one, which is empty and nobody else's. The
    /// copy is what this connection reads: the log's pages included. Inside of a read transaction it
    /// is that snapshot, whoever writes meanwhile.
    ///
    /// - Parameters:
    ///   - stepPageCount: pages after which `goesOn` is asked; all at once where it is not given.
    ///   - goesOn: told how many pages are copied, and of how many; answers whether to go on.
    /// - Throws: ``SQLiteError`` when reading or writing fails, and with `SQLITE_INTERRUPT` where
    ///   it was not to go on; the other database is worthless then.
    package func copy(
        into destination: Connection,
        stepPageCount: Int32 = -1,
        goesOn: (_ done: Int, _ count: Int) -> Bool = { _, _ in true }
    ) throws(SQLiteError) {
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
        var code = SQLITE_OK
        while code == SQLITE_OK {
            code = sqlite3_backup_step(backup, stepPageCount)
            let count = Int(sqlite3_backup_pagecount(backup))
            let rest = Int(sqlite3_backup_remaining(backup))
            if code == SQLITE_OK, !goesOn(count - rest, count) { code = SQLITE_INTERRUPT }
        }
        // It also says what went wrong in a step.
        let end = sqlite3_backup_finish(backup)
        if code == SQLITE_INTERRUPT {
            throw SQLiteError(code: .interrupt, message: "told to stop", operation: .copy)
        }
        guard code == SQLITE_DONE, end == SQLITE_OK else {
            throw destination.core.error(end == SQLITE_OK ? code : end, .copy)
        }
    }
}
