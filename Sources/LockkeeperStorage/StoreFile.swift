package import LockkeeperDomain
import LockkeeperPlatform
package import LockkeeperSQLite

/// Opens an account's database files, the one way in which they are ever opened (I-11).
/// A file that is encrypted gets its key before anything is read of it (``KeyRing``).
///
/// | setting | why |
/// |---|---|
/// | `journal_mode` WAL | readers and one writer at the same time; what the pragma answers is looked at |
/// | no checkpoint on close, none by itself | checkpoints have one owner, and closing one late would lose the race of I-10 |
/// | persistent log | a log that comes and goes is a file whose directory must be synced again |
/// | `synchronous` NORMAL | commits sync the log outside of the lock, by ``Connection/syncLog()`` |
/// | `mmap_size` 0 | an I/O error is an error and not a signal |
/// | `foreign_keys` ON | it is off by default, per connection |
/// | `trusted_schema` OFF, `cell_size_check` ON | a damaged or hostile file is noticed early |
/// | `secure_delete` ON | a recalled message's bytes are overwritten |
/// | `temp_store` MEMORY | no message text in temporary files |
package enum StoreFile {
    /// Bytes of the log that one page takes: a store's pages have 4096 bytes, a frame's header 24.
    package static let frameByteCount = 4096 + 24

    /// What a connection is for.
    package enum Purpose: Sendable, Hashable {
        /// Reading only.
        case reading
        /// Writing, with what is written collected for the commit log.
        case writing
        /// Checkpoints and syncs: may write, collects nothing.
        case maintaining
    }

    /// Opens a store that is there. Where its log is missing that is written down first, because SQLite
    /// makes another one (``StoreFiles/hasLostLog()``).
    ///
    /// - Parameter isNew: whether the caller has made it just now, and no log yet.
    /// - Throws: ``StorageError/emptied(path:)``; ``StorageError/fileMissing(path:)`` when it is not there;
    ///   ``StorageError/notAStore(path:reason:)`` when the file is no database or cannot have a
    ///   write-ahead log; what is wrong with its key, where it is encrypted or has to be; what SQLite
    ///   throws.
    package static func open(
        _ path: String,
        for purpose: Purpose,
        acceptsPlain: Bool = false,
        environment: StoreEnvironment,
        busyDeadline: Deadline,
        isNew: Bool = false
    ) throws(StorageError) -> Connection {
        if isNew {
            let connection = try connect(
                path,
                purpose,
                environment,
                busyDeadline,
                acceptsPlain: acceptsPlain,
                isNew: true
            )
            try reading(path) { () throws(SQLiteError) in try configure(connection) }
            try requireLog(connection, path: path, setting: purpose != .reading)
            return connection
        }
        return try notingMissingLog(of: path) { () throws(StorageError) in
            let connection = try connect(
                path,
                purpose,
                environment,
                busyDeadline,
                acceptsPlain: acceptsPlain
            )
            try reading(path) { () throws(SQLiteError) in try configure(connection) }
            try requireLog(connection, path: path, setting: purpose != .reading)
            return connection
        }
    }

    /// Makes a new store: the file, its log, the schema, the fence, all of it durable before this
    /// returns. The caller holds the lock that keeps everybody else out, and publishes the file's
    /// name afterwards.
    ///
    /// - Parameters:
    ///   - key: what it is encrypted with; `nil` for a plain one.
    ///   - fence: the row that the store begins with.
    ///   - migrations: the steps above this room's own, which come first.
    /// - Throws: ``StorageError/fileExists(path:)`` when something has the name; what the kernel
    ///   and SQLite throw. A file that is left then is never opened: nobody knows its name.
    package static func create(
        _ path: String,
        key: StoreKey? = nil,
        fence: Fence,
        migrations: [Migration],
        environment: StoreEnvironment,
        busyDeadline: Deadline
    ) throws(StorageError) {
        try reserve(path)
        let connection = try connect(
            path,
            .maintaining,
            environment,
            busyDeadline,
            newKey: key,
            isNew: true
        )
        try sqlite { () throws(SQLiteError) in
            try connection.execute("PRAGMA page_size = 4096")
            try configure(connection)
        }
        try requireLog(connection, path: path, setting: true)
        // Whatever is written into the database file itself while it becomes a store is synced.
        try sqlite { () throws(SQLiteError) in try connection.execute("PRAGMA synchronous = FULL") }
        try Migrator(Migration.store + migrations)
            .apply(to: connection, at: environment.wallClock.milliseconds())
        do throws(SQLiteError) {
            try connection.begin(.immediate)
            try fence.insert(into: connection)
            try connection.commit()
            try connection.syncLog()
            try connection.close()
        } catch {
            connection.rollBack()
            throw .sqlite(error)
        }
        try system { () throws(SystemCallError) in
            try FileSystem.syncDirectory(FileSystem.directory(of: path))
        }
    }

    /// Opens a store so that no other connection of any program, foreign ones included, can have it
    /// open until this one is closed: SQLite's own proof that one is alone (5.5).
    ///
    /// - Parameter acceptsPlain: whether a plain file is taken though files have to be encrypted.
    /// - Throws: ``StorageError/sqlite(_:)``, busy when the deadline passed and somebody still has it
    ///   open; as ``open(_:for:environment:busyDeadline:)``.
    package static func openExclusively(
        _ path: String,
        acceptsPlain: Bool = false,
        environment: StoreEnvironment,
        busyDeadline: Deadline
    ) throws(StorageError) -> Connection {
        try notingMissingLog(of: path) { () throws(StorageError) in
            let connection = try connect(
                path,
                .maintaining,
                environment,
                busyDeadline,
                acceptsPlain: acceptsPlain
            )
            // Before the first reading, which some pragmas of the configuration are: then SQLite takes
            // the lock of the whole file, and keeps the log's index in its own memory.
            try reading(path) { () throws(SQLiteError) in
                try connection.enable(.noCheckpointOnClose)
                try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                try configure(connection)
            }
            try requireLog(connection, path: path, setting: false)
            _ = try Fence.read(from: connection, path: path)
            return connection
        }
    }

    /// Opens a store, after it was written down that its log is missing, where it is. Where none was made
    /// then, because the store could not be opened or is in another mode, there is nothing to remember.
    private static func notingMissingLog(
        of path: String,
        _ open: () throws(StorageError) -> Connection
    ) throws(StorageError) -> Connection {
        let files = StoreFiles(path)
        let isNoted = try files.noteMissingLog()
        do throws(StorageError) {
            return try open()
        } catch {
            if isNoted {
                try system { () throws(SystemCallError) in
                    if try FileSystem.status(files.log) == nil { _ = try files.forgetMissingLog() }
                }
            }
            throw error
        }
    }

    /// Makes a new store of what a connection reads, under another name for life and a generation of
    /// its own, all of it durable before this returns. The caller is alone with both, and publishes
    /// the file's name afterwards.
    ///
    /// - Parameter key: what the new one is encrypted with; `nil` for a plain one.
    /// - Throws: as ``create(_:key:fence:migrations:environment:busyDeadline:)``. A file that is left then
    ///   is never opened: nobody knows its name.
    package static func create(
        _ path: String,
        copying source: Connection,
        key: StoreKey?,
        as store: StoreIdentity,
        at generation: Generation,
        _ state: AccountState,
        environment: StoreEnvironment,
        busyDeadline: Deadline
    ) throws(StorageError) {
        try reserve(path)
        // Its own rollback journal makes the copy durable: SQLite syncs the file and its folder.
        if (source.keyName == nil) == (key == nil) {
            let copy = try connect(
                path,
                .maintaining,
                environment,
                busyDeadline,
                newKey: key,
                isNew: true
            )
            try sqlite { () throws(SQLiteError) in
                try copy.execute("PRAGMA synchronous = EXTRA")
                try source.copy(into: copy)
                try copy.close()
            }
        } else {
            try export(source, to: path, key, environment, busyDeadline)
            environment.keys.add(key.map { [$0] } ?? [])
        }
        let connection = try open(
            path,
            for: .maintaining,
            acceptsPlain: key == nil,
            environment: environment,
            busyDeadline: busyDeadline,
            isNew: true
        )
        try Fence.renew(connection, path: path, as: store, at: generation, state)
        try sqlite { () throws(SQLiteError) in
            try connection.syncLog()
            try connection.close()
        }
        try system { () throws(SystemCallError) in
            try FileSystem.syncDirectory(FileSystem.directory(of: path))
        }
    }

    /// Copies rows where pages cannot be copied: from a plain file into an encrypted one, or back.
    private static func export(
        _ source: Connection,
        to path: String,
        _ key: StoreKey?,
        _ environment: StoreEnvironment,
        _ busyDeadline: Deadline
    ) throws(StorageError) {
        // Nothing is attached within a transaction. A source in one is a backup, which nobody writes.
        if !source.isInAutocommit { source.rollBack() }
        guard source.isReadOnly else {
            try specification(of: key) { (text) throws(SQLiteError) in
                try source.export(to: path, key: text)
            }
            return
        }
        let copy = try connect(
            path,
            .maintaining,
            environment,
            busyDeadline,
            newKey: key,
            isNew: true
        )
        try specification(of: environment.keys.key(of: source)) { (text) throws(SQLiteError) in
            try copy.fill(from: source.path, key: text)
            try copy.close()
        }
    }

    private static func specification(
        of key: StoreKey?,
        _ body: (UnsafeRawBufferPointer) throws(SQLiteError) -> Void
    ) throws(StorageError) {
        try sqlite { () throws(SQLiteError) in
            guard let key else {
                try body(UnsafeRawBufferPointer(start: nil, count: 0))
                return
            }
            try key.withSpecification(body)
        }
    }

    /// Runs a first statement, in which a file that is no database is noticed.
    static func reading<Result>(
        _ path: String,
        _ body: () throws(SQLiteError) -> Result
    ) throws(StorageError) -> Result {
        do {
            return try body()
        } catch {
            if ResultCode.notADatabase ~= error.code {
                throw .notAStore(path: path, reason: "it is no database")
            }
            throw named(error, path)
        }
    }

    /// SQLite's error; where the kernel refused to open one of a store's files, with that file's name.
    private static func named(_ error: SQLiteError, _ path: String) -> StorageError {
        guard .cannotOpen ~= error.code, error.systemError != 0 else { return .sqlite(error) }
        let refused = StoreFiles(path).open.first { file in
            guard let status = try? FileSystem.status(file) else { return false }
            let isOwn = status.userID == Environment.userID
            let needed: UInt32 = isOwn ? 0o600 : 0o006
            return status.mode & needed != needed
        }
        let errno = Errno(rawValue: error.systemError)
        return .system(SystemCallError(call: .open, errno: errno, path: refused ?? path))
    }

    /// Takes a file's name, which only one process can do, with the permissions that SQLite then
    /// gives to the log and its index as well.
    static func reserve(_ path: String) throws(StorageError) {
        do throws(SystemCallError) {
            _ = try FileDescriptor(opening: path, [.readWrite, .create, .exclusive, .noFollow])
        } catch {
            if error.errno == .fileExists { throw .fileExists(path: path) }
            throw .system(error)
        }
    }

    /// Opens a file with SQLite.
    ///
    /// - Parameter isNew: whether it is a file that the caller has made just now, without bytes and
    ///   without a log.
    /// - Throws: as ``open(_:for:environment:busyDeadline:)``, and ``StorageError/emptied(path:)``.
    static func connect(
        _ path: String,
        _ purpose: Purpose,
        _ environment: StoreEnvironment,
        _ busyDeadline: Deadline,
        newKey: StoreKey? = nil,
        acceptsPlain: Bool = false,
        isNew: Bool = false
    ) throws(StorageError) -> Connection {
        try FileWatch.checkIndex(of: path)
        if !isNew { try StoreFiles(path).requireBytes() }
        let connection = try openFile(path, purpose, environment, busyDeadline)
        try environment.keys.unlock(
            connection,
            at: path,
            newKey: newKey,
            acceptsPlain: acceptsPlain
        )
        return connection
    }

    private static func openFile(
        _ path: String,
        _ purpose: Purpose,
        _ environment: StoreEnvironment,
        _ busyDeadline: Deadline
    ) throws(StorageError) -> Connection {
        let tracker = WriteTracker { isLeftOut($0, environment) }
        do throws(SQLiteError) {
            return try Connection(
                path: path,
                mode: purpose == .reading ? .readOnly : .readWrite,
                vfs: environment.vfs,
                clock: environment.clock,
                busyDeadline: busyDeadline,
                jitterSeed: environment.jitterSeed,
                tracker: purpose == .writing ? tracker : nil
            )
        } catch {
            // SQLite says the same of a file that is not there and of one that may not be opened.
            if ResultCode.cannotOpen ~= error.code,
                try system({ () throws(SystemCallError) in try FileSystem.status(path) }) == nil
            {
                throw .fileMissing(path: path)
            }
            throw named(error, path)
        }
    }

    /// Whether commits say nothing of a table.
    static func isLeftOut(_ name: String, _ environment: StoreEnvironment) -> Bool {
        ownTables.contains(name) || environment.isBookkeeping(name)
    }

    private static let ownTables: Set<String> = [
        "lk_fence", "lk_commit", "lk_migration", "lk_owned", "lk_inbox_applied",
        "lk_inbox_packet",
    ]

    private static func configure(_ connection: Connection) throws(SQLiteError) {
        // Before the first statement: a connection that fails on its way must not checkpoint either.
        try connection.enable(.noCheckpointOnClose)
        try connection.keepLog()
        try connection.enable(.foreignKeys)
        try connection.enable(.distrustSchema)
        try connection.execute(
            """
            PRAGMA mmap_size = 0; PRAGMA synchronous = NORMAL; PRAGMA cell_size_check = ON;
            PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY
            """
        )
    }

    /// SQLite answers with the mode that it is in, whether it took ours or not. A store that another
    /// program has put into another mode has no log, and has lost none.
    private static func requireLog(
        _ connection: Connection,
        path: String,
        setting: Bool
    ) throws(StorageError) {
        let found = try reading(path) { () throws(SQLiteError) in
            try connection.value("PRAGMA journal_mode")
        }
        if found != "wal" {
            try system { () throws(SystemCallError) in
                _ = try StoreFiles(path).forgetMissingLog()
            }
        }
        let mode = try reading(path) { () throws(SQLiteError) in
            try connection.value(setting ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode")
        }
        guard mode == "wal" else {
            throw .logModeChanged(path: path, mode: mode?.text ?? "unknown")
        }
    }
}
