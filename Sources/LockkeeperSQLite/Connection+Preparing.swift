import CLockkeeperSQLite

extension Connection {
    /// Prepares a text that holds exactly one statement.
    func prepare(_ sql: String, isPersistent: Bool) throws(SQLiteError) -> Statement {
        try Array(sql.utf8).withUnsafeBufferPointer { text throws(SQLiteError) in
            try prepare(text, isPersistent: isPersistent)
        }
    }

    /// Prepares a text that holds exactly one statement.
    func prepare(
        _ text: UnsafeBufferPointer<UInt8>,
        isPersistent: Bool
    ) throws(SQLiteError) -> Statement {
        let (statement, used) = try prepareNext(text, isPersistent: isPersistent)
        // What stands behind the first statement would quietly not run.
        let rest = UnsafeBufferPointer(rebasing: text[used...])
        guard let statement, isBlank(rest) else {
            throw SQLiteError(
                code: .misuse,
                message: "exactly one statement is wanted here",
                operation: .prepare,
                sql: String(decoding: text, as: UTF8.self)
            )
        }
        return statement
    }

    /// Prepares the first statement of a text.
    ///
    /// - Returns: the statement, `nil` where only white space and comments are left, and how many
    ///   bytes of the text it takes.
    func prepareNext(
        _ text: UnsafeBufferPointer<UInt8>,
        isPersistent: Bool
    ) throws(SQLiteError) -> (statement: Statement?, used: Int) {
        try core.requireUsable(.prepare)
        guard let start = text.baseAddress else { return (nil, 0) }
        // SQLite would stop reading at a NUL and forget the rest.
        guard !text.contains(0) else {
            throw SQLiteError(code: .misuse, message: "SQL holds NUL", operation: .prepare)
        }
        let facts = core.authorizer.tracker == nil ? nil : WriteFacts(sql: text)
        let reads = core.authorizer.tracker == nil ? ReadTables() : nil
        core.authorizer.beginPreparing(facts, reads)
        defer { core.authorizer.endPreparing() }
        var handle: OpaquePointer?
        var tail: UnsafePointer<CChar>?
        let code = start.withMemoryRebound(to: CChar.self, capacity: text.count) { start in
            let code = sqlite3_prepare_v3(
                core.database,
                start,
                Int32(text.count),
                isPersistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0,
                &handle,
                &tail
            )
            return (code, tail.map { $0 - start } ?? text.count)
        }
        let refusal = core.authorizer.refusal
        guard code.0 == SQLITE_OK else {
            let sql = String(decoding: text, as: UTF8.self)
            if ResultCode(rawValue: code.0).primary == .authorization, let refusal {
                throw Self.refused(refusal, sql)
            }
            throw core.error(code.0, .prepare, sql: sql)
        }
        guard let handle else { return (nil, code.1) }
        let statement = Statement(
            handle: handle,
            core: core,
            facts: facts.flatMap { $0.isEmpty ? nil : $0 },
            reads: reads,
            refusal: refusal
        )
        return (statement, code.1)
    }

    /// The error for a statement that may not stand in a closure.
    static func refused(_ refusal: StatementRefusal, _ sql: String) -> SQLiteError {
        SQLiteError(
            code: .authorization,
            message: refusal.description,
            operation: .prepare,
            sql: sql,
            refusal: refusal
        )
    }

    /// Whether a text holds white space and comments only.
    private func isBlank(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard !text.isEmpty else { return true }
        core.authorizer.isSuspended = true
        defer { core.authorizer.isSuspended = false }
        var handle: OpaquePointer?
        let code = text.withMemoryRebound(to: CChar.self) { text in
            sqlite3_prepare_v3(core.database, text.baseAddress, Int32(text.count), 0, &handle, nil)
        }
        sqlite3_finalize(handle)
        return code == SQLITE_OK && handle == nil
    }
}
