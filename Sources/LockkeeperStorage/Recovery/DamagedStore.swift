import LockkeeperDomain
import LockkeeperPlatform
package import LockkeeperSQLite

/// A set of damaged files, moved aside, from which what can be read is copied.
///
/// The set itself is never changed. Where its first page, or the 100 bytes of the header on it, must be
/// written anew before SQLite reads the rest, that is done in a copy beside it, which is removed at the
/// end. So is a file that was cut within a page: the copy ends before that page, because SQLite would
/// take what is missing of it for zeros, and a text with zeros in it for one that was kept.
///
/// | what is gone | what is taken |
/// |---|---|
/// | the header | one that says what each of our files says: pages of 4096 bytes, a log, UTF-8 |
/// | the first page | that of the newest backup; where there is none, that of an empty store of this program's schema: tables are made in the same order in each store, so that their roots stand at the same pages |
///
/// The size that the header would say is left out, so that SQLite goes by the file's.
package struct DamagedStore {
    /// The connection that reads it, whatever of it can be read.
    package let connection: Connection
    /// Where its structure came from.
    package let structure: SalvageReport.Structure
    /// The database file that is read: of the set, or of the copy of it.
    let path: String
    private let isCopy: Bool

    private static let pageByteCount = 4096

    /// First pages that may stand for one that is gone.
    package struct FirstPages {
        let backups: [String]
        let makeFresh: (_ path: String) throws -> Void

        /// - Parameters:
        ///   - backups: paths of backups of the same database, the newest first.
        ///   - makeFresh: makes an empty store at a path.
        package init(backups: [String], makeFresh: @escaping (_ path: String) throws -> Void) {
            self.backups = backups
            self.makeFresh = makeFresh
        }
    }

    /// Opens a set.
    ///
    /// - Parameter path: its database file.
    /// - Returns: `nil` where not even tables are found by any means.
    /// - Throws: ``StorageError``, ``SystemCallError`` for what is no damage.
    package static func open(
        _ path: String,
        _ firstPages: FirstPages,
        _ environment: StoreEnvironment
    ) throws -> DamagedStore? {
        let isCut = try isCutWithinPage(path)
        if !isCut, let connection = try read(path, environment) {
            return DamagedStore(
                connection: connection,
                structure: .own,
                path: path,
                isCopy: false
            )
        }
        let copy = path + ".work"
        try remove(copy)
        guard try copyFiles(of: path, to: copy) >= pageByteCount else {
            try remove(copy)
            return nil
        }
        if isCut, let connection = try read(copy, environment) {
            return DamagedStore(connection: connection, structure: .own, path: copy, isCopy: true)
        }
        for (structure, page) in try candidates(path, firstPages) {
            do {
                let file = try FileDescriptor(opening: copy, [.readWrite])
                try file.write(page, at: 0)
            }
            // The index of the log was made for another first page.
            try FileSystem.remove(copy + "-shm")
            guard let connection = try read(copy, environment) else { continue }
            if structure == .header || isOfThisFile(connection) {
                return DamagedStore(
                    connection: connection,
                    structure: structure,
                    path: copy,
                    isCopy: true
                )
            }
            try connection.close()
        }
        try remove(copy)
        return nil
    }

    /// Closes the connection and removes the copy.
    package func close() throws {
        try connection.close()
        if isCopy { try Self.remove(path) }
    }

    // MARK: - Opening

    /// Opens a file so that what is damaged is met where it is, and not at the door; `nil` where no
    /// table of ours is found in it.
    private static func read(
        _ path: String,
        _ environment: StoreEnvironment
    ) throws -> Connection? {
        let connection: Connection
        do throws(StorageError) {
            connection = try StoreFile.connect(
                path,
                .reading,
                environment,
                Deadline(after: .seconds(5), from: environment.clock.now())
            )
        } catch {
            if error.isLoss { return nil }
            throw error
        }
        do throws(SQLiteError) {
            try connection.enable(.noCheckpointOnClose)
            try connection.keepLog()
            try connection.enable(.distrustSchema)
            // With the schema writable SQLite opens a file that is shorter than it says, and goes on
            // where a line of the schema makes no sense. The connection writes nothing.
            try connection.execute(
                """
                PRAGMA writable_schema = ON; PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON;
                PRAGMA temp_store = MEMORY
                """
            )
            let tables = try connection.value(
                """
                SELECT count(*) FROM sqlite_schema
                WHERE type = 'table' AND name IN ('lk_fence', 'lk_commit', 'lk_migration')
                """
            )
            if let tables, tables != 0 { return connection }
        } catch {
            try? connection.close()
            guard error.isOfUnreadablePage || .error ~= error.code else { throw error }
            return nil
        }
        try connection.close()
        return nil
    }

    /// Whether what a first page from elsewhere says leads to rows of ours: whose file it is, or what
    /// its schema was made of.
    private static func isOfThisFile(_ connection: Connection) -> Bool {
        if (try? Fence.read(from: connection, path: "")) != nil { return true }
        let steps = try? connection.value(
            """
            SELECT count(*) FROM lk_migration WHERE owner = 'lockkeeper' AND length(checksum) = 32
            """
        )
        return (steps?.integer ?? 0) > 0
    }

    // MARK: - First pages

    private static func candidates(
        _ path: String,
        _ firstPages: FirstPages
    ) throws -> [(SalvageReport.Structure, [UInt8])] {
        var candidates: [(SalvageReport.Structure, [UInt8])] = []
        let own = try FileSystem.contents(of: path, limit: pageByteCount)
        // The kinds of a page with tables: 5 above others, 13 with rows.
        if own.count == pageByteCount, [5, 13].contains(own[100]) {
            candidates.append((.header, withHeader(own)))
        }
        for backup in firstPages.backups {
            guard let page = try? FileSystem.contents(of: backup, limit: pageByteCount),
                page.count == pageByteCount
            else { continue }
            candidates.append((.backup, withHeader(page)))
        }
        let fresh = path + ".fresh"
        try remove(fresh)
        try firstPages.makeFresh(fresh)
        candidates.append(
            (.fresh, withHeader(try FileSystem.contents(of: fresh, limit: pageByteCount)))
        )
        try remove(fresh)
        return candidates
    }

    /// A first page with the header that our files have (sqlite.org/fileformat2.html, section 1.3).
    private static func withHeader(_ page: [UInt8]) -> [UInt8] {
        var header = Array("SQLite format 3".utf8) + [0]
        // Pages of 4096 bytes, a log to write and to read, nothing reserved, the fixed fractions.
        header += [0x10, 0, 2, 2, 0, 64, 32, 32]
        // Changes, and how many pages there are: 0 stands for the file's size. No free pages.
        header += [0, 0, 0, 1] + [UInt8](repeating: 0, count: 12)
        // The schema's cookie and format, the cache, no vacuum, UTF-8.
        header += [0, 0, 0, 1, 0, 0, 0, 4] + [UInt8](repeating: 0, count: 8) + [0, 0, 0, 1]
        header += [UInt8](repeating: 0, count: 100 - header.count)
        return header + page[100...]
    }

    // MARK: - The copy

    private static func isCutWithinPage(_ path: String) throws -> Bool {
        guard let status = try FileSystem.status(path) else { return false }
        return !Int(status.size).isMultiple(of: pageByteCount)
    }

    /// Copies the database, as far as it has whole pages, and its log.
    ///
    /// - Returns: the size of the copied database.
    private static func copyFiles(of path: String, to copy: String) throws -> Int {
        var size = 0
        for suffix in ["", "-wal"] {
            guard let status = try FileSystem.status(path + suffix) else { continue }
            let source = try FileDescriptor(opening: path + suffix)
            let target = try FileDescriptor(
                opening: copy + suffix,
                [.readWrite, .create, .exclusive, .noFollow]
            )
            while case let bytes = try source.readToEnd(limit: 1 << 20), !bytes.isEmpty {
                try target.write(bytes)
            }
            if suffix.isEmpty {
                size = Int(status.size) / pageByteCount * pageByteCount
                try target.truncate(to: Int64(size))
            }
        }
        return size
    }

    private static func remove(_ path: String) throws {
        for suffix in ["", "-wal", "-shm"] { try FileSystem.remove(path + suffix) }
    }
}
