import CLockkeeperSQLite

/// A result code of SQLite, primary (`SQLITE_BUSY`) or extended (`SQLITE_BUSY_SNAPSHOT`).
///
/// In a `catch` or `case` pattern a primary code matches all of its extended codes, an extended one
/// only itself: `case .busy` catches a busy snapshot, `case .busySnapshot` no other busy.
package struct ResultCode: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The number that SQLite returned.
    package let rawValue: Int32

    /// Wraps a number that SQLite returned.
    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// An extended code: the primary one and its number within.
    private init(_ primary: Int32, _ number: Int32 = 0) { rawValue = primary | number << 8 }

    /// The code without its extension.
    package var primary: ResultCode { ResultCode(rawValue: rawValue & 0xff) }

    /// SQLite's name for the code, "SQLITE_BUSY_SNAPSHOT"; the primary code's name and the number
    /// for codes that are newer than this list.
    package var description: String {
        if let name = Self.names[self] { return name }
        guard let name = Self.names[primary] else { return "SQLITE_\(rawValue)" }
        return "\(name) (\(rawValue))"
    }

    /// Whether another connection or process was in the way, so that waiting and trying again can
    /// help. `SQLITE_LOCKED` itself is not among them: there a connection is in its own way.
    package var isOfOthers: Bool {
        ResultCode.busy ~= self || self == .lockedSharedCache || .protocolError ~= self
    }

    /// Whether the file ends before a page of it, or the disk says that what it read is not what was
    /// written. A disk that fails otherwise may do better the next time.
    package var isUnreadable: Bool {
        [.ioErrorShortRead, .ioErrorData, .ioErrorCorruptFileSystem].contains(self)
    }

    /// Matches a code against a pattern: a primary pattern stands for all of its extended codes.
    package static func ~= (pattern: ResultCode, code: ResultCode) -> Bool {
        pattern == code || pattern == code.primary
    }

    package static let ok = ResultCode(SQLITE_OK)
    package static let error = ResultCode(SQLITE_ERROR)
    package static let abort = ResultCode(SQLITE_ABORT)
    package static let busy = ResultCode(SQLITE_BUSY)
    package static let busyRecovery = ResultCode(SQLITE_BUSY, 1)
    package static let busySnapshot = ResultCode(SQLITE_BUSY, 2)
    package static let busyTimeout = ResultCode(SQLITE_BUSY, 3)
    package static let locked = ResultCode(SQLITE_LOCKED)
    package static let lockedSharedCache = ResultCode(SQLITE_LOCKED, 1)
    package static let outOfMemory = ResultCode(SQLITE_NOMEM)
    package static let readOnly = ResultCode(SQLITE_READONLY)
    package static let interrupt = ResultCode(SQLITE_INTERRUPT)
    package static let ioError = ResultCode(SQLITE_IOERR)
    package static let ioErrorShortRead = ResultCode(SQLITE_IOERR, 2)
    package static let ioErrorData = ResultCode(SQLITE_IOERR, 32)
    package static let ioErrorCorruptFileSystem = ResultCode(SQLITE_IOERR, 33)
    package static let ioErrorSync = ResultCode(SQLITE_IOERR, 4)
    /// The log's index cannot be made longer: the disk is full.
    package static let ioErrorIndexSize = ResultCode(SQLITE_IOERR, 19)
    package static let ioErrorDirectorySync = ResultCode(SQLITE_IOERR, 5)
    package static let corrupt = ResultCode(SQLITE_CORRUPT)
    package static let damagedVirtualTable = ResultCode(SQLITE_CORRUPT, 1)
    package static let notFound = ResultCode(SQLITE_NOTFOUND)
    package static let full = ResultCode(SQLITE_FULL)
    package static let cannotOpen = ResultCode(SQLITE_CANTOPEN)
    package static let protocolError = ResultCode(SQLITE_PROTOCOL)
    package static let schema = ResultCode(SQLITE_SCHEMA)
    package static let tooBig = ResultCode(SQLITE_TOOBIG)
    package static let constraint = ResultCode(SQLITE_CONSTRAINT)
    package static let constraintUnique = ResultCode(SQLITE_CONSTRAINT, 8)
    package static let mismatch = ResultCode(SQLITE_MISMATCH)
    package static let misuse = ResultCode(SQLITE_MISUSE)
    package static let authorization = ResultCode(SQLITE_AUTH)
    package static let range = ResultCode(SQLITE_RANGE)
    package static let notADatabase = ResultCode(SQLITE_NOTADB)

    private static let names: [ResultCode: String] = {
        var names: [ResultCode: String] = [:]
        for (code, name, extensions) in families {
            names[ResultCode(code)] = "SQLITE_" + name
            for (index, suffix) in extensions.enumerated() where !suffix.isEmpty {
                names[ResultCode(code, Int32(index + 1))] = "SQLITE_\(name)_\(suffix)"
            }
        }
        return names
    }()

    /// The primary codes with the suffixes of their extended codes, counted from 1.
    private static let families: [(Int32, String, [String])] = [
        (SQLITE_OK, "OK", ["LOAD_PERMANENTLY"]),
        (SQLITE_ERROR, "ERROR", ["MISSING_COLLSEQ", "RETRY", "SNAPSHOT"]),
        (SQLITE_INTERNAL, "INTERNAL", []),
        (SQLITE_PERM, "PERM", []),
        (SQLITE_ABORT, "ABORT", ["", "ROLLBACK"]),
        (SQLITE_BUSY, "BUSY", ["RECOVERY", "SNAPSHOT", "TIMEOUT"]),
        (SQLITE_LOCKED, "LOCKED", ["SHAREDCACHE", "VTAB"]),
        (SQLITE_NOMEM, "NOMEM", []),
        (
            SQLITE_READONLY, "READONLY",
            ["RECOVERY", "CANTLOCK", "ROLLBACK", "DBMOVED", "CANTINIT", "DIRECTORY"]
        ),
        (SQLITE_INTERRUPT, "INTERRUPT", []),
        (
            SQLITE_IOERR, "IOERR",
            [
                "READ", "SHORT_READ", "WRITE", "FSYNC", "DIR_FSYNC", "TRUNCATE", "FSTAT", "UNLOCK",
                "RDLOCK", "DELETE", "BLOCKED", "NOMEM", "ACCESS", "CHECKRESERVEDLOCK", "LOCK",
                "CLOSE", "DIR_CLOSE", "SHMOPEN", "SHMSIZE", "SHMLOCK", "SHMMAP", "SEEK",
                "DELETE_NOENT", "MMAP", "GETTEMPPATH", "CONVPATH", "VNODE", "AUTH", "BEGIN_ATOMIC",
                "COMMIT_ATOMIC", "ROLLBACK_ATOMIC", "DATA", "CORRUPTFS", "IN_PAGE",
            ]
        ),
        (SQLITE_CORRUPT, "CORRUPT", ["VTAB", "SEQUENCE", "INDEX"]),
        (SQLITE_NOTFOUND, "NOTFOUND", []),
        (SQLITE_FULL, "FULL", []),
        (
            SQLITE_CANTOPEN, "CANTOPEN",
            ["NOTEMPDIR", "ISDIR", "FULLPATH", "CONVPATH", "DIRTYWAL", "SYMLINK"]
        ),
        (SQLITE_PROTOCOL, "PROTOCOL", []),
        (SQLITE_EMPTY, "EMPTY", []),
        (SQLITE_SCHEMA, "SCHEMA", []),
        (SQLITE_TOOBIG, "TOOBIG", []),
        (
            SQLITE_CONSTRAINT, "CONSTRAINT",
            [
                "CHECK", "COMMITHOOK", "FOREIGNKEY", "FUNCTION", "NOTNULL", "PRIMARYKEY", "TRIGGER",
                "UNIQUE", "VTAB", "ROWID", "PINNED", "DATATYPE",
            ]
        ),
        (SQLITE_MISMATCH, "MISMATCH", []),
        (SQLITE_MISUSE, "MISUSE", []),
        (SQLITE_NOLFS, "NOLFS", []),
        (SQLITE_AUTH, "AUTH", ["USER"]),
        (SQLITE_FORMAT, "FORMAT", []),
        (SQLITE_RANGE, "RANGE", []),
        (SQLITE_NOTADB, "NOTADB", []),
        (SQLITE_ROW, "ROW", []),
        (SQLITE_DONE, "DONE", []),
    ]
}
