package import LockkeeperPlatform

/// The files that one store consists of, by their names.
///
/// | file | what it is |
/// |---|---|
/// | `<name>.db` | the database |
/// | `-wal` | its log: what was committed and is not in the database yet |
/// | `-shm` | the index of the log, made anew from it by whoever opens the store first |
/// | `-journal` | a rollback journal; only another program makes one |
/// | `-log-lost` | says that the log was missing once; empty |
///
/// SQLite takes a database without bytes for one that is empty, and removes the log beside it. It makes
/// a new log where there is none, and nobody can tell afterwards that there was another. So these two
/// are looked for before SQLite opens anything (``requireBytes()``, ``noteMissingLog()``).
package struct StoreFiles: Sendable, Hashable {
    /// The database file.
    package let database: String

    /// The files of the store whose database stands at a path.
    package init(_ database: String) { self.database = database }

    /// The log.
    package var log: String { database + "-wal" }
    /// The log's index.
    package var index: String { database + "-shm" }
    /// The mark that the log was missing once.
    package var lostLogMark: String { database + Self.lostLogSuffix }

    /// All of them, the database first: a log without one is no store, and nobody makes one of it.
    package var all: [String] { Self.suffixes.map { database + $0 } }

    /// Those that whoever uses a store has open.
    package var open: [String] { [database, log, index] }

    /// How many bytes the log has; 0 where there is none.
    ///
    /// - Throws: what the kernel throws.
    package func logByteCount() throws(SystemCallError) -> Int64 {
        try FileSystem.status(log)?.size ?? 0
    }

    /// Whether a log is missing, or was once and nobody has said since that nothing was lost: the
    /// database is there.
    ///
    /// - Throws: what the kernel throws.
    package func hasLostLog() throws(SystemCallError) -> Bool {
        guard let size = try FileSystem.status(database)?.size, size > 0 else { return false }
        guard try FileSystem.status(log) != nil else { return true }
        return try FileSystem.status(lostLogMark) != nil
    }

    /// Forgets that the log was missing once, durably.
    ///
    /// - Returns: whether that was noted.
    /// - Throws: what the kernel throws.
    package func forgetMissingLog() throws(SystemCallError) -> Bool {
        guard try FileSystem.remove(lostLogMark) else { return false }
        try FileSystem.syncDirectory(FileSystem.directory(of: lostLogMark))
        return true
    }

    /// Removes all of them.
    ///
    /// - Throws: what the kernel throws.
    package func remove() throws(SystemCallError) {
        for path in all { try FileSystem.remove(path) }
    }

    /// Moves all that are there into another folder, under their names. Syncing the folders is the
    /// caller's.
    ///
    /// - Throws: what the kernel throws.
    package func move(to folder: String) throws(SystemCallError) {
        let start = FileSystem.directory(of: database).count
        for path in all where try FileSystem.status(path) != nil {
            try FileSystem.rename(path, to: folder + path.dropFirst(start))
        }
    }

    // MARK: - Before SQLite opens a store

    /// Makes sure that SQLite does not take the database for an empty one.
    ///
    /// - Throws: ``StorageError/emptied(path:)``; what the kernel throws.
    func requireBytes() throws(StorageError) {
        let size = try system { () throws(SystemCallError) in try FileSystem.status(database)?.size
        }
        if size == 0 { throw .emptied(path: database) }
    }

    /// Writes down that the log is missing, durably, before SQLite makes another one.
    ///
    /// - Returns: whether that was done now.
    /// - Throws: what the kernel throws: where it cannot be written down, nobody may open the store.
    func noteMissingLog() throws(StorageError) -> Bool {
        try system { () throws(SystemCallError) in
            guard try FileSystem.status(log) == nil, try FileSystem.status(database)?.size ?? 0 > 0,
                try FileSystem.status(lostLogMark) == nil
            else { return false }
            do throws(SystemCallError) {
                _ = try FileDescriptor(
                    opening: lostLogMark,
                    [.readWrite, .create, .exclusive, .noFollow]
                )
            } catch {
                if error.errno != .fileExists { throw error }
            }
            try FileSystem.syncDirectory(FileSystem.directory(of: lostLogMark))
            return true
        }
    }

    private static let lostLogSuffix = "-log-lost"
    private static let suffixes = ["", "-wal", "-shm", "-journal", lostLogSuffix]
}
