import LockkeeperSQLite

extension Transaction {
    /// Lends the connection of the transaction, as a `sqlite3 *`: the escape to whatever this interface
    /// has not, for code of an app that speaks to SQLite itself.
    ///
    /// | Rule | Why |
    /// |---|---|
    /// | Use the pointer inside of the closure only | the connection belongs to the session, and goes on with others' work |
    /// | Finalize every statement | one that runs keeps the transaction from ending: that is a programmer's error and traps |
    /// | Set no hook, authoriser, busy handler, function of a name that is taken, nor a pragma | the fence, the commit log and the waits hang on them |
    /// | Link the SQLite that the package links | another copy in the process knows nothing of this one's locks |
    ///
    /// Transaction control, ATTACH and pragmas that change modes are refused as elsewhere. What is written
    /// stands in the commit log as any row of the tables that the closure's statements may write. Tables
    /// whose names begin with `lk_` are Lockkeeper's: reading them binds an app to one version.
    ///
    /// - Throws: ``LockkeeperError`` where the connection cannot be used, and what the closure throws.
    public func withConnection<Value>(_ body: (OpaquePointer) throws -> Value) throws -> Value {
        try connection.withHandle(body)
    }
}

extension ReadTransaction {
    /// Lends the connection of the transaction, as a `sqlite3 *`. What ``Transaction/withConnection(_:)``
    /// says holds here too; writes are refused.
    public func withConnection<Value>(_ body: (OpaquePointer) throws -> Value) throws -> Value {
        try connection.withHandle(body)
    }
}
