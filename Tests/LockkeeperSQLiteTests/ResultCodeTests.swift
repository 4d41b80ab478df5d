import LockkeeperSQLite
import Testing

@Suite("Result codes")
struct ResultCodeTests {
    @Test("a primary code as a pattern matches its extended codes, an extended one only itself")
    func matching() {
        #expect(ResultCode.busy ~= ResultCode.busySnapshot)
        #expect(ResultCode.busy ~= ResultCode.busy)
        #expect(!(ResultCode.busySnapshot ~= ResultCode.busy))
        #expect(!(ResultCode.busySnapshot ~= ResultCode.busyRecovery))
        #expect(!(ResultCode.full ~= ResultCode.busy))
    }

    @Test(
        "codes have SQLite's names",
        arguments: [
            (5, "SQLITE_BUSY"), (517, "SQLITE_BUSY_SNAPSHOT"), (261, "SQLITE_BUSY_RECOVERY"),
            (1034, "SQLITE_IOERR_FSYNC"), (8458, "SQLITE_IOERR_CORRUPTFS"),
            (2067, "SQLITE_CONSTRAINT_UNIQUE"), (2579, "SQLITE_CONSTRAINT_ROWID"),
            (516, "SQLITE_ABORT_ROLLBACK"), (779, "SQLITE_CORRUPT_INDEX"),
            (1544, "SQLITE_READONLY_DIRECTORY"), (1550, "SQLITE_CANTOPEN_SYMLINK"),
            (64_005, "SQLITE_BUSY (64005)"), (250, "SQLITE_250"),
        ] as [(Int32, String)]
    )
    func names(code: Int32, name: String) {
        #expect(ResultCode(rawValue: code).description == name)
    }

    @Test("the linked library is new enough, and says what it was built with (R-31)")
    func library() throws {
        try SQLiteLibrary.check()
        #expect(SQLiteLibrary.versionNumber >= SQLiteLibrary.versionNumberMin)
        #expect(SQLiteLibrary.compileOptions.contains { $0.hasPrefix("THREADSAFE=") })
    }
}
