import CLockkeeperSQLite

/// What a connection and its statements share, so that each statement keeps its database handle
/// alive and no reference leads back from the statements to the connection that caches them.
final class ConnectionCore {
    let database: OpaquePointer
    let authorizer: StatementAuthorizer
    let busyHandler: BusyHandler
    let interrupt: InterruptHandle

    /// False once the handle was given back to SQLite or the connection was given up.
    private(set) var isUsable = true
    /// Frames in the log after the last commit of this connection.
    var logFrameCount = 0
    /// See ``Connection/keyName``.
    var keyName: [UInt8]?

    /// Statements that stand on a row. They pin a snapshot, so whoever ends a transaction resets
    /// them first. Unretained: a statement takes itself out when it is reset or goes away.
    private var activeStatements: [Unmanaged<Statement>] = []
    private var isClosed = false
    private let catalogue = TableCatalogue()

    init(
        database: OpaquePointer,
        authorizer: StatementAuthorizer,
        busyHandler: BusyHandler,
        interrupt: InterruptHandle
    ) {
        self.database = database
        self.authorizer = authorizer
        self.busyHandler = busyHandler
        self.interrupt = interrupt
        busyHandler.install(on: database)
        authorizer.install(on: database)
        installHooks()
    }

    deinit {
        guard !isClosed else { return }
        interrupt.attach(nil)
        catalogue.finalize()
        sqlite3_close_v2(database)
    }

    // MARK: - Closing

    /// Gives the handle back. Every statement must have gone.
    func close() throws(SQLiteError) {
        guard !isClosed else { return }
        resetActiveStatements()
        catalogue.finalize()
        interrupt.attach(nil)
        let code = sqlite3_close(database)
        guard code == SQLITE_OK else {
            interrupt.attach(database)
            throw error(code, .close)
        }
        isClosed = true
        isUsable = false
    }

    /// Gives the connection up: its transaction could not be ended, so nothing may join it. The
    /// handle is closed as soon as the last statement lets go of it; every call throws from now on.
    func abandon() {
        guard isUsable else { return }
        isUsable = false
        isClosed = true
        resetActiveStatements()
        catalogue.finalize()
        interrupt.attach(nil)
        sqlite3_close_v2(database)
    }

    // MARK: - Statements

    /// Notes that a statement stands on a row.
    func add(active statement: Statement) {
        activeStatements.append(Unmanaged.passUnretained(statement))
    }

    /// Notes that a statement no longer stands on a row.
    func remove(active statement: Statement) {
        let reference = Unmanaged.passUnretained(statement).toOpaque()
        guard let index = activeStatements.lastIndex(where: { $0.toOpaque() == reference }) else {
            return
        }
        activeStatements.remove(at: index)
    }

    /// Resets the statements that stand on a row: their transaction is about to end.
    func resetActiveStatements() {
        while let statement = activeStatements.last { statement.takeUnretainedValue().reset() }
    }

    /// Works out what the hook will not tell about a statement's writes.
    func resolve(_ facts: WriteFacts) {
        guard let tracker = authorizer.tracker else { return }
        lookUpTables(facts.tables + facts.schemaTables)
        let triggersReplace = facts.firesTriggers && asking { catalogue.triggersReplace(database) }
        tracker.resolve(facts, triggersReplace: triggersReplace)
    }

    /// Looks up those tables of a list, or of the tables written, of which nothing is known.
    func lookUpTables(_ list: [Int]?) {
        guard let tracker = authorizer.tracker else { return }
        while let table = tracker.unknownTable(among: list) {
            let kind = asking { catalogue.kind(ofTable: table.name, in: database) }
            tracker.setKind(kind, ofTable: table.index)
        }
    }

    /// Whether a name is that of a table or view whose content is rows of the main database alone.
    func isOrdinaryTable(_ name: String) -> Bool {
        asking { catalogue.isOrdinary(name, in: database) }
    }

    private func asking<Result>(_ question: () -> Result) -> Result {
        authorizer.isSuspended = true
        defer { authorizer.isSuspended = false }
        return question()
    }

    // MARK: - Errors

    /// Makes sure that the connection can be used.
    func requireUsable(_ operation: SQLiteError.Operation) throws(SQLiteError) {
        guard !isUsable else { return }
        throw SQLiteError(
            code: .misuse,
            message: "the connection is closed",
            operation: operation
        )
    }

    /// The latest failure.
    func error(
        _ code: Int32,
        _ operation: SQLiteError.Operation,
        sql: String? = nil
    ) -> SQLiteError {
        // The handle's own code is the extended one; it belongs to the same call when the primary
        // codes agree.
        let extended = sqlite3_extended_errcode(database)
        if isOfUnreadablePage(code) {
            return SQLiteError(
                code: .corrupt,
                message: "a page is not what was encrypted",
                operation: operation,
                sql: sql
            )
        }
        return SQLiteError(
            code: ResultCode(rawValue: extended & 0xff == code & 0xff ? extended : code),
            message: String(cString: sqlite3_errmsg(database)),
            operation: operation,
            sql: sql,
            systemError: code & 0xff == SQLITE_CANTOPEN ? sqlite3_system_errno(database) : 0
        )
    }

    /// Whether a failure says that a page's HMAC does not hold. SQLCipher says so once, as SQLite does of
    /// a page that makes no sense; until the end of the transaction every reading then fails with an
    /// error that has no sentence of its own. An app's statement may have one for another reason.
    private func isOfUnreadablePage(_ code: Int32) -> Bool {
        keyName != nil && code == SQLITE_ERROR && authorizer.policy == .open
            && String(cString: sqlite3_errmsg(database))
                == String(cString: sqlite3_errstr(SQLITE_ERROR))
    }

    // MARK: - Hooks

    private func installHooks() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        // A hook for the log takes the place of SQLite's own, which would checkpoint by itself.
        sqlite3_wal_hook(
            database,
            { context, _, _, frameCount in
                guard let context else { return SQLITE_OK }
                let core = Unmanaged<ConnectionCore>.fromOpaque(context).takeUnretainedValue()
                core.logFrameCount = Int(frameCount)
                return SQLITE_OK
            },
            context
        )
        guard let tracker = authorizer.tracker else { return }
        sqlite3_update_hook(
            database,
            { context, _, schema, table, row in
                // The schema's name is "main" or "temp": what is temporary is nobody's news.
                guard let context, let schema, let table, schema[0] != UInt8(ascii: "t") else {
                    return
                }
                Unmanaged<WriteTracker>.fromOpaque(context).takeUnretainedValue()
                    .noteRow(tableName: table, row: row)
            },
            Unmanaged.passUnretained(tracker).toOpaque()
        )
    }
}
