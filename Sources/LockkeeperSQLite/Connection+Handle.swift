import CLockkeeperSQLite

extension Connection {
    /// Lends SQLite's own handle of the connection to a closure.
    ///
    /// The authoriser judges what is prepared with it as it judges everything. What is written counts
    /// as any row of each table that a statement of the closure may write. It is a programmer's error
    /// to leave a statement running.
    ///
    /// - Throws: ``SQLiteError`` where the connection cannot be used, and what the closure throws.
    package func withHandle<Value>(_ body: (OpaquePointer) throws -> Value) throws -> Value {
        try core.requireUsable(.step)
        let authorizer = core.authorizer
        precondition(!authorizer.isHandleLent, "the handle is lent to one closure at a time")
        let noSQL = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
        let facts = authorizer.tracker == nil ? nil : WriteFacts(sql: noSQL)
        let changesBefore = sqlite3_total_changes(core.database)
        let runningBefore = runningStatementCount
        authorizer.lendHandle(facts)
        defer {
            authorizer.takeHandleBack()
            precondition(
                runningStatementCount <= runningBefore,
                "a statement that was prepared with the handle is still running"
            )
            if let facts, let tracker = authorizer.tracker {
                if sqlite3_total_changes(core.database) != changesBefore {
                    tracker.touchAnyRow(of: facts.tables)
                }
                if !facts.schemaTables.isEmpty {
                    tracker.touchAnyRow(of: facts.schemaTables)
                    tracker.schemaMayHaveChanged()
                }
            }
        }
        return try body(core.database)
    }

    private var runningStatementCount: Int {
        var count = 0
        var statement = sqlite3_next_stmt(core.database, nil)
        while let found = statement {
            if sqlite3_stmt_busy(found) != 0 { count += 1 }
            statement = sqlite3_next_stmt(core.database, found)
        }
        return count
    }
}
