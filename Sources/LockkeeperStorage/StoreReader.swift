package import LockkeeperDomain
package import LockkeeperSQLite

/// Reads one store: rows under the fence, and the commit log.
///
/// Not `Sendable`: it belongs to its reader's thread.
package final class StoreReader {
    /// The connection.
    package let connection: Connection
    /// The account.
    package let account: AccountID
    /// Which of the account's files it is.
    package let kind: StoreKind
    /// The store.
    package let store: StoreIdentity

    /// The file to which every commit is written.
    package var logPath: String { StoreFiles(path).log }

    private let path: String
    private let environment: StoreEnvironment
    private let purpose: ReadPurpose
    private let watcher: (any SnapshotWatcher)?
    private let watch: FileWatch
    private var schema: SchemaWatch

    /// Opens a store for reading.
    ///
    /// - Parameters:
    ///   - migrator: what this program knows of schemas.
    ///   - purpose: what its snapshots are for, where a read does not say otherwise.
    ///   - watcher: told of each snapshot.
    /// - Throws: as ``StoreWriter/init(path:account:origin:environment:busyDeadline:)``.
    package init(
        path: String,
        account: AccountID,
        migrator: Migrator = Migrator(Migration.store),
        environment: StoreEnvironment,
        busyDeadline: Deadline,
        purpose: ReadPurpose = .query,
        watcher: (any SnapshotWatcher)? = nil
    ) throws(StorageError) {
        let connection = try StoreFile.open(
            path,
            for: .reading,
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
        self.environment = environment
        self.purpose = purpose
        self.watcher = watcher
        self.watch = try FileWatch(path: path)
        self.schema = try SchemaWatch(migrator, connection)
    }

    // MARK: - Rows

    /// Runs a closure on one snapshot, in which the token was current (I-13).
    ///
    /// - Parameters:
    ///   - state: what the fence must say; `nil` also reads an account that was signed out of, for
    ///     tools.
    ///   - purpose: what is read, for whoever looks who pins the log.
    /// - Throws: what the closure throws; ``StorageError/superseded(held:current:state:)``; what
    ///   SQLite throws.
    package func read<Value>(
        token: FencingToken,
        requiring state: AccountState? = .active,
        for purpose: ReadPurpose? = nil,
        deadline: Deadline,
        body: (Connection) throws -> Value
    ) throws -> Value {
        try fenced(token, state, purpose ?? self.purpose, deadline) { _ in
            try connection.withPolicy(.restricted) { connection throws in try body(connection) }
        }
    }

    /// What one snapshot showed, and what of later commits would show something else.
    package struct Observed<Value> {
        /// What the closure returned.
        package let value: Value
        /// The newest commit in the snapshot.
        package let position: Position
        /// What was read.
        package let footprint: ReadFootprint
    }

    /// ``read(token:requiring:for:deadline:body:)``, with what it read and where in the log.
    package func observe<Value>(
        token: FencingToken,
        requiring state: AccountState? = .active,
        for purpose: ReadPurpose? = nil,
        deadline: Deadline,
        body: (Connection) throws -> Value
    ) throws -> Observed<Value> {
        try fenced(token, state, purpose ?? self.purpose, deadline) { log in
            let (value, tables) = try connection.withPolicy(.restricted) { connection throws in
                try connection.notingReads(body)
            }
            return Observed(
                value: value,
                position: Position(store: store, commit: log.head),
                footprint: ReadFootprint(tables: tables) { StoreFile.isLeftOut($0, environment) }
            )
        }
    }

    private func fenced<Value>(
        _ token: FencingToken,
        _ state: AccountState?,
        _ purpose: ReadPurpose,
        _ deadline: Deadline,
        _ body: (Log) throws -> Value
    ) throws -> Value {
        precondition(token.account == account, "a token of another account reached this store")
        connection.busyDeadline = deadline
        return try snapshot(purpose) { log throws in
            guard log.generation == token.generation, state == nil || log.state == state else {
                throw StorageError.superseded(
                    held: token,
                    current: log.generation,
                    state: log.state
                )
            }
            try schema.check(log.migrationCount, connection)
            return try body(log)
        }
    }

    // MARK: - The commit log

    /// What there is to read after a position.
    package enum CatchUp: Sendable, Hashable {
        /// The commits after the position, in order, one range each; empty at the head. More may
        /// follow where as many came as were asked for.
        case ranges([ChangeRange], head: Position)
        /// The log does not reach back to the position, or never had it: read everything anew and
        /// go on from `head`. `oldest` is the oldest position that can be continued.
        case resync(head: Position, oldest: Position)
    }

    /// Reads the commits after a position.
    ///
    /// A position can be continued when it is of this store and stands in the log, or is its floor.
    /// Any other is answered with `resync`, never with a shorter list (I-7).
    ///
    /// - Parameter areDurable: whether the caller synced the log after its last commit.
    /// - Throws: ``StorageError/malformedCommit(_:)``; what SQLite throws.
    package func catchUp(
        after position: Position,
        limit: Int,
        areDurable: Bool = false
    ) throws(StorageError) -> CatchUp {
        precondition(limit > 0, "catching up reads at least one commit")
        return try storageSnapshot { log throws(StorageError) in
            let head = Position(store: store, commit: log.head)
            guard position.store == store, try isContinuable(position.commit, log) else {
                let oldest = Position(store: store, commit: log.floor)
                return .resync(head: head, oldest: oldest)
            }
            let ranges = try ranges(after: position.commit, limit, areDurable)
            return .ranges(ranges, head: head)
        }
    }

    /// Where a store stands.
    package struct Head: Sendable, Hashable {
        /// The newest commit.
        package let position: Position
        /// The oldest position that can be continued.
        package let oldest: CommitNumber
        /// The generation in the fence.
        package let generation: Generation
        /// Whether the fence takes writes.
        package let state: AccountState
    }

    /// The newest commit and the generation under which the store stands.
    ///
    /// - Throws: what SQLite throws.
    package func head() throws(StorageError) -> Head {
        try storageSnapshot { log throws(StorageError) in
            Head(
                position: Position(store: store, commit: log.head),
                oldest: log.floor,
                generation: log.generation,
                state: log.state
            )
        }
    }

    /// How many packets of the inbox wait as rows, and how many are parked.
    ///
    /// - Throws: what SQLite throws.
    package func packetCounts() throws(StorageError) -> (waiting: Int, parked: Int) {
        try storageSnapshot { _ throws(StorageError) in
            try sqlite { () throws(SQLiteError) in try PacketTable(connection).counts() }
        }
    }

    /// A number that changes whenever another connection has committed.
    ///
    /// - Throws: what SQLite throws.
    package func dataVersion() throws(StorageError) -> Int64 {
        try watch.checkIndex()
        return try sqlite { () throws(SQLiteError) in try connection.dataVersion() }
    }

    /// Closes the store.
    ///
    /// - Throws: ``SQLiteError`` when a statement is still held.
    package func close() throws(StorageError) {
        try sqlite { () throws(SQLiteError) in try connection.close() }
    }

    // MARK: - Snapshots

    private struct Log {
        let generation: Generation
        let state: AccountState
        let floor: CommitNumber
        let head: CommitNumber
        let migrationCount: Int64
    }

    private func snapshot<Value>(
        _ purpose: ReadPurpose,
        _ body: (Log) throws -> Value
    ) throws -> Value {
        try watch.checkIndex()
        watcher?.began(purpose)
        defer { watcher?.ended() }
        try sqlite { () throws(SQLiteError) in try connection.begin(.deferred) }
        // Nothing was written: rolling back ends the snapshot and cannot be refused.
        defer { connection.rollBack() }
        return try body(try readLog())
    }

    private func storageSnapshot<Value>(
        _ body: (Log) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try watch.checkIndex()
        watcher?.began(purpose)
        defer { watcher?.ended() }
        try sqlite { () throws(SQLiteError) in try connection.begin(.deferred) }
        defer { connection.rollBack() }
        return try body(try readLog())
    }

    private func readLog() throws(StorageError) -> Log {
        do throws(SQLiteError) {
            let select = try connection.statement(
                """
                SELECT generation, state = 'active', floor, (SELECT max(number) FROM lk_commit),
                  (SELECT count(*) FROM lk_migration)
                FROM lk_fence WHERE id = 1
                """
            )
            defer { select.reset() }
            if try select.step() {
                let floor = select.int64(2)
                return Log(
                    generation: Generation(select.int64(0)),
                    state: select.int64(1) == 1 ? .active : .retired,
                    floor: CommitNumber(floor),
                    head: CommitNumber(select.optionalInt64(3) ?? floor),
                    migrationCount: select.int64(4)
                )
            }
        } catch {
            throw .sqlite(error)
        }
        throw .fenceMissing(path: path)
    }

    private func isContinuable(
        _ commit: CommitNumber,
        _ log: Log
    ) throws(StorageError) -> Bool {
        if commit == log.floor { return true }
        guard commit > log.floor else { return false }
        return try sqlite { () throws(SQLiteError) in
            let select = try connection.statement(
                "SELECT 1 FROM lk_commit WHERE number = ?1"
            )
            defer { select.reset() }
            try select.bind(1, commit.rawValue)
            return try select.step()
        }
    }

    private func ranges(
        after commit: CommitNumber,
        _ limit: Int,
        _ areDurable: Bool
    ) throws(StorageError) -> [ChangeRange] {
        var ranges: [ChangeRange] = []
        var predecessor = commit
        let select = try sqlite { () throws(SQLiteError) in
            let select = try connection.statement(
                """
                SELECT number, generation, origin, tables, topics FROM lk_commit
                WHERE number > ?1 ORDER BY number LIMIT ?2
                """
            )
            try select.bind(1, commit.rawValue)
            try select.bind(2, limit)
            return select
        }
        defer { select.reset() }
        while try sqlite({ () throws(SQLiteError) in try select.step() }) {
            let range = try range(select, after: predecessor, areDurable)
            predecessor = range.last
            ranges.append(range)
        }
        return ranges
    }

    private func range(
        _ row: Statement,
        after predecessor: CommitNumber,
        _ isDurable: Bool
    ) throws(StorageError) -> ChangeRange {
        let number = CommitNumber(row.int64(0))
        do throws(JSONError) {
            let tables = try row.withBytes(3) { bytes throws(JSONError) in
                try CommitRowCodec.decodeTables(bytes)
            }
            let topics =
                row.isNull(4)
                ? nil
                : try row.withBytes(4) { bytes throws(JSONError) in
                    try CommitRowCodec.decodeTopics(bytes)
                }
            return ChangeRange(
                account: account,
                kind: kind,
                store: store,
                generation: Generation(row.int64(1)),
                predecessor: predecessor,
                commits: number...number,
                tables: tables,
                topics: topics,
                origins: [row.string(2)],
                isDurable: isDurable
            )
        } catch {
            throw .malformedCommit(number)
        }
    }
}

extension StoreReader.Observed: Sendable where Value: Sendable {}
