package import LockkeeperDomain
import LockkeeperPlatform
package import LockkeeperSQLite

/// `workspace.db`: which accounts there are, which file each one uses now, and the one counter of
/// generations.
///
/// It is written seldom and read by everybody, so it keeps a rollback journal, whose commits are
/// durable by themselves (`synchronous` EXTRA syncs the directory too). Every operation is one
/// transaction. Not `Sendable`.
package final class Registry {
    /// The connection.
    package let connection: Connection

    static let migrations = [
        Migration(
            owner: "registry",
            name: "202611300900_registry",
            sql: """
                CREATE TABLE lk_workspace(
                  id INTEGER PRIMARY KEY CHECK (id = 1),
                  version INTEGER NOT NULL,
                  generation INTEGER NOT NULL,
                  rebuilt_at INTEGER
                );
                INSERT INTO lk_workspace VALUES (1, 1, 0, NULL);
                CREATE TABLE lk_account(
                  id TEXT PRIMARY KEY,
                  directory TEXT NOT NULL UNIQUE,
                  birth INTEGER NOT NULL,
                  own_id TEXT,
                  contract TEXT NOT NULL,
                  state TEXT NOT NULL CHECK (state IN ('active', 'retired')),
                  generation INTEGER NOT NULL,
                  messages_file INTEGER NOT NULL,
                  settings_file INTEGER NOT NULL,
                  created_at INTEGER NOT NULL
                ) WITHOUT ROWID;
                CREATE TABLE lk_intent(
                  id INTEGER PRIMARY KEY CHECK (id = 1),
                  from_account TEXT,
                  from_generation INTEGER,
                  to_account TEXT,
                  to_generation INTEGER,
                  step TEXT NOT NULL CHECK (step IN ('retiring', 'activating')),
                  CHECK ((from_account IS NULL) = (from_generation IS NULL)),
                  CHECK ((to_account IS NULL) = (to_generation IS NULL))
                );
                """
        ),
        // A switch that was turned round is never taken back.
        Migration(
            owner: "registry",
            name: "202611301250_return",
            sql: "ALTER TABLE lk_intent ADD COLUMN is_return INTEGER NOT NULL DEFAULT 0;"
        ),
        // Accounts that are in the workspace no more, and of which files may still be there.
        Migration(
            owner: "registry",
            name: "202611301500_removal",
            sql: """
                CREATE TABLE lk_removal(
                  id TEXT PRIMARY KEY,
                  directory TEXT NOT NULL UNIQUE
                ) WITHOUT ROWID;
                """
        ),
        recoveryMigration,
    ]

    /// Whether a registry is to be there already.
    package enum Opening: Sendable {
        /// It is, and is looked through.
        case existing
        /// One is made where there is none.
        case making
    }

    /// Opens the registry. Two processes may make it at once: the second waits and finds what the
    /// first one made.
    ///
    /// - Throws: ``StorageError/newerSchema(owner:name:)`` when a newer program made it;
    ///   ``StorageError/notAStore(path:reason:)`` when the file is no database; for one that is to be
    ///   there ``StorageError/fileMissing(path:)``, and the errors of which
    ///   ``StorageError/isLossOfRegistry`` says that it is lost; what SQLite throws.
    package init(
        path: String,
        _ opening: Opening = .making,
        environment: StoreEnvironment,
        busyDeadline: Deadline
    ) throws(StorageError) {
        let isNew = opening == .making ? try Self.reserve(path) : false
        if opening == .existing, try Self.isMissing(path) { throw .fileMissing(path: path) }
        let connection = try sqlite { () throws(SQLiteError) in
            try Connection(
                path: path,
                mode: opening == .making ? .create : .readWrite,
                vfs: environment.vfs,
                clock: environment.clock,
                busyDeadline: busyDeadline,
                jitterSeed: environment.jitterSeed
            )
        }
        let mode = try StoreFile.reading(path) { () throws(SQLiteError) in
            try connection.enable(.foreignKeys)
            try connection.enable(.distrustSchema)
            try connection.execute(
                "PRAGMA mmap_size = 0; PRAGMA synchronous = EXTRA; PRAGMA cell_size_check = ON"
            )
            return try connection.value("PRAGMA journal_mode = TRUNCATE")
        }
        guard mode == "truncate" else {
            throw .notAStore(path: path, reason: "its journal mode cannot be set")
        }
        self.connection = connection
        if opening == .existing { try requireRegistry(path) }
        try Migrator(Self.migrations)
            .apply(to: connection, at: environment.wallClock.milliseconds())
        if opening == .existing { try requireSound(path) }
        if isNew {
            try system { () throws(SystemCallError) in
                try FileSystem.syncDirectory(FileSystem.directory(of: path))
            }
        }
    }

    private static func isMissing(_ path: String) throws(StorageError) -> Bool {
        try system { () throws(SystemCallError) in try FileSystem.status(path) == nil }
    }

    /// Takes the file's name with the permissions that SQLite then gives to the journal as well.
    ///
    /// - Returns: whether there was no file. One that is there is not opened: a descriptor that is
    ///   closed takes with it the locks of every connection of this process.
    private static func reserve(_ path: String) throws(StorageError) -> Bool {
        do throws(SystemCallError) {
            guard try FileSystem.status(path) == nil else { return false }
            _ = try FileDescriptor(opening: path, [.readWrite, .create, .exclusive, .noFollow])
            return true
        } catch {
            if error.errno == .fileExists { return false }
            throw .system(error)
        }
    }

    // MARK: - Accounts

    /// All accounts in the order of their ids.
    ///
    /// - Throws: ``StorageError/malformedRegistry(reason:)``; what SQLite throws.
    package func accounts() throws(StorageError) -> [AccountRecord] {
        let select = try prepare("SELECT * FROM lk_account ORDER BY id")
        var records: [AccountRecord] = []
        while try step(select) { records.append(try record(select)) }
        return records
    }

    /// One account, `nil` when there is none of that id.
    ///
    /// - Throws: ``StorageError/malformedRegistry(reason:)``; what SQLite throws.
    package func account(_ id: AccountID) throws(StorageError) -> AccountRecord? {
        let select = try prepare("SELECT * FROM lk_account WHERE id = ?1")
        defer { select.reset() }
        try sqlite { () throws(SQLiteError) in try select.bind(1, text: id.bytes) }
        return try step(select) ? try record(select) : nil
    }

    /// Adds an account.
    ///
    /// - Throws: ``StorageError/accountExists(_:)``; what SQLite throws.
    package func add(_ record: AccountRecord) throws(StorageError) {
        try transaction { () throws(StorageError) in
            guard try account(record.id) == nil else { throw .accountExists(record.id) }
            try insert(record)
            try raiseCounter(to: max(record.birth, record.generation))
        }
    }

    /// Publishes a file: from now on this is the one that is opened. Numbers only rise, since a
    /// name that was used is never used again.
    ///
    /// - Throws: ``StorageError/unknownAccount(_:)``; ``StorageError/malformedRegistry(reason:)``
    ///   when the number would not rise; what SQLite throws.
    package func publish(
        _ kind: StoreKind,
        file number: Int64,
        of id: AccountID
    ) throws(StorageError) {
        try transaction { () throws(StorageError) in
            try setFile(kind, number, of: try known(id))
        }
    }

    /// Takes a generation that nobody has, for files or an account that are about to be made.
    ///
    /// - Parameter floor: a generation that it is above, of a file that comes from elsewhere.
    /// - Throws: what SQLite throws.
    package func reserveGeneration(
        above floor: Generation = Generation(0)
    ) throws(StorageError) -> Generation {
        try transaction { () throws(StorageError) in
            try raiseCounter(to: floor)
            return try takeGeneration()
        }
    }

    /// Publishes new files of an account, and the generation in their fences, in one step: from now
    /// on these are the ones that are opened. Its state stays.
    ///
    /// - Throws: as ``publish(_:file:of:)``; ``StorageError/malformedRegistry(reason:)`` when the
    ///   generation would not rise.
    package func replace(
        _ files: [StoreKind: Int64],
        at generation: Generation,
        of id: AccountID
    ) throws(StorageError) {
        try transaction { () throws(StorageError) in
            try replaceFiles(files, at: generation, of: id)
            try reduceRecovery(of: id, by: Set(files.keys))
        }
    }

    /// Notes what an account's fence says, where the two differ. Only upward: a lower or equal
    /// generation is old news and changes nothing.
    ///
    /// - Returns: whether the row was changed.
    /// - Throws: ``StorageError/unknownAccount(_:)``; what SQLite throws.
    @discardableResult
    package func setState(
        _ state: AccountState,
        at generation: Generation,
        of id: AccountID
    ) throws(StorageError) -> Bool {
        try transaction { () throws(StorageError) in
            guard try known(id).generation < generation else { return false }
            try writeState(state, generation, id)
            try raiseCounter(to: generation)
            return true
        }
    }

    /// The newest generation that was given.
    ///
    /// - Throws: what SQLite throws.
    package func generation() throws(StorageError) -> Generation {
        let value = try sqlite { () throws(SQLiteError) in
            try connection.value("SELECT generation FROM lk_workspace WHERE id = 1")
        }
        guard let number = value?.integer else {
            throw .malformedRegistry(reason: "there is no counter of generations")
        }
        return Generation(number)
    }

    /// Closes the registry.
    ///
    /// - Throws: ``SQLiteError`` when a statement is still held.
    package func close() throws(StorageError) {
        try sqlite { () throws(SQLiteError) in try connection.close() }
    }

    // MARK: - Within a transaction

    /// Runs a closure in a transaction that takes the writer's lock at once.
    func transaction<Value>(
        _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try sqlite { () throws(SQLiteError) in try connection.begin(.immediate) }
        do throws(StorageError) {
            let value = try body()
            try sqlite { () throws(SQLiteError) in try connection.commit() }
            return value
        } catch {
            connection.rollBack()
            throw error
        }
    }

    func replaceFiles(
        _ files: [StoreKind: Int64],
        at generation: Generation,
        of id: AccountID
    ) throws(StorageError) {
        let record = try known(id)
        guard generation > record.generation else {
            throw .malformedRegistry(
                reason: "generation \(generation) comes after \(record.generation)"
            )
        }
        for (kind, number) in files { try setFile(kind, number, of: record) }
        try writeState(record.state, generation, id)
    }

    func known(_ id: AccountID) throws(StorageError) -> AccountRecord {
        guard let record = try account(id) else { throw .unknownAccount(id) }
        return record
    }

    func insert(_ record: AccountRecord) throws(StorageError) {
        let insert = try prepare(
            "INSERT INTO lk_account VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
        )
        try sqlite { () throws(SQLiteError) in
            try insert.bind(1, text: record.id.bytes)
            try insert.bind(2, record.directory)
            try insert.bind(3, record.birth.rawValue)
            try insert.bind(4, text: record.ownID)
            try insert.bind(5, text: ContractCodec.encode(record.contract))
            try insert.bind(6, record.state.rawValue)
            try insert.bind(7, record.generation.rawValue)
            try insert.bind(8, record.messagesFile)
            try insert.bind(9, record.settingsFile)
            try insert.bind(10, record.createdAt)
            try insert.run()
        }
    }

    private func setFile(
        _ kind: StoreKind,
        _ number: Int64,
        of record: AccountRecord
    ) throws(StorageError) {
        guard number > record.fileNumber(of: kind) else {
            throw .malformedRegistry(
                reason: "file \(number) comes after file \(record.fileNumber(of: kind))"
            )
        }
        let update = try prepare(
            kind == .messages
                ? "UPDATE lk_account SET messages_file = ?2 WHERE id = ?1"
                : "UPDATE lk_account SET settings_file = ?2 WHERE id = ?1"
        )
        try sqlite { () throws(SQLiteError) in
            try update.bind(1, text: record.id.bytes)
            try update.bind(2, number)
            try update.run()
        }
    }

    func writeState(
        _ state: AccountState,
        _ generation: Generation,
        _ id: AccountID
    ) throws(StorageError) {
        let update = try prepare("UPDATE lk_account SET state = ?2, generation = ?3 WHERE id = ?1")
        try sqlite { () throws(SQLiteError) in
            try update.bind(1, text: id.bytes)
            try update.bind(2, state.rawValue)
            try update.bind(3, generation.rawValue)
            try update.run()
        }
    }

    /// Takes the next value of the counter.
    func takeGeneration() throws(StorageError) -> Generation {
        let next = try generation().next
        try raiseCounter(to: next)
        return next
    }

    func raiseCounter(to generation: Generation) throws(StorageError) {
        let update = try prepare(
            "UPDATE lk_workspace SET generation = ?1 WHERE id = 1 AND generation < ?1"
        )
        try sqlite { () throws(SQLiteError) in
            try update.bind(1, generation.rawValue)
            try update.run()
        }
    }

    func prepare(_ sql: StaticString) throws(StorageError) -> Statement {
        try sqlite { () throws(SQLiteError) in try connection.statement(sql) }
    }

    func step(_ statement: Statement) throws(StorageError) -> Bool {
        try sqlite { () throws(SQLiteError) in try statement.step() }
    }

    private func record(_ row: Statement) throws(StorageError) -> AccountRecord {
        guard let id = try? AccountID(bytes: row.bytes(0)),
            let contract = ContractCodec.decode(row.bytes(4)),
            let state = AccountState(rawValue: row.string(5))
        else { throw .malformedRegistry(reason: "the row of an account makes no sense") }
        return AccountRecord(
            id: id,
            directory: row.string(1),
            birth: Generation(row.int64(2)),
            ownID: row.optionalBytes(3),
            contract: contract,
            state: state,
            generation: Generation(row.int64(6)),
            messagesFile: row.int64(7),
            settingsFile: row.int64(8),
            createdAt: row.int64(9)
        )
    }
}
