import CLockkeeperSQLite

/// How a transaction begins, in SQLite's words.
package enum TransactionKind: Sendable, Hashable {
    /// Takes its snapshot with the first read and no lock. For reading only: one that reads and
    /// then writes is refused with `SQLITE_BUSY_SNAPSHOT` when somebody committed in between, and
    /// no busy handler is asked (B01).
    case deferred
    /// Takes the writer's lock at once. See
    /// <https://www.sqlite.org/lang_transaction.html#immediate>.
    case immediate
}

extension Connection {
    /// Begins a transaction.
    ///
    /// - Throws: ``SQLiteError``, busy among others; there is no transaction then.
    package func begin(_ kind: TransactionKind) throws(SQLiteError) {
        try refuseForkedChild(.begin)
        // Full-text search writes its own tables once more while it commits.
        discardChanges()
        let sql: StaticString =
            switch kind {
            case .deferred: "BEGIN"
            case .immediate: "BEGIN IMMEDIATE"
            }
        try run(sql, as: .begin)
    }

    /// Commits. When that fails the transaction may still be open: call ``rollBack()``.
    ///
    /// - Throws: ``SQLiteError`` when nothing was committed.
    package func commit() throws(SQLiteError) { try run("COMMIT", as: .commit) }

    /// Ends the transaction without its writes, if there is still one: SQLite rolls back by itself
    /// on a full disk or an I/O error, and what ran after that would not be in any transaction
    /// (B82). When the rollback fails the connection is given up, so that nothing can join what is
    /// left open (B86); ``isUsable`` says so. There is no error to throw: what led here is the one
    /// to tell.
    package func rollBack() {
        discardChanges()
        guard isUsable, !isInAutocommit else { return }
        do {
            try run("ROLLBACK", as: .rollBack)
        } catch {
            if !isInAutocommit { abandon() }
        }
        discardChanges()
    }

    /// Runs a closure in a transaction: commits when it returns, rolls back when it throws.
    ///
    /// - Throws: what the closure throws; ``SQLiteError`` when the transaction cannot begin or
    ///   commit.
    package func withTransaction<Result>(
        _ kind: TransactionKind,
        _ body: (Connection) throws -> Result
    ) throws -> Result {
        try begin(kind)
        do {
            let result = try body(self)
            try commit()
            return result
        } catch {
            rollBack()
            throw error
        }
    }

    /// Runs a closure under a policy.
    package func withPolicy<Result, Failure: Error>(
        _ policy: StatementPolicy,
        _ body: (Connection) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let outer = self.policy
        self.policy = policy
        defer { self.policy = outer }
        return try body(self)
    }

    private func run(_ sql: StaticString, as operation: SQLiteError.Operation) throws(SQLiteError) {
        // A statement that stands on a row would keep its snapshot past the end of the transaction,
        // and the next write would be refused for it.
        core.resetActiveStatements()
        // SQLite may prepare the statement again and would then ask whether it is allowed.
        let outer = policy
        policy = .open
        defer { policy = outer }
        do {
            try statement(sql).run()
        } catch {
            throw SQLiteError(
                code: error.code,
                message: error.message,
                operation: operation,
                sql: nil
            )
        }
    }
}
