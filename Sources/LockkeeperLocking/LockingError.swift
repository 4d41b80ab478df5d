import LockkeeperDomain
package import LockkeeperPlatform

/// What can go wrong with locks.
package enum LockingError: Error, Sendable, Hashable {
    // Acquiring

    /// Thrown when the deadline passes while others hold the lock. `holders` is empty where they
    /// could not be found: they let go meanwhile, or have no record.
    case busy(LockByte, holders: [Holder], waited: Duration)
    /// Thrown when the caller gives up before the deadline.
    case cancelled
    /// Thrown when the line or turnstile was closed.
    case closed
    /// Thrown when as many callers wait in this process as may (I-9).
    case lineFull(waiterCountMax: Int)

    /// Thrown when the process has suspended its use of the account, and has not resumed it (B10).
    case suspended
    /// Thrown in a child that was forked by the process that opened the locks (B22).
    case forkedChild
    /// Thrown when a membership is to be given up while others of this process have its lock file
    /// open: guards, turnstiles, waits.
    case descriptorsOpen(path: String, count: Int)

    // The lock file

    /// Thrown when all record slots of a lock file belong to living processes.
    case tooManyProcesses(path: String, processCountMax: Int)
    /// Thrown when the path no longer names the file that this process has locked: somebody
    /// removed or replaced it, and newcomers lock another file (B34).
    case lockFileReplaced(path: String)
    /// Thrown when the lock file was made by a program with other rules.
    case lockFileVersion(path: String, version: UInt8)

    // The kernel

    /// Thrown when a system call fails.
    case system(SystemCallError)
}

extension LockingError: CustomStringConvertible {
    /// The problem and what to do about it, as a sentence.
    package var description: String {
        switch self {
        case .busy(let lock, let holders, let waited):
            "\(lock.name) was not free within \(Int64(waited.milliseconds)) ms: "
                + Self.sentence(of: holders)
        case .cancelled: "the wait was cancelled"
        case .closed: "closed while waiting for admission: open the account again"
        case .lineFull(let waiterCountMax):
            "\(waiterCountMax) callers of this process wait for admission already: slow down"
        case .suspended: "this process has suspended its use of the account: resume it first"
        case .forkedChild:
            "a forked child cannot use what its parent has opened: open the account in the child, "
                + "after exec"
        case .descriptorsOpen(let path, let count):
            "'\(path)' is still open \(count) times in this process: release every lock first"
        case .tooManyProcesses(let path, let processCountMax):
            "\(processCountMax) processes have '\(path)' open already: end some of them"
        case .lockFileReplaced(let path):
            "'\(path)' was removed or replaced while it was open: restart every program that "
                + "uses it"
        case .lockFileVersion(let path, let version):
            "'\(path)' has version \(version), which this program does not know: update it"
        case .system(let error): error.description
        }
    }

    private static func sentence(of holders: [Holder]) -> String {
        if holders.isEmpty { return "nobody with a record holds it now; try again" }
        return "held by " + holders.map(\.description).joined(separator: "; ")
    }
}

/// Runs a part that makes system calls and gives their errors this room's type.
@inline(__always)
func systemCalls<Result: ~Copyable>(
    _ body: () throws(SystemCallError) -> Result
) throws(LockingError) -> Result {
    do throws(SystemCallError) {
        return try body()
    } catch {
        throw .system(error)
    }
}
