import CLockkeeperSQLite

#if SystemSQLite && Encryption
    #error("The traits SystemSQLite and Encryption exclude each other: --traits Encryption")
#elseif !SystemSQLite && !Encryption
    #error("One of the traits SystemSQLite and Encryption is needed: --traits SystemSQLite")
#endif

/// The SQLite that this process is linked with, looked at while it runs and not taken from the
/// headers it was built against.
package enum SQLiteLibrary {
    /// The version as SQLite counts it: 3.40.1 is 3 040 001.
    package static var versionNumber: Int { Int(sqlite3_libversion_number()) }

    /// The version as text.
    package static var version: String { String(cString: sqlite3_libversion()) }

    /// The oldest version that works: RETURNING came with 3.35.
    package static let versionNumberMin = 3_035_000

    /// The options that the library was compiled with, without their `SQLITE_` prefix.
    package static var compileOptions: [String] {
        var options: [String] = []
        while let option = sqlite3_compileoption_get(Int32(options.count)) {
            options.append(String(cString: option))
        }
        return options
    }

    /// Whether a second checkpoint that begins right after a complete one can lose commits in this
    /// version, unless a reader is held as ``Connection/checkpoint(_:)`` asks for (I-10).
    /// See <https://www.sqlite.org/wal.html#walresetbug>.
    package static var hasLogResetDefect: Bool {
        switch versionNumber {
        case 3_007_000..<3_044_006, 3_045_000..<3_050_007, 3_051_000..<3_051_003: true
        default: false
        }
    }

    /// Whether files can be encrypted: whether this is a build with the package trait `Encryption`.
    package static var canEncrypt: Bool {
        #if Encryption
            true
        #else
            false
        #endif
    }

    /// The version of the SQLCipher that is loaded, "4.6.1 community"; `nil` where it is SQLite.
    package static let cipherVersion: String? = {
        var database: OpaquePointer?
        defer { sqlite3_close_v2(database) }
        guard sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK else {
            return nil
        }
        var version: String?
        // Only a question: it needs no busy handler, authoriser or policy.
        var statement: OpaquePointer?
        if sqlite3_prepare_v2(database, "PRAGMA cipher_version", -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW
        {
            version = sqlite3_column_text(statement, 0).map { String(cString: $0) }
        }
        sqlite3_finalize(statement)
        return version
    }()

    /// Why a library cannot encrypt as it is needed, for a build that is to; `nil` where it can.
    package static func cipherShortcoming(of version: String?) -> String? {
        guard let version else {
            return "this program was built with encryption, and the SQLite that is loaded has none:"
                + " SQLCipher 4 is needed"
        }
        guard let major = Int(version.prefix { $0.isNumber }), major >= 4 else {
            return "SQLCipher \(version) is too old: version 4 or newer is needed"
                + " (Scripts/install-sqlcipher)"
        }
        return nil
    }

    /// Makes sure that the library can do what is asked of it.
    ///
    /// - Throws: ``SQLiteError`` when it is older than 3.35, cannot be used from several threads or
    ///   has no write-ahead log; in a build with encryption also where it is no SQLCipher 4.
    package static func check() throws(SQLiteError) {
        let shortcoming: String? =
            if versionNumber < versionNumberMin {
                "SQLite \(version) is too old: 3.35 or newer is needed"
            } else if sqlite3_threadsafe() == 0 {
                "this SQLite was built for one thread only"
            } else if sqlite3_compileoption_used("OMIT_WAL") != 0 {
                "this SQLite was built without the write-ahead log"
            } else {
                canEncrypt ? cipherShortcoming(of: cipherVersion) : nil
            }
        guard let shortcoming else { return }
        throw SQLiteError(code: .misuse, message: shortcoming, operation: .open)
    }
}
