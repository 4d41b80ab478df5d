import LockkeeperPlatform
import Testing

/// A program that knows nothing of Lockkeeper: Python with a script, which prints "ready" when it
/// stands where the test wants it and goes on when a line comes. Its first argument is the database.
final class ForeignProgram: Sendable {
    private let child: ChildProcess
    private let input: FileDescriptor

    var pid: Int32 { child.pid }

    /// Starts it and waits, blocking, until it is ready.
    init(_ script: String, database: String) throws {
        child = try ChildProcess(
            program: "python3",
            arguments: ["-c", Self.prologue + script, database],
            input: .pipe,
            output: .pipe
        )
        input = child.takePipe(.input)
        let output = child.takePipe(.output)
        var line = [UInt8](repeating: 0, count: 16)
        let count = try line.withUnsafeMutableBytes { try output.read(into: $0) }
        try #require(String(decoding: line[..<count], as: UTF8.self) == "ready\n")
    }

    /// A failed test leaves no process behind.
    deinit { try? end() }

    /// Stops it as a person's Ctrl-Z would.
    func stop() throws { try child.signal(Signal.stop.rawValue) }

    /// Ends it and waits until it is gone.
    func end() throws {
        try child.signal(Signal.kill.rawValue)
        try child.wait()
    }

    private static let prologue = """
        import os, sqlite3, sys
        path = sys.argv[1]
        def stand():
            os.write(1, b"ready\\n")
            sys.stdin.readline()

        """

    /// Holds a read transaction.
    static let reader = """
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("BEGIN")
        database.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        stand()
        """

    /// Holds SQLite's write lock.
    static let writer = """
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("BEGIN IMMEDIATE")
        stand()
        """

    /// Holds the whole database for itself.
    static let exclusive = """
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("BEGIN EXCLUSIVE")
        stand()
        """

    /// Has made the log's index invalid and holds the locks of one that builds it anew.
    static let recoverer = """
        import fcntl
        index = open(path + "-shm", "r+b", buffering=0)
        fcntl.lockf(index, fcntl.LOCK_EX, 3, 120)
        os.pwrite(index.fileno(), bytes(96), 0)
        stand()
        """
}
