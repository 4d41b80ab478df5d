import LockkeeperDomain
import LockkeeperPlatform
package import LockkeeperSQLite

/// A set of damaged files, moved aside, from which what can be read is copied.
///
/// The set itself is never changed. Where SQLite does not read all of it as it is, a copy is made beside
/// it, which is removed at the end: of the database's whole pages with those of the log put in, so that
/// the copy has no log.
///
/// | what is damaged | what the copy has |
/// |---|---|
/// | the database has no bytes, or was cut within a page | the whole pages, and those of the log; SQLite would take what is missing of a page for zeros, and a text with zeros in it for one that was kept |
/// | the log, with commits behind that place | what can be read behind it as well (``LogFrames``) |
/// | the log is missing | nothing else; SQLite would make one |
/// | the header | one that says what each of our files says: pages of 4096 bytes, UTF-8 |
/// | the first page, or another one of the schema | the schema, written anew (``SchemaRows``): the lines on sound pages, and for others those of the newest backup; where there is none, those of an empty store of this program's schema |
///
/// The size that the header would say is left out, so that SQLite goes by the file's.
///
/// Of an encrypted file nothing but SQLite reads a page. The first 16 bytes say its key and can be written
/// anew; where the rest of the first page is gone, no table is found.
package struct DamagedStore {
    /// The connection that reads it, whatever of it can be read.
    package let connection: Connection
    /// Where its structure came from.
    package let structure: SalvageReport.Structure
    /// Whether commits stood behind a damaged place of the log.
    let isLogDamaged: Bool
    /// The database file that is read: of the set, or of the copy of it.
    let path: String
    private let isCopy: Bool

    private static let pageByteCount = RawPages.byteCount

    /// Stores whose schema may stand for one that is gone.
    package struct Schemas {
        let backups: [String]
        let makeFresh: (_ path: String) throws -> Void

        /// - Parameters:
        ///   - backups: paths of backups of the same database, the newest first.
        ///   - makeFresh: makes an empty store at a path, all of it in its database file.
        package init(backups: [String], makeFresh: @escaping (_ path: String) throws -> Void) {
            self.backups = backups
            self.makeFresh = makeFresh
        }
    }

    /// Whether a copy of a set is made to read it, as far as that can be told before anything is read.
    ///
    /// - Throws: what the kernel throws.
    package static func takesCopy(_ path: String) throws -> Bool {
        let size = try FileSystem.status(path)?.size ?? 0
        return try size == 0 || !Int(size).isMultiple(of: pageByteCount)
            || FileSystem.status(StoreFiles(path).log) == nil
    }

    /// Opens a set.
    ///
    /// - Parameter path: its database file.
    /// - Returns: `nil` where not even tables are found by any means.
    /// - Throws: ``StorageError``, ``SystemCallError`` for what is no damage.
    package static func open(
        _ path: String,
        _ schemas: Schemas,
        _ environment: StoreEnvironment
    ) throws -> DamagedStore? {
        let frames = try LogFrames(of: StoreFiles(path).log)
        if try frames.newestCommitBehind == nil && !takesCopy(path),
            let connection = try read(path, environment)
        {
            return DamagedStore(
                connection: connection,
                structure: .own,
                isLogDamaged: false,
                path: path,
                isCopy: false
            )
        }
        let copy = path + ".work"
        try StoreFiles(copy).remove()
        try makeCopy(of: path, at: copy, frames.offsets)
        let isLogDamaged = try addLost(frames, of: path, to: copy, environment)
        let found = { (connection: Connection, structure: SalvageReport.Structure) in
            DamagedStore(
                connection: connection,
                structure: structure,
                isLogDamaged: isLogDamaged,
                path: copy,
                isCopy: true
            )
        }
        guard try FileSystem.status(copy)?.size ?? 0 > 0 else {
            try StoreFiles(copy).remove()
            return nil
        }
        if let connection = try read(copy, environment) { return found(connection, .own) }
        if environment.keys.isRequired {
            return try readWithHead(copy, of: path, environment).map { found($0, .header) }
        }
        let own = try FileSystem.contents(of: copy, limit: pageByteCount)
        // The kinds of a page with tables: 5 above others, 13 with rows.
        if [5, 13].contains(own[100]) {
            try writeFirstPage(header + own[100...], to: copy)
            if let connection = try read(copy, environment) { return found(connection, .header) }
        }
        let size = try FileSystem.status(copy)?.size ?? 0
        for (structure, source) in try sources(path, schemas) {
            try FileDescriptor(opening: copy, [.readWrite]).truncate(to: size)
            guard let others = try? schemaRows(of: source, environment),
                let isOwn = try writeSchema(of: others, to: copy, environment),
                let connection = try read(copy, environment)
            else { continue }
            if isOwn || isOfThisFile(connection) {
                try StoreFiles(path + ".fresh").remove()
                return found(connection, structure)
            }
            try connection.close()
        }
        try StoreFiles(path + ".fresh").remove()
        try StoreFiles(copy).remove()
        return nil
    }

    /// Closes the connection and removes the copy.
    package func close() throws {
        try connection.close()
        if isCopy { try StoreFiles(path).remove() }
    }

    // MARK: - Opening

    /// Opens a file so that what is damaged is met where it is, and not at the door; `nil` where no
    /// table of ours is found in it, or not all of its schema can be read.
    private static func read(
        _ path: String,
        _ environment: StoreEnvironment
    ) throws -> Connection? {
        guard let connection = try connect(path, .reading, environment) else { return nil }
        do throws(SQLiteError) {
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

    /// The same of a copy of an encrypted file, with the first bytes that one of the account's keys gives;
    /// the copy is removed where none does.
    private static func readWithHead(
        _ copy: String,
        of path: String,
        _ environment: StoreEnvironment
    ) throws -> Connection? {
        for head in try environment.keys.heads(ofFile: path) {
            try writeFirstPage(head, to: copy)
            if let connection = try read(copy, environment) { return connection }
        }
        try StoreFiles(copy).remove()
        return nil
    }

    private static func connect(
        _ path: String,
        _ purpose: StoreFile.Purpose,
        _ environment: StoreEnvironment
    ) throws -> Connection? {
        let deadline = Deadline(after: .seconds(5), from: environment.clock.now())
        let connection: Connection
        do throws(StorageError) {
            connection = try StoreFile.connect(path, purpose, environment, deadline)
        } catch {
            if error.isLoss { return nil }
            throw error
        }
        do throws(SQLiteError) {
            try connection.enable(.noCheckpointOnClose)
            try connection.keepLog()
            try connection.enable(.distrustSchema)
            // With the schema writable SQLite opens a file that is shorter than it says, and goes on
            // where a line of the schema makes no sense.
            try connection.execute(
                """
                PRAGMA writable_schema = ON; PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON;
                PRAGMA temp_store = MEMORY
                """
            )
            return connection
        } catch {
            try? connection.close()
            guard error.isOfUnreadablePage || .error ~= error.code else { throw error }
            return nil
        }
    }

    /// Whether what a schema from elsewhere says leads to rows of ours: whose file it is, what its schema
    /// was made of, or what was committed.
    private static func isOfThisFile(_ connection: Connection) -> Bool {
        if (try? Fence.read(from: connection, path: "")) != nil { return true }
        return [
            "SELECT 1 FROM lk_migration WHERE owner = 'lockkeeper' AND length(checksum) = 32 LIMIT 1",
            """
            SELECT 1 FROM (SELECT * FROM lk_commit ORDER BY number DESC LIMIT 1)
            WHERE typeof(generation) = 'integer' AND typeof(origin) = 'text'
                AND typeof(committed_at) = 'integer' AND typeof(tables) = 'text'
            """,
        ].contains { (try? connection.value($0)) != nil }
    }

    // MARK: - The schema

    /// The stores whose schema may be taken, one after the other.
    private static func sources(
        _ path: String,
        _ schemas: Schemas
    ) throws -> [(SalvageReport.Structure, String)] {
        let fresh = path + ".fresh"
        try StoreFiles(fresh).remove()
        try schemas.makeFresh(fresh)
        return schemas.backups.map { (.backup, $0) } + [(.fresh, fresh)]
    }

    private static func schemaRows(
        of path: String,
        _ environment: StoreEnvironment
    ) throws -> SchemaRows {
        let (connection, _) = try BackupFile.open(path, environment)
        defer { try? connection.close() }
        return try SchemaRows(of: connection)
    }

    /// Writes the schema of a copy anew.
    ///
    /// - Returns: whether lines of its own were found; `nil` where it cannot be written.
    private static func writeSchema(
        of others: SchemaRows,
        to copy: String,
        _ environment: StoreEnvironment
    ) throws -> Bool? {
        // A leaf without rows, whose content begins behind its end.
        let leaf: [UInt8] = [13, 0, 0, 0, 0, UInt8(pageByteCount >> 8), 0, 0]
        let rest = pageByteCount - header.count - leaf.count
        try writeFirstPage(header + leaf + [UInt8](repeating: 0, count: rest), to: copy)
        guard let reader = try connect(copy, .reading, environment) else { return nil }
        var rows = try SchemaRows(foundIn: copy, reader)
        try reader.close()
        let isOwn = !rows.isEmpty
        try rows.add(others, fitting: copy)
        guard let writer = try connect(copy, .maintaining, environment) else { return nil }
        defer { try? writer.close() }
        do throws(SQLiteError) {
            try rows.write(into: writer)
            return isOwn
        } catch {
            guard error.isOfUnreadablePage || .constraint ~= error.code else { throw error }
            return nil
        }
    }

    /// The header that our files have, of one that has no log (sqlite.org/fileformat2.html, section 1.3).
    private static let header: [UInt8] = {
        var header = Array("SQLite format 3".utf8) + [0]
        // Pages of 4096 bytes, no log to write or to read, nothing reserved, the fixed fractions.
        header += [0x10, 0, 1, 1, 0, 64, 32, 32]
        // Changes, and how many pages there are: 0 stands for the file's size. No free pages.
        header += [0, 0, 0, 1] + [UInt8](repeating: 0, count: 12)
        // The schema's cookie and format, the cache, no vacuum, UTF-8.
        header += [0, 0, 0, 1, 0, 0, 0, 4] + [UInt8](repeating: 0, count: 8) + [0, 0, 0, 1]
        return header + [UInt8](repeating: 0, count: 100 - header.count)
    }()

    // MARK: - The copy

    /// Copies the whole pages of a database, with those of its log put in.
    private static func makeCopy(
        of path: String,
        at copy: String,
        _ pages: [Int: Int64]
    ) throws {
        let target = try FileDescriptor(
            opening: copy,
            [.readWrite, .create, .exclusive, .noFollow]
        )
        if let size = try FileSystem.status(path)?.size {
            let source = try FileDescriptor(opening: path)
            while case let bytes = try source.readToEnd(limit: 1 << 20), !bytes.isEmpty {
                try target.write(bytes)
            }
            try target.truncate(to: size / Int64(pageByteCount) * Int64(pageByteCount))
        }
        try put(pages, of: path, into: copy)
    }

    /// Puts pages of a log into a copy.
    private static func put(_ pages: [Int: Int64], of path: String, into copy: String) throws {
        let target = try FileDescriptor(opening: copy, [.readWrite])
        if !pages.isEmpty {
            let log = try FileDescriptor(opening: StoreFiles(path).log)
            for (number, offset) in pages {
                let page = try log.bytes(at: offset, count: pageByteCount)
                try target.write(page, at: Int64(number - 1) * Int64(pageByteCount))
            }
        }
        let first = try target.bytes(at: 0, count: header.count)
        guard first.starts(with: header[..<16]) else { return }
        // No log to write or to read, and the file's size.
        try target.write([1, 1], at: 18)
        try target.write([0, 0, 0, 0], at: 28)
    }

    /// Puts in what stands behind a damaged place of the log, where it is newer than what stands before.
    ///
    /// - Returns: whether it was.
    private static func addLost(
        _ frames: LogFrames,
        of path: String,
        to copy: String,
        _ environment: StoreEnvironment
    ) throws -> Bool {
        guard let lost = frames.newestCommitBehind else { return false }
        if try FileSystem.status(copy)?.size ?? 0 > 0,
            let connection = try read(copy, environment)
        {
            defer { try? connection.close() }
            let newest = (try? connection.value("SELECT max(number) FROM lk_commit"))??.integer
            if let newest, newest >= lost { return false }
        }
        try put(frames.offsetsBehind, of: path, into: copy)
        return true
    }

    private static func writeFirstPage(_ page: [UInt8], to copy: String) throws {
        let file = try FileDescriptor(opening: copy, [.readWrite])
        try file.write(page, at: 0)
    }
}
