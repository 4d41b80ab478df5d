import Glibc
import LockkeeperDomain
import LockkeeperSQLite

/// A directory for one test, removed with what is in it when the test ends.
final class TemporaryDatabase: Sendable {
    let directory: String
    var path: String { directory + "/test.db" }

    init() {
        var template = Array("/tmp/lockkeeper-sqlite-XXXXXX".utf8CString)
        precondition(mkdtemp(&template) != nil, "no temporary directory can be made")
        directory = String(
            decoding: template.dropLast().map(UInt8.init(bitPattern:)),
            as: UTF8.self
        )
    }

    deinit {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(path + suffix) }
        rmdir(directory)
    }

    /// Opens a connection in WAL mode.
    func open(
        mode: Connection.Mode = .create,
        clock: any MonotonicClock = KernelClock(),
        busyDeadline: Deadline = .never,
        tracker: WriteTracker? = nil
    ) throws -> Connection {
        let connection = try Connection(
            path: path,
            mode: mode,
            clock: clock,
            busyDeadline: busyDeadline,
            jitterSeed: 1,
            tracker: tracker
        )
        try connection.execute("PRAGMA journal_mode = WAL")
        return connection
    }
}

/// The kernel's clock, since this room stands beside the one that has it.
struct KernelClock: MonotonicClock {
    func now() -> MonotonicInstant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicInstant(
            nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        )
    }
}
