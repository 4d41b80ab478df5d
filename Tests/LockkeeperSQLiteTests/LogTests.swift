import Glibc
import LockkeeperDomain
import LockkeeperSQLite
import Testing

@Suite("The log is copied and synced when it is asked for, never by itself")
struct LogTests {
    private let database = TemporaryDatabase()

    @Test("thousands of frames stay in the log until a checkpoint, which tells how many")
    func checkpoint() throws {
        let connection = try database.open()
        try connection.execute("CREATE TABLE t(a)")
        for _ in 0..<300 {
            try connection.execute("INSERT INTO t VALUES (zeroblob(20000))")
        }
        // SQLite's own hook would have begun the log anew after 1000 frames.
        #expect(connection.logFrameCount > 1500)
        let result = try connection.checkpoint(.passive)
        #expect(result.isComplete)
        #expect(result.logFrameCount == connection.logFrameCount)
        let rest = try connection.checkpoint(.truncate)
        #expect(rest.logFrameCount == 0)
        var status = stat()
        #expect(stat(database.path + "-wal", &status) == 0 && status.st_size == 0)
    }

    @Test("a reader's snapshot keeps a checkpoint from being complete")
    func readerPins() throws {
        let writer = try database.open()
        try writer.execute("CREATE TABLE t(a)")
        let reader = try database.open(mode: .readOnly)
        try reader.begin(.deferred)
        _ = try reader.value("SELECT count(*) FROM t")
        try writer.execute("INSERT INTO t VALUES (1)")
        #expect(try !writer.checkpoint(.passive).isComplete)
        reader.rollBack()
        #expect(try writer.checkpoint(.passive).isComplete)
    }

    @Test("syncing needs a log, which a connection has once it has read")
    func sync() throws {
        try database.open().execute("CREATE TABLE t(a)")
        let connection = try Connection(
            path: database.path,
            mode: .readWrite,
            clock: KernelClock(),
            busyDeadline: .never,
            jitterSeed: 1
        )
        #expect(throws: SQLiteError.self) { try connection.syncLog() }
        _ = try connection.value("SELECT count(*) FROM t")
        try connection.syncLog()
    }

    @Test("a log that is written again is the same log, with everything that was committed")
    func rewriting() throws {
        let connection = try database.open()
        try connection.begin(.immediate)
        #expect(try connection.rewriteLog(), "a log without frames has nothing to lose")
        connection.rollBack()
        try connection.execute("CREATE TABLE t(a)")
        for number in 0..<300 {
            try connection.execute("INSERT INTO t VALUES (\(number)), (randomblob(9000))")
        }
        let before = try WholeFile.contents(of: database.path + "-wal")
        let other = try database.open()
        try other.begin(.immediate)
        #expect(try other.rewriteLog())
        other.rollBack()
        #expect(try WholeFile.contents(of: database.path + "-wal") == before)
        #expect(try connection.integrityCheck(quick: false).isEmpty)
        #expect(try other.value("SELECT count(*) FROM t")?.integer == 600)
    }

    @Test("a log that has begun anew is written again up to its last commit")
    func rewritingAfterRestart() throws {
        let connection = try database.open()
        try connection.execute("CREATE TABLE t(a); INSERT INTO t VALUES (randomblob(90000))")
        _ = try connection.checkpoint(.passive)
        try connection.execute("INSERT INTO t VALUES (1)")
        try connection.begin(.immediate)
        #expect(try connection.rewriteLog())
        connection.rollBack()
        #expect(try connection.value("SELECT count(*) FROM t")?.integer == 2)
    }

    @Test("a log of which a page was lost is not written again", arguments: [40, 5_000, 200_000])
    func rewritingDamage(offset: Int) throws {
        let connection = try database.open()
        try connection.execute("CREATE TABLE t(a); INSERT INTO t VALUES (randomblob(300000))")
        var bytes = try WholeFile.contents(of: database.path + "-wal")
        bytes[offset] ^= 1
        try WholeFile.write(bytes, to: database.path + "-wal")
        try connection.begin(.immediate)
        #expect(try !connection.rewriteLog())
        connection.rollBack()
        #expect(try WholeFile.contents(of: database.path + "-wal") == bytes)
    }

    @Test("a copy holds what the connection reads, the log's part included")
    func copying() throws {
        let connection = try database.open()
        try connection.execute("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
        _ = try connection.checkpoint(.passive)
        try connection.execute("INSERT INTO t VALUES (2)")
        let target = TemporaryDatabase()
        let destination = try Connection(
            path: target.path,
            mode: .create,
            clock: KernelClock(),
            busyDeadline: .never,
            jitterSeed: 1
        )
        try connection.copy(into: destination)
        try destination.close()
        let copy = try target.open()
        #expect(try copy.value("SELECT sum(a) FROM t")?.integer == 3)
        #expect(try copy.integrityCheck(quick: false).isEmpty)
    }

    @Test("log and index stay when the last connection closes, with what is in them")
    func closingKeepsTheLog() throws {
        let connection = try database.open()
        try connection.enable(.noCheckpointOnClose)
        try connection.keepLog()
        try connection.execute("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
        try connection.close()
        var status = stat()
        #expect(stat(database.path + "-wal", &status) == 0 && status.st_size > 0)
        #expect(try database.open().value("SELECT a FROM t")?.integer == 1)
    }

    @Test("other connections' commits move the data version, one's own do not")
    func dataVersion() throws {
        let one = try database.open()
        try one.execute("CREATE TABLE t(a)")
        let other = try database.open()
        let before = try one.dataVersion()
        try one.execute("INSERT INTO t VALUES (1)")
        #expect(try one.dataVersion() == before)
        try other.execute("INSERT INTO t VALUES (1)")
        #expect(try one.dataVersion() != before)
    }

    @Test("a row whose foreign key leads nowhere and an index without its row are found")
    func inspection() throws {
        let connection = try database.open()
        try connection.execute(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(p REFERENCES p);
            INSERT INTO c VALUES (7); CREATE TABLE t(a); CREATE INDEX i ON t(a);
            INSERT INTO t VALUES (1);
            """
        )
        let violation = try #require(try connection.foreignKeyCheck().first)
        #expect(violation.table == "c" && violation.row == 1 && violation.parent == "p")
        #expect(try connection.integrityCheck(quick: false) == [])
        // The index is made to describe another table's rows.
        try connection.execute(
            """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema
              WHERE name = 'p') WHERE name = 't';
            PRAGMA writable_schema = RESET;
            """
        )
        #expect(try !connection.integrityCheck(quick: false).isEmpty)
    }
}

/// Whole files, with the C library: this room stands beside the one that has files.
private enum WholeFile {
    struct Failed: Error {}

    static func contents(of path: String) throws -> [UInt8] {
        guard let file = fopen(path, "r") else { throw Failed() }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&piece, 1, piece.count, file), count > 0 {
            bytes += piece[..<count]
        }
        return bytes
    }

    static func write(_ bytes: [UInt8], to path: String) throws {
        guard let file = fopen(path, "r+") else { throw Failed() }
        defer { fclose(file) }
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { throw Failed() }
    }
}
