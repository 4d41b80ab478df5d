import CLockkeeperSQLite
import Glibc
package import LockkeeperDomain

/// A connection to one database file.
///
/// It is opened without SQLite's own mutex and is not `Sendable`: whoever holds it is alone with
/// it. Only ``interruptHandle`` may be used from elsewhere. It never checkpoints by itself.
///
///     usable ──close()──▶ closed
///       └────a ROLLBACK that fails────▶ given up: as closed, every call throws
package final class Connection {
    /// Stops what the connection does, from any thread.
    package let interruptHandle: InterruptHandle

    /// What the file's key is called; `nil` for a file that is not encrypted.
    package internal(set) var keyName: [UInt8]? {
        get { core.keyName }
        set { core.keyName = newValue }
    }

    let core: ConnectionCore
    /// The process that opened it, and the only one that may use it.
    private let pid = getpid()
    private var ownStatements = StaticStatementCache()
    private var userStatements = UserStatementCache()

    /// How a file is opened.
    package enum Mode: Sendable, Hashable {
        /// Reading only; the file must exist.
        case readOnly
        /// Reading and writing; the file must exist.
        case readWrite
        /// Reading and writing; a missing file is created.
        case create

        fileprivate var flags: Int32 {
            switch self {
            case .readOnly: SQLITE_OPEN_READONLY
            case .readWrite: SQLITE_OPEN_READWRITE
            case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            }
        }
    }

    /// Opens a file. Nothing is read from it yet, so that a file that is no database is noticed
    /// only by the first statement.
    ///
    /// - Parameters:
    ///   - vfs: the name of a registered VFS, for tests; the default one otherwise.
    ///   - clock: what the busy handler tells the time by.
    ///   - busyDeadline: when waiting for locks ends; see ``busyDeadline``.
    ///   - jitterSeed: spreads the waits of processes that wait for the same lock.
    ///   - tracker: collects what is written, where that is wanted.
    /// - Throws: ``SQLiteError`` when the file cannot be opened.
    package init(
        path: String,
        mode: Mode,
        vfs: String? = nil,
        clock: any MonotonicClock,
        busyDeadline: Deadline,
        jitterSeed: UInt64,
        tracker: WriteTracker? = nil
    ) throws(SQLiteError) {
        interruptHandle = InterruptHandle()
        let database = try Self.open(path: path, mode: mode, vfs: vfs)
        let busyHandler = BusyHandler(clock: clock, interrupt: interruptHandle, seed: jitterSeed)
        busyHandler.deadline = busyDeadline
        core = ConnectionCore(
            database: database,
            authorizer: StatementAuthorizer(tracker: tracker),
            busyHandler: busyHandler,
            interrupt: interruptHandle
        )
        interruptHandle.attach(database)
    }

    private static func open(
        path: String,
        mode: Mode,
        vfs: String?
    ) throws(SQLiteError) -> OpaquePointer {
        guard !path.utf8.contains(0) else {
            throw SQLiteError(code: .cannotOpen, message: "the path holds NUL", operation: .open)
        }
        var database: OpaquePointer?
        let flags = mode.flags | SQLITE_OPEN_NOMUTEX
        let code =
            if let vfs {
                sqlite3_open_v2(path, &database, flags, vfs)
            } else {
                sqlite3_open_v2(path, &database, flags, nil)
            }
        guard code == SQLITE_OK, let database else {
            let message = String(cString: sqlite3_errmsg(database))
            let extended = database == nil ? code : sqlite3_extended_errcode(database)
            let systemError = database == nil ? 0 : sqlite3_system_errno(database)
            // SQLite gives a handle also where it could not open the file.
            sqlite3_close_v2(database)
            throw SQLiteError(
                code: ResultCode(rawValue: extended),
                message: message,
                operation: .open,
                systemError: systemError
            )
        }
        sqlite3_extended_result_codes(database, 1)
        return database
    }

    // MARK: - State

    /// False once the connection was closed or had to be given up.
    package var isUsable: Bool { core.isUsable }

    /// Whether no transaction is open. SQLite ends one by itself on a full disk or an I/O error.
    package var isInAutocommit: Bool { sqlite3_get_autocommit(core.database) != 0 }

    /// When waiting for locks ends: one budget for all statements until it is set again.
    package var busyDeadline: Deadline {
        get { core.busyHandler.deadline }
        set { core.busyHandler.deadline = newValue }
    }

    /// Does something whose waits for locks end as soon as their caller is gone: SQLite answers that
    /// it is busy then, as at the deadline.
    package func waiting<Result>(
        unless isAbandoned: () -> Bool,
        _ body: () throws -> Result
    ) rethrows -> Result {
        try withoutActuallyEscaping(isAbandoned) { isAbandoned in
            core.busyHandler.isAbandoned = isAbandoned
            defer { core.busyHandler.isAbandoned = nil }
            return try body()
        }
    }

    /// Which statements are taken. Our own cached ones run under either policy.
    package var policy: StatementPolicy {
        get { core.authorizer.policy }
        set { core.authorizer.policy = newValue }
    }

    /// Tables of schemas that this program does not know, by their names in lower case, each with its
    /// owner. Under the restricted policy statements that name one are refused.
    package var foreignTables: [String: String] {
        get { core.authorizer.foreignTables }
        set { core.authorizer.foreignTables = newValue }
    }

    /// Rows that the last INSERT, UPDATE or DELETE changed, triggers left out. Meaningful right
    /// after it only.
    package var changes: Int { Int(sqlite3_changes(core.database)) }

    /// Rows changed since the connection was opened, triggers and foreign keys included; wraps at
    /// 2^31, so compare for equality only.
    package var totalChanges: Int { Int(sqlite3_total_changes(core.database)) }

    /// The row id of the last INSERT.
    package var lastInsertRowID: Int64 { sqlite3_last_insert_rowid(core.database) }

    /// Frames in the write-ahead log after this connection's last commit.
    package var logFrameCount: Int { core.logFrameCount }

    // MARK: - Statements

    /// One of our own statements, prepared once and kept. It comes back reset.
    ///
    /// Inside a loop over its rows the same text gives another statement, not that one.
    ///
    /// - Throws: ``SQLiteError`` when it cannot be prepared.
    package func statement(
        _ sql: StaticString,
        file: StaticString = #fileID,
        line: Int = #line
    ) throws(SQLiteError) -> Statement {
        if let statement = ownStatements.find(sql), !statement.isActive {
            statement.origin = (file, line)
            return statement
        }
        let text = UnsafeBufferPointer(start: sql.utf8Start, count: sql.utf8CodeUnitCount)
        let statement = try prepare(text, isPersistent: true)
        statement.origin = (file, line)
        ownStatements.insert(statement, for: sql)
        return statement
    }

    /// A statement whose text is not ours, prepared and kept among the last 64.
    ///
    /// - Throws: ``SQLiteError`` when it cannot be prepared, is more or less than one statement, or
    ///   the restricted policy refuses it.
    package func userStatement(
        _ sql: String,
        file: StaticString = #fileID,
        line: Int = #line
    ) throws(SQLiteError) -> Statement {
        try refuseForkedChild(.prepare)
        if let statement = userStatements.find(sql), !statement.isActive {
            if policy == .restricted, let refusal = statement.refusal {
                throw Self.refused(refusal, sql)
            }
            statement.origin = (file, line)
            return statement
        }
        let statement = try prepare(sql, isPersistent: true)
        statement.origin = (file, line)
        userStatements.insert(statement, for: sql)
        return statement
    }

    /// Prepares a statement that is used once.
    ///
    /// - Throws: ``SQLiteError`` as ``userStatement(_:)`` does.
    package func prepare(
        _ sql: String,
        file: StaticString = #fileID,
        line: Int = #line
    ) throws(SQLiteError) -> Statement {
        let statement = try prepare(sql, isPersistent: false)
        statement.origin = (file, line)
        return statement
    }

    /// Runs all statements of a text that has no parameters and gives no rows of interest: a
    /// migration, a pragma.
    ///
    /// - Throws: ``SQLiteError`` for the first statement that fails; those before it have run.
    package func execute(
        _ script: String,
        file: StaticString = #fileID,
        line: Int = #line
    ) throws(SQLiteError) {
        let text = Array(script.utf8)
        try text.withUnsafeBufferPointer { text throws(SQLiteError) in
            var rest = text[...]
            while !rest.isEmpty {
                let text = UnsafeBufferPointer(rebasing: rest)
                let (statement, used) = try prepareNext(text, isPersistent: false)
                rest = rest.dropFirst(used)
                statement?.origin = (file, line)
                try statement?.run()
            }
        }
    }

    /// The first column of the only row that a question of our own gives, `nil` where it gives none.
    ///
    /// - Throws: ``SQLiteError`` when it cannot be asked.
    package func value(
        _ sql: String,
        file: StaticString = #fileID,
        line: Int = #line
    ) throws(SQLiteError) -> SQLValue? {
        let statement = try prepare(sql, file: file, line: line)
        guard try statement.step() else { return nil }
        let value = statement.value(0)
        try statement.finish()
        return value
    }

    /// Lends the database handle, for what this room does not offer.
    package func withUnsafeHandle<Result>(_ body: (OpaquePointer) throws -> Result) rethrows
        -> Result
    {
        try body(core.database)
    }

    /// Refuses a child that was forked after the file was opened: it has its parent's descriptors and
    /// the memory of the log's index, and none of its locks (B22). Asked where a transaction begins and
    /// where an app's statement comes in; our own statements run behind the first.
    func refuseForkedChild(_ operation: SQLiteError.Operation) throws(SQLiteError) {
        guard getpid() != pid else { return }
        throw SQLiteError(
            code: .misuse,
            message: "the connection belongs to the process that this one was forked by",
            operation: operation
        )
    }

    // MARK: - Changes

    /// What was written since the last time; see ``WriteTracker``. Resets statements that stand on
    /// a row, since what they wrote is known only then.
    package func takeChanges() -> [TableChange] {
        guard let tracker = core.authorizer.tracker else { return [] }
        core.resetActiveStatements()
        guard tracker.hasChanges else { return [] }
        core.lookUpTables(nil)
        return tracker.takeChanges()
    }

    /// Forgets what was written: it was rolled back.
    package func discardChanges() { core.authorizer.tracker?.discard() }

    // MARK: - Closing

    /// Closes the file. Closing twice does nothing.
    ///
    /// - Throws: ``SQLiteError`` with `SQLITE_BUSY` when a statement of the connection is still
    ///   held somewhere; the connection stays open then.
    package func close() throws(SQLiteError) {
        forgetStatements()
        try core.close()
    }

    /// Gives the connection up after a failure that leaves its transaction open.
    func abandon() {
        forgetStatements()
        core.abandon()
    }

    private func forgetStatements() {
        core.resetActiveStatements()
        ownStatements.removeAll()
        userStatements.removeAll()
    }
}
