import CLockkeeperSQLite
import LockkeeperDomain

/// Files that are encrypted. What a key is and where it comes from is others' business.
extension Connection {
    /// Bytes of ``head()``.
    package static let headByteCount = 16

    /// The first 16 bytes of the file, by which it says what it is; none of a file that is shorter.
    ///
    /// SQLite's own begin with "SQLite format 3" and NUL. Those of SQLCipher begin with the salt that
    /// the key was given with.
    ///
    /// - Throws: ``SQLiteError`` when they cannot be read.
    package func head() throws(SQLiteError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.headByteCount)
        let code = ResultCode(
            rawValue: lk_sqlite_read_head(core.database, &bytes, Int32(bytes.count))
        )
        if code == .ioErrorShortRead { return [] }
        guard code == .ok else { throw core.error(code.rawValue, .open) }
        return bytes
    }

    /// Gives the key of the file, before anything of it is read. Whether it is the right one shows with
    /// the first reading.
    ///
    /// - Parameters:
    ///   - key: as SQLCipher takes it: `x'<64 digits><32 digits>'`, key and salt.
    ///   - name: what the key is called from now on: ``keyName``.
    /// - Throws: ``SQLiteError`` in a build without encryption, and where SQLCipher refuses.
    package func useKey(
        _ key: UnsafeRawBufferPointer,
        named name: [UInt8]
    ) throws(SQLiteError) {
        #if Encryption
            let code = sqlite3_key_v2(core.database, "main", key.baseAddress, Int32(key.count))
            guard code == SQLITE_OK else { throw core.error(code, .open) }
            keyName = name
            // It would name each page that it cannot decrypt on standard error. The first key in a
            // process that has none sets this to what it is by itself, so that every one is followed.
            sqlite3_exec(core.database, "PRAGMA cipher_log_level = NONE", nil, nil, nil)
        #else
            throw SQLiteError(
                code: .misuse,
                message: "this program was built without encryption",
                operation: .open
            )
        #endif
    }

    /// Copies the content of this database into another file, which is empty and nobody else's, row by
    /// row: what ``copy(into:stepPageCount:goesOn:)`` cannot do where only one of them is encrypted.
    /// Rows keep their ids where those are a column of theirs. The connection is in no transaction.
    ///
    /// - Parameter key: the other file's, as for ``useKey(_:named:)``; empty for a plain one.
    /// - Throws: ``SQLiteError`` in a build without encryption, and when reading or writing fails; the
    ///   other file is worthless then.
    package func export(to path: String, key: UnsafeRawBufferPointer) throws(SQLiteError) {
        try withAttached(path, key) { () throws(SQLiteError) in
            try execute("PRAGMA other.synchronous = EXTRA")
            _ = try value("SELECT sqlcipher_export('other')")
        }
    }

    /// The same into this database, which is empty, from another file.
    ///
    /// - Parameter key: the other file's.
    package func fill(from path: String, key: UnsafeRawBufferPointer) throws(SQLiteError) {
        try execute("PRAGMA synchronous = EXTRA")
        try withAttached(path, key) { () throws(SQLiteError) in
            _ = try value("SELECT sqlcipher_export('main', 'other')")
        }
    }

    /// Whether the file was opened for reading only. What such a connection attaches is not written
    /// either.
    package var isReadOnly: Bool { sqlite3_db_readonly(core.database, "main") == 1 }

    /// The file's path.
    package var path: String {
        sqlite3_db_filename(core.database, "main").map { String(cString: $0) } ?? ""
    }

    private func withAttached(
        _ path: String,
        _ key: UnsafeRawBufferPointer,
        _ body: () throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        let attach = try prepare("ATTACH ?1 AS other KEY ?2")
        try attach.bind([SQLValue(path), SQLValue(String(decoding: key, as: UTF8.self))])
        try attach.run()
        do throws(SQLiteError) {
            try body()
        } catch {
            try? execute("DETACH other")
            throw error
        }
        try execute("DETACH other")
    }
}
