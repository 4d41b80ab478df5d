import Glibc
package import LockkeeperDomain
import LockkeeperPlatform
package import LockkeeperSQLite

/// Runs a body that blocks on a thread of its own, so that it does not block the pool. It stays in
/// the test's task, so that what it expects is told of the test.
package func onOwnThread<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withTaskExecutorPreference(ThreadPerJob()) { try body() }
}

/// Runs every job on a new thread.
private final class ThreadPerJob: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        do {
            _ = try WorkerThread.start(name: "test") {
                job.runSynchronously(on: self.asUnownedTaskExecutor())
            }
        } catch {
            preconditionFailure("a test needs a thread: \(error)")
        }
    }
}

/// A directory that is removed with what is in it when the value goes. Its path is short: a
/// socket's has at most 107 bytes.
package final class TemporaryDirectory: Sendable {
    /// Where it is.
    package let path: String

    /// Makes an empty one.
    package init() throws {
        var template = Array("/tmp/lockkeeper-test-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else {
            throw SystemCallError(call: .mkdir, errno: Errno(rawValue: errno))
        }
        path = String(cString: made)
    }

    deinit { try? FileSystem.removeTree(path) }

    /// A path in it.
    package func file(_ name: String) -> String { "\(path)/\(name)" }
}

/// A deadline that only a broken program reaches.
package func patience() -> Deadline { Deadline(after: .seconds(20), from: SystemClock().now()) }

/// Looks again and again until something is so, for states that send no event.
package func eventually(_ condition: () throws -> Bool) throws -> Bool {
    let deadline = patience()
    while !deadline.hasPassed(at: SystemClock().now()) {
        if try condition() { return true }
        sched_yield()
    }
    return false
}

/// How many of this process's open descriptors are sockets.
package func openSocketCount() throws -> Int {
    try FileSystem.list("/proc/self/fd").filter { number in
        // A descriptor may be closed between the list and the look.
        (try? FileSystem.status("/proc/self/fd/\(number)"))??.kind == .socket
    }.count
}

/// Opens a store's database with SQLite alone, as a test does that damages it or looks into it: closing
/// copies no log and removes none. The first read is made, so that the log is open.
package func openWithSQLiteAlone(_ path: String) throws -> Connection {
    let connection = try Connection(
        path: path,
        mode: .readWrite,
        clock: SystemClock(),
        busyDeadline: .never,
        jitterSeed: 1
    )
    try connection.enable(.noCheckpointOnClose)
    try connection.keepLog()
    _ = try connection.value("SELECT 1 FROM lk_fence")
    return connection
}
