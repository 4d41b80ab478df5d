package import LockkeeperDomain
import LockkeeperPlatform
package import LockkeeperSQLite

/// A backup: a store's content up to one commit, in one file that stands for itself.
///
/// It is encrypted with the key of the store where that is. It is no store: it has no log beside it and
/// nobody opens it to write. Its fence still says whose
/// it is and under which generation it was made.
///
/// ```
/// (none) ──copy──▶ <name>.<pid>-<n>.lockkeeper-tmp ──inspect──▶ sync ──rename──▶ <name>
/// ```
package enum BackupFile {
    /// What a backup holds.
    package struct Contents: Sendable, Hashable {
        /// The fence of the store of which it is a copy.
        package let fence: Fence
        /// The last commit that is in it.
        package let commit: CommitNumber
    }

    /// How a copy is made.
    package struct Making {
        /// The inspection that it must pass before it is called a backup.
        package let inspection: StoreInspection
        /// The store's environment.
        package let environment: StoreEnvironment
        /// The process that makes it, in the name under which it is made.
        package let pid: Int32
        /// Told how many pages are copied, and of how many; answers whether to go on.
        package let goesOn: (_ done: Int, _ count: Int) -> Bool

        /// A way of its parts.
        package init(
            inspection: StoreInspection,
            environment: StoreEnvironment,
            pid: Int32,
            goesOn: @escaping (_ done: Int, _ count: Int) -> Bool = { _, _ in true }
        ) {
            self.inspection = inspection
            self.environment = environment
            self.pid = pid
            self.goesOn = goesOn
        }
    }

    /// Pages between two looks whether to go on: a megabyte.
    private static let stepPageCount: Int32 = 256

    /// Makes a backup of what a connection reads, in one snapshot, while others write. Durable, and
    /// complete, when the name is there.
    ///
    /// - Parameters:
    ///   - source: a connection that is in no transaction; the caller's alone.
    ///   - sourcePath: its file, for errors.
    ///   - path: says the final name of what it holds; nothing may have it yet.
    /// - Returns: the path, and what is in it.
    /// - Throws: ``StorageError/fileExists(path:)``; ``StorageError/notAStore(path:reason:)`` when
    ///   the copy does not pass the inspection; ``StorageError/cancelled`` where it was not to go
    ///   on; what the kernel and SQLite throw. Nothing is left then.
    package static func make(
        of source: Connection,
        at sourcePath: String,
        as path: (Contents) -> String,
        _ making: Making
    ) throws(StorageError) -> (path: String, contents: Contents) {
        try sqlite { () throws(SQLiteError) in try source.begin(.deferred) }
        defer { source.rollBack() }
        let contents = try contents(of: source, at: sourcePath)
        let path = path(contents)
        guard try system({ () throws(SystemCallError) in try FileSystem.status(path) }) == nil
        else { throw .fileExists(path: path) }
        // What it would find there holds texts, and nobody else takes it away.
        try? removeUnfinished(in: FileSystem.directory(of: path))
        let temporary = try reserve(path, making.pid)
        do throws(StorageError) {
            try copy(source, to: temporary, making)
            try inspect(temporary, level: .quick, making)
            try system { () throws(SystemCallError) in
                try FileSystem.rename(temporary, to: path)
                try FileSystem.syncDirectory(FileSystem.directory(of: path))
            }
        } catch {
            // The first error is the one that matters; a leftover does no harm.
            for suffix in ["", "-journal"] { _ = try? FileSystem.remove(temporary + suffix) }
            // The copy is what its source is, and nobody finds it any more.
            if case .notAStore(temporary, let reason) = error {
                throw .notAStore(path: sourcePath, reason: reason)
            }
            throw error
        }
        return (path, contents)
    }

    /// Opens a backup, or any file that holds a store, for reading.
    ///
    /// - Throws: ``StorageError/fileMissing(path:)``, ``StorageError/notAStore(path:reason:)``; what
    ///   SQLite throws.
    package static func open(
        _ path: String,
        _ environment: StoreEnvironment
    ) throws(StorageError) -> (connection: Connection, contents: Contents) {
        guard try system({ () throws(SystemCallError) in try FileSystem.status(path) }) != nil
        else { throw .fileMissing(path: path) }
        // One without bytes that has a log beside it is a store's file that was copied.
        try StoreFiles(path).requireBytes()
        let connection = try connect(path, .readOnly, environment)
        return (connection, try contents(of: connection, at: path))
    }

    /// Looks whether a backup is what it should be.
    ///
    /// - Throws: ``StorageError/notAStore(path:reason:)``; what SQLite throws.
    private static func inspect(
        _ path: String,
        level: StoreInspection.Level,
        _ making: Making
    ) throws(StorageError) {
        let connection = try connect(path, .readOnly, making.environment)
        defer { try? connection.close() }
        // Steps that are yet to be applied are no fault of a copy that is made before them.
        let findings = try making.inspection.run(on: connection, path: path, level: level)
            .filter { !$0.isPendingMigration }
        if let finding = findings.first {
            throw .notAStore(path: path, reason: finding.explanation)
        }
    }

    private static func copy(
        _ source: Connection,
        to path: String,
        _ making: Making
    ) throws(StorageError) {
        let environment = making.environment
        let key = environment.keys.key(of: source)
        let copy = try connect(path, .readWrite, environment, newKey: key)
        defer { try? copy.close() }
        do throws(SQLiteError) {
            // Alone with it, so that no index of a log is made beside it.
            try copy.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = EXTRA")
            try source.copy(into: copy, stepPageCount: stepPageCount, goesOn: making.goesOn)
            // The copy says that it has a log, as its source; a file that stands for itself has none.
            _ = try copy.value("PRAGMA journal_mode = DELETE")
            try copy.close()
        } catch {
            if .interrupt ~= error.code { throw .cancelled }
            throw .sqlite(error)
        }
    }

    private static func contents(
        of connection: Connection,
        at path: String
    ) throws(StorageError) -> Contents {
        let fence = try Fence.read(from: connection, path: path)
        let newest = try sqlite { () throws(SQLiteError) in
            try connection.value("SELECT max(number) FROM lk_commit")?.integer
        }
        return Contents(fence: fence, commit: newest.map { CommitNumber($0) } ?? fence.floor)
    }

    private static func connect(
        _ path: String,
        _ mode: Connection.Mode,
        _ environment: StoreEnvironment,
        newKey: StoreKey? = nil
    ) throws(StorageError) -> Connection {
        let connection = try sqlite { () throws(SQLiteError) in
            try Connection(
                path: path,
                mode: mode,
                vfs: environment.vfs,
                clock: environment.clock,
                busyDeadline: Deadline(after: .seconds(5), from: environment.clock.now()),
                jitterSeed: environment.jitterSeed
            )
        }
        // What is restored of a plain backup is encrypted where it has to be.
        try environment.keys.unlock(connection, at: path, newKey: newKey, acceptsPlain: true)
        return connection
    }

    /// Removes what processes left behind in a folder that died as they made a backup there.
    ///
    /// - Throws: what the kernel throws.
    package static func removeUnfinished(in folder: String) throws(StorageError) {
        try system { () throws(SystemCallError) in
            for name in try FileSystem.list(folder) {
                guard let pid = maker(of: name), try ProcessIdentity.read(pid: pid) == nil
                else { continue }
                try FileSystem.remove("\(folder)/\(name)")
            }
        }
    }

    /// Who makes a backup that is not finished, by its name or that of the log beside it.
    private static func maker(of name: String) -> Int32? {
        guard let end = name.firstRange(of: BackupName.unfinished)?.lowerBound,
            ["", "-journal"].contains(name[end...].dropFirst(BackupName.unfinished.count)),
            let dot = name[..<end].lastIndex(of: ".")
        else { return nil }
        let parts = name[..<end][name.index(after: dot)...].split(separator: "-")
        return parts.count == 2 ? Int32(parts[0]) : nil
    }

    /// Takes a name beside the final one that nobody has.
    private static func reserve(_ path: String, _ pid: Int32) throws(StorageError) -> String {
        var generator = SystemRandomNumberGenerator()
        while true {
            let number = String(UInt32.random(in: 0...UInt32.max, using: &generator), radix: 36)
            let temporary = "\(path).\(pid)-\(number)\(BackupName.unfinished)"
            do throws(SystemCallError) {
                _ = try FileDescriptor(
                    opening: temporary,
                    [.readWrite, .create, .exclusive, .noFollow]
                )
                return temporary
            } catch {
                if error.errno != .fileExists { throw .system(error) }
            }
        }
    }
}
