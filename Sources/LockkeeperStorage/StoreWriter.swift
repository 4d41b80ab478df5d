package import LockkeeperDomain
import LockkeeperPlatform
package import LockkeeperSQLite

/// Writes one store: every transaction checks the fence, and leaves one row in the commit log when
/// it changed something.
///
///     BEGIN IMMEDIATE
///       │ fence and head, in one statement
///       ├─ token is not current ──▶ ROLLBACK, superseded                       (I-2)
///       ├─ migrated by a newer program ──▶ ROLLBACK, newer schema              (I-14)
///       ├─ another boot ──▶ ROLLBACK, a transaction that raises the numbers, again  (I-8)
///       │ body, under the closures' rules
///       ├─ throws, or cancelled ──▶ ROLLBACK
///       │ commit-log row, when something changed                              (I-3)
///     COMMIT
///       │ WRITER may be let go
///     checkFiles(): they still stand at their paths                           (5.5)
///
/// Not `Sendable`: it belongs to the thread that holds the account's WRITER.
package final class StoreWriter {
    /// The connection, for what goes beyond transactions: syncing the log, checkpoints.
    package let connection: Connection
    /// The account.
    package let account: AccountID
    /// Which of the account's files it is.
    package let kind: StoreKind
    /// The store.
    package let store: StoreIdentity

    private let path: String
    private let origin: String
    private let environment: StoreEnvironment
    private let bootID: [UInt8]
    private let watch: FileWatch
    private var schema: SchemaWatch

    /// How often a transaction whose snapshot went stale is begun anew. Under BEGIN IMMEDIATE this
    /// takes a body that leaves the transaction's rules; once is a coincidence, eight are a bug.
    private static let restartCountMax = 8
    /// How far numbers jump after a boot: more commits than could be lost with the power.
    static let bootJump: Int64 = 1 << 32

    /// What a transaction reads before anything else.
    private struct Head {
        let generation: Generation
        let state: AccountState
        let isOfThisBoot: Bool
        /// The newest commit; the floor where the log is empty.
        let commit: CommitNumber
        /// Whether the log has no row, so that the next one says under which boot it was written.
        let logIsEmpty: Bool
        /// How many migrations were applied.
        let migrationCount: Int64
    }

    /// Opens a store for writing.
    ///
    /// - Parameters:
    ///   - origin: the process's name, for the commit log.
    ///   - migrator: what this program knows of schemas.
    /// - Throws: ``StorageError/wrongAccount(path:expected:found:)`` when the store is another
    ///   account's; ``StorageError/newerSchema(owner:name:)``; as ``StoreFile/open(_:for:environment:busyDeadline:)`` and
    ///   ``Fence/read(from:path:)``.
    package init(
        path: String,
        account: AccountID,
        origin: String,
        migrator: Migrator = Migrator(Migration.store),
        environment: StoreEnvironment,
        busyDeadline: Deadline
    ) throws(StorageError) {
        let connection = try StoreFile.open(
            path,
            for: .writing,
            environment: environment,
            busyDeadline: busyDeadline
        )
        let fence = try Fence.read(from: connection, path: path)
        guard fence.account == account else {
            throw .wrongAccount(path: path, expected: account, found: fence.account)
        }
        self.connection = connection
        self.account = account
        self.kind = fence.kind
        self.store = fence.store
        self.path = path
        self.origin = origin
        self.environment = environment
        self.bootID = environment.bootID.bytes
        self.watch = try FileWatch(path: path)
        self.schema = try SchemaWatch(migrator, connection)
    }

    // MARK: - Transactions

    /// Runs a closure in a transaction.
    ///
    /// The closure may run more than once; what it did before is rolled back then. Between COMMIT
    /// and the return nothing waits, and the commit is not durable yet. Before it is acknowledged
    /// ``checkFiles()`` is called.
    ///
    /// - Parameters:
    ///   - token: the right to write, checked inside of the transaction.
    ///   - deadline: when waiting for a foreign program's lock ends.
    ///   - isCancelled: asked while a foreign program's lock is waited for and before COMMIT
    ///     begins, and not after.
    ///   - body: what to do. The connection must not leave it.
    /// - Throws: what the closure throws; ``StorageError/superseded(held:current:state:)``;
    ///   ``StorageError/cancelled``; what SQLite throws, busy at the deadline. Nothing of the
    ///   closure's was committed then.
    package func transaction<Value>(
        token: FencingToken,
        deadline: Deadline,
        isCancelled: () -> Bool,
        body: (Connection, inout TopicSet) throws -> Value
    ) throws -> TransactionOutcome<Value> {
        precondition(token.account == account, "a token of another account reached this store")
        connection.busyDeadline = deadline
        try watch.checkIndex()
        var jump: Head?
        var restartCount = 0
        while true {
            do {
                let head = try connection.waiting(unless: isCancelled) { try begin(token) }
                guard head.isOfThisBoot else {
                    connection.rollBack()
                    jump = try raiseNumbers(token) ?? jump
                    continue
                }
                return try run(head, after: jump, isCancelled, body)
            } catch {
                connection.rollBack()
                let code = Self.code(of: error)
                if code.map({ ResultCode.busy ~= $0 }) == true, isCancelled() {
                    throw StorageError.cancelled
                }
                guard code == .busySnapshot, restartCount < Self.restartCountMax else {
                    throw error
                }
                restartCount += 1
            }
        }
    }

    /// Makes sure that the file, its log and the log's index still stand at their paths: SQLite
    /// writes on into files that were moved away, and reports success. The caller need not hold
    /// WRITER any more.
    ///
    /// - Throws: ``StorageError/fileReplaced(path:)``; what was committed may be in no file then
    ///   that anybody will open.
    package func checkFiles() throws(StorageError) { try watch.check() }

    /// Raises this store's fence; see ``Fence/advance(_:path:to:_:)``.
    ///
    /// - Throws: as that.
    package func advanceFence(
        to generation: Generation,
        _ state: AccountState,
        deadline: Deadline
    ) throws(StorageError) {
        connection.busyDeadline = deadline
        try Fence.advance(connection, path: path, to: generation, state)
    }

    /// Closes the store.
    ///
    /// - Throws: ``SQLiteError`` when a statement is still held.
    package func close() throws(StorageError) {
        try sqlite { () throws(SQLiteError) in try connection.close() }
    }

    // MARK: - Steps of a transaction

    private func begin(_ token: FencingToken) throws -> Head {
        try sqlite { () throws(SQLiteError) in try connection.begin(.immediate) }
        Failpoint.afterBegin.reach()
        let head = try readHead()
        guard head.generation == token.generation, head.state == .active else {
            if PlantedDefect.skipFenceCheck.isPlanted { return head }
            throw StorageError.superseded(
                held: token,
                current: head.generation,
                state: head.state
            )
        }
        try schema.check(head.migrationCount, connection)
        Failpoint.afterFenceCheck.reach()
        return head
    }

    private func run<Value>(
        _ head: Head,
        after jump: Head?,
        _ isCancelled: () -> Bool,
        _ body: (Connection, inout TopicSet) throws -> Value
    ) throws -> TransactionOutcome<Value> {
        var topics = TopicSet()
        connection.policy = .restricted
        defer { connection.policy = .open }
        let value = try body(connection, &topics)
        connection.policy = .open
        if isCancelled() { throw StorageError.cancelled }
        let tables = connection.takeChanges()
        var last = head.commit
        if !tables.isEmpty {
            last = reusesNumber ? head.commit : head.commit.next
            try sqlite { () throws(SQLiteError) in
                try insertRow(
                    last,
                    head.generation,
                    tables: tables,
                    topics: topics.topics,
                    tellsBoot: head.logIsEmpty
                )
            }
        }
        Failpoint.beforeCommit.reach()
        try sqlite { () throws(SQLiteError) in try connection.commit() }
        Failpoint.afterCommit.reach()
        return TransactionOutcome(
            value: value,
            change: change(from: jump ?? head, to: last, head, tables, topics),
            head: last
        )
    }

    /// What to announce: the transaction's own row, and before it the jump of a first write after
    /// a boot.
    private func change(
        from earlier: Head,
        to last: CommitNumber,
        _ head: Head,
        _ tables: [TableChange],
        _ topics: TopicSet
    ) -> CommittedChange? {
        guard last > earlier.commit else { return nil }
        let first = earlier.commit < head.commit ? head.commit : last
        return CommittedChange(
            generation: head.generation,
            predecessor: earlier.commit,
            commits: first...last,
            tables: tables,
            topics: tables.isEmpty ? [] : topics.topics,
            origin: origin
        )
    }

    private func readHead() throws(StorageError) -> Head {
        do throws(SQLiteError) {
            let select = try connection.statement(
                """
                SELECT generation, state = 'active', boot, floor,
                  (SELECT max(number) FROM lk_commit), (SELECT count(*) FROM lk_migration)
                FROM lk_fence WHERE id = 1
                """
            )
            defer { select.reset() }
            if try select.step() {
                let newest = select.optionalInt64(4)
                return Head(
                    generation: Generation(select.int64(0)),
                    state: select.int64(1) == 1 ? .active : .retired,
                    isOfThisBoot: select.withBytes(2) { $0.elementsEqual(bootID) },
                    commit: CommitNumber(newest ?? select.int64(3)),
                    logIsEmpty: newest == nil,
                    migrationCount: select.int64(5)
                )
            }
        } catch {
            throw .sqlite(error)
        }
        throw .fenceMissing(path: path)
    }

    private func insertRow(
        _ number: CommitNumber,
        _ generation: Generation,
        tables: [TableChange],
        topics: [[UInt8]]?,
        tellsBoot: Bool
    ) throws(SQLiteError) {
        let insert = try connection.statement(
            PlantedDefect.reuseCommitNumber.isPlanted
                ? "INSERT OR REPLACE INTO lk_commit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
                : "INSERT INTO lk_commit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
        )
        try insert.bind(1, number.rawValue)
        try insert.bind(2, generation.rawValue)
        try insert.bind(3, origin)
        try insert.bind(4, environment.wallClock.milliseconds())
        if tellsBoot { try insert.bind(5, blob: bootID) }
        try insert.bind(6, environment.clock.now().nanoseconds)
        try insert.bind(7, text: CommitRowCodec.encode(tables: tables))
        try insert.bind(8, text: CommitRowCodec.encode(topics: topics))
        try insert.run()
    }

    /// Whether this transaction gets the number of the one before: the planted defect, at every eighth
    /// or so.
    private var reusesNumber: Bool {
        PlantedDefect.reuseCommitNumber.isPlanted
            && environment.clock.now().nanoseconds.isMultiple(of: 8)
    }

    /// The first write after a boot: commits that were announced may have been lost with the power,
    /// so the numbers jump past all that could have been given, and the jump is on the disk before
    /// any number behind it is given (I-8).
    ///
    /// - Returns: where the log stood before; `nil` when another process was faster.
    private func raiseNumbers(_ token: FencingToken) throws -> Head? {
        try sqlite { () throws(SQLiteError) in try connection.execute("PRAGMA synchronous = FULL") }
        do {
            let head = try begin(token)
            if !head.isOfThisBoot {
                try sqlite { () throws(SQLiteError) in
                    let update = try connection.prepare(
                        "UPDATE lk_fence SET boot = ?1 WHERE id = 1"
                    )
                    try update.bind(1, blob: bootID)
                    try update.run()
                    try insertRow(
                        CommitNumber(head.commit.rawValue + Self.bootJump),
                        head.generation,
                        tables: [],
                        topics: [],
                        tellsBoot: true
                    )
                }
            }
            try sqlite { () throws(SQLiteError) in
                try connection.commit()
                try connection.execute("PRAGMA synchronous = NORMAL")
            }
            return head.isOfThisBoot ? nil : head
        } catch {
            connection.rollBack()
            if connection.isUsable { try connection.execute("PRAGMA synchronous = NORMAL") }
            throw error
        }
    }

    private static func code(of error: any Error) -> ResultCode? {
        switch error {
        case let error as SQLiteError: error.code
        case StorageError.sqlite(let error): error.code
        default: nil
        }
    }
}
