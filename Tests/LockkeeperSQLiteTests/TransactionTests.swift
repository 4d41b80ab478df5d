import CLockkeeperSQLite
import LockkeeperDomain
import LockkeeperSQLite
import LockkeeperTestSupport
import Testing

@Suite("Transactions end whole or not at all (I-3)")
struct TransactionTests {
    private let database = TemporaryDatabase()

    private func count(_ connection: Connection) throws -> Int64? {
        try connection.value("SELECT count(*) FROM t")?.integer
    }

    @Test("a closure that throws leaves nothing behind, and its own error is what is thrown")
    func closureThrows() throws {
        struct Stop: Error {}
        let connection = try database.open()
        try connection.execute("CREATE TABLE t(a)")
        #expect(throws: Stop.self) {
            try connection.withTransaction(.immediate) { connection in
                try connection.execute("INSERT INTO t VALUES (1)")
                throw Stop()
            }
        }
        #expect(connection.isInAutocommit)
        #expect(try count(connection) == 0)
    }

    // B82: on a full disk SQLite ends the transaction by itself.
    @Test("a full disk rolls the whole transaction back and the connection goes on")
    func diskFull() throws {
        let connection = try database.open()
        try connection.execute("CREATE TABLE t(a); PRAGMA max_page_count = 20")
        let error = #expect(throws: SQLiteError.self) {
            try connection.withTransaction(.immediate) { connection in
                for _ in 0..<100 {
                    try connection.execute("INSERT INTO t VALUES (randomblob(2000))")
                }
            }
        }
        #expect(error?.code == .full, "the error is the disk's and not the rollback's")
        #expect(connection.isUsable && connection.isInAutocommit)
        #expect(try count(connection) == 0)
        try connection.execute("PRAGMA max_page_count = 100000")
        try connection.withTransaction(.immediate) { connection in
            for _ in 0..<100 { try connection.execute("INSERT INTO t VALUES (randomblob(2000))") }
        }
        #expect(try count(connection) == 100)
    }

    // B86: what is left open must not be joined by the next transaction.
    @Test("a rollback that fails gives the connection up, and the writes are nowhere")
    func rollBackFails() throws {
        struct Stop: Error {}
        let connection = try database.open()
        try connection.execute("CREATE TABLE t(a)")
        #expect(throws: Stop.self) {
            try connection.withTransaction(.immediate) { connection in
                try connection.execute("INSERT INTO t VALUES (1)")
                // A new authoriser makes SQLite prepare ROLLBACK again, which this one refuses.
                connection.withUnsafeHandle { handle in
                    _ = sqlite3_set_authorizer(handle, { _, _, _, _, _, _ in SQLITE_DENY }, nil)
                }
                throw Stop()
            }
        }
        #expect(!connection.isUsable)
        let error = #expect(throws: SQLiteError.self) { try connection.execute("SELECT 1") }
        #expect(error?.code == .misuse)
        let other = try database.open(busyDeadline: Deadline(at: KernelClock().now()))
        #expect(try count(other) == 0)
        try other.execute("INSERT INTO t VALUES (2)")
    }

    // B01: why transactions that write are never deferred.
    @Test("reading and then writing is refused at once when somebody committed in between")
    func busySnapshot() throws {
        let first = try database.open()
        try first.execute("CREATE TABLE t(a)")
        let second = try database.open()
        try first.begin(.deferred)
        #expect(try count(first) == 0)
        try second.execute("INSERT INTO t VALUES (1)")
        let error = #expect(throws: SQLiteError.self) {
            try first.execute("INSERT INTO t VALUES (2)")
        }
        #expect(error?.code == .busySnapshot)
        first.rollBack()
        try first.withTransaction(.immediate) { try $0.execute("INSERT INTO t VALUES (2)") }
        #expect(try count(first) == 2)
    }

    @Test("a statement left on a row does not keep its snapshot past the end of a transaction")
    func leftOnARow() throws {
        let first = try database.open()
        try first.execute("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)")
        let left = try first.withTransaction(.immediate) { connection in
            let statement = try connection.prepare("SELECT a FROM t")
            #expect(try statement.step())
            return statement
        }
        let second = try database.open()
        try second.execute("INSERT INTO t VALUES (3)")
        try first.withTransaction(.immediate) { try $0.execute("INSERT INTO t VALUES (4)") }
        #expect(try count(first) == 4)
        _ = left
    }

    @Test("waiting for another writer ends at the deadline, which is one budget for all statements")
    func busyDeadline() async throws {
        try await onOwnThread { [database] in
            let clock = KernelClock()
            let holder = try database.open()
            try holder.execute("CREATE TABLE t(a)")
            try holder.begin(.immediate)
            let waiter = try database.open()
            let start = clock.now()
            waiter.busyDeadline = Deadline(after: .milliseconds(50), from: start)
            let durations = (0..<3).map { _ in
                let start = clock.now()
                let error = #expect(throws: SQLiteError.self) { try waiter.begin(.immediate) }
                #expect(error?.code == .busy && error?.operation == .begin)
                return clock.now().duration(since: start)
            }
            #expect(clock.now() >= waiter.busyDeadline.instant)
            #expect(durations[1] + durations[2] < durations[0], "the budget was spent by then")
            holder.rollBack()
            try waiter.begin(.immediate)
            waiter.rollBack()
        }
    }

    @Test("a wait without end is ended by cancelling it from another thread")
    func cancelWait() async throws {
        let holder = try database.open()
        try holder.execute("CREATE TABLE t(a)")
        try holder.begin(.immediate)
        let handles = AsyncStream.makeStream(of: InterruptHandle.self)
        async let error = onOwnThread { [database] in
            let waiter = try database.open()
            handles.continuation.yield(waiter.interruptHandle)
            let error = #expect(throws: SQLiteError.self) { try waiter.begin(.immediate) }
            waiter.interruptHandle.reset()
            return error
        }
        for await handle in handles.stream {
            handle.cancel()
            break
        }
        let code = try await error?.code
        #expect(code == .busy || code == .interrupt)
        holder.rollBack()
    }

    @Test("closing while a statement is held elsewhere is refused, and later works")
    func closeChecked() throws {
        let connection = try database.open()
        var statement: Statement? = try connection.prepare("SELECT 1")
        let error = #expect(throws: SQLiteError.self) { try connection.close() }
        #expect(error?.code == .busy)
        #expect(statement?.refusal == nil)
        statement = nil
        try connection.close()
        try connection.close()
        #expect(!connection.isUsable)
    }

    @Test(
        "a closure cannot end its transaction, attach files or change modes, cached or not",
        arguments: [
            "COMMIT", "ROLLBACK", "BEGIN", "SAVEPOINT a", "ATTACH ':memory:' AS other",
            "PRAGMA journal_mode = DELETE", "PRAGMA wal_checkpoint", "PRAGMA synchronous = OFF",
            "PRAGMA foreign_keys = OFF", "PRAGMA wal_autocheckpoint = 1", "PRAGMA no_such_thing",
            "PRAGMA schema_version = 5", "PRAGMA writable_schema = 1",
        ]
    )
    func restricted(sql: String) throws {
        let connection = try database.open()
        _ = try connection.userStatement(sql)
        try connection.withTransaction(.immediate) { connection in
            connection.withPolicy(.restricted) { connection in
                let ways: [(String) throws -> Statement] = [
                    { try connection.userStatement($0) }, { try connection.prepare($0) },
                ]
                for prepare in ways {
                    let error = #expect(throws: SQLiteError.self) { try prepare(sql) }
                    #expect(error?.code == .authorization)
                    #expect(error?.refusal != nil)
                }
            }
            #expect(!connection.isInAutocommit)
        }
    }

    @Test("a transaction ends under the restricted policy also after the schema changed in it")
    func restrictedCommit() throws {
        let connection = try database.open()
        try connection.withTransaction(.immediate) { _ in }
        connection.policy = .restricted
        try connection.begin(.immediate)
        try connection.execute("CREATE TABLE t(a); PRAGMA table_info(t); PRAGMA user_version = 3")
        try connection.commit()
        #expect(try count(connection) == 0)
    }
}
