import CLockkeeperSQLite

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

    /// Makes sure that the library can do what is asked of it.
    ///
    /// - Throws: ``SQLiteError`` when it is older than 3.35, cannot be used from several threads or
    ///   has no write-ahead log.
    package static func check() throws(SQLiteError) {
        let shortcoming: String? =
            if versionNumber < versionNumberMin {
                "SQLite \(version) is too old: 3.35 or newer is needed"
            } else if sqlite3_threadsafe() == 0 {
                "this SQLite was built for one thread only"
            } else if sqlite3_compileoption_used("OMIT_WAL") != 0 {
                "this SQLite was built without the write-ahead log"
            } else {
                nil
            }
        guard let shortcoming else { return }
        throw SQLiteError(code: .misuse, message: shortcoming, operation: .open)
    }
}
