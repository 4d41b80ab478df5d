import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperSimulation
import LockkeeperTesting

/// A database as a program has it that knows nothing of Lockkeeper, in a folder with a zone.
struct PlainDatabase {
    let folder: String
    let zone: FaultZone

    var path: String { folder + "/plain.db" }

    /// Makes the folder and an empty table.
    init() throws {
        folder = "/tmp/lk-plain-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        try FileSystem.makeDirectory(folder, mode: 0o700)
        zone = FaultZone(folder: folder)
        let connection = try open(.create)
        try connection.execute(
            "PRAGMA journal_mode = WAL; CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT)"
        )
        try connection.close()
    }

    /// Opens it, with SQLite's own checkpoints off: the tests make them.
    func open(_ mode: Connection.Mode = .readWrite) throws -> Connection {
        try Self.open(path, mode)
    }

    static func open(_ path: String, _ mode: Connection.Mode = .readWrite) throws -> Connection {
        let connection = try Connection(
            path: path,
            mode: mode,
            vfs: FaultZone.vfs,
            clock: SystemClock(),
            busyDeadline: Deadline(after: .seconds(10), from: SystemClock().now()),
            jitterSeed: 1
        )
        try connection.enable(.noCheckpointOnClose)
        // A connection that has read nothing does not know that there is a log, and its checkpoint
        // does nothing and says that all went well.
        _ = try connection.value("SELECT count(*) FROM sqlite_schema")
        return connection
    }

    func remove() throws { try FileSystem.removeTree(folder) }
}

extension Connection {
    /// Commits rows, one transaction for each, as a program does that appends to its log.
    func insertRows(_ numbers: ClosedRange<Int>) throws {
        let insert = try prepare("INSERT INTO entry VALUES (?1, ?2)")
        for number in numbers {
            try insert.bind(1, number)
            try insert.bind(2, String(repeating: "x", count: 500))
            try insert.run()
        }
    }

    /// The numbers of the rows that are there.
    func rowNumbers() throws -> Set<Int> {
        let select = try prepare("SELECT id FROM entry NOT INDEXED ORDER BY id")
        var numbers: Set<Int> = []
        while try select.step() { numbers.insert(Int(select.int64(0))) }
        return numbers
    }

    /// "ok", or what SQLite finds wrong.
    func integrity() throws -> String {
        try value("PRAGMA integrity_check")?.text ?? "no answer"
    }
}
