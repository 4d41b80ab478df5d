import CLockkeeperPlatform
import Glibc
import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform

/// A process that stands in the turnstile of a lock file, for tests that stop and kill it.
///
///     lockkeeper-lock-tool FILE enter      is admitted once: "ready", then "inside"; "left" after
///     a
///                                          line was read
///     lockkeeper-lock-tool FILE load       is admitted again and again: "ready"; for each line
///     that
///                                          is read the number of admissions so far
///     lockkeeper-lock-tool FILE fork       is admitted and forks: "inside PID", the child's
///     lockkeeper-lock-tool FILE forked     uses in a forked child what was opened before the fork:
///                                          "child CODE", see ``ForkedUse``
///
/// It ends when its input does, or when it is killed.
@main
enum LockTool {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3 else { exit(64) }
        let membership = try LockFileMembership(
            path: arguments[1],
            process: ProcessDescription(
                identity: ProcessIdentity.current(),
                program: "lock-tool",
                processName: arguments[2],
                role: .helper
            )
        )
        switch arguments[2] {
        case "enter": try enter(membership)
        case "load": try load(membership)
        case "fork": try fork(membership)
        case "forked": try useInChild(membership)
        default: exit(64)
        }
    }

    private static func enter(_ membership: LockFileMembership) throws {
        let writer = try WriterThread.start(membership)
        say("ready")
        let work = ToolWork {
            say("inside")
            _ = hear()
        }
        writer.submit(work, deadline: .never)
        work.wait()
        say("left")
        _ = hear()
        writer.close(until: .never)
    }

    private static func load(_ membership: LockFileMembership) throws {
        let writer = try WriterThread.start(membership)
        let count = Monitor(0)
        let loader = try WorkerThread.start(name: "load") {
            while true {
                let work = ToolWork {}
                writer.submit(work, deadline: .never)
                if !work.wait() { return }
                count.withLock { $0 += 1 }
            }
        }
        say("ready")
        while hear() { say(String(count.withLock { $0 })) }
        writer.close(until: .never)
        loader.join()
    }

    private static func fork(_ membership: LockFileMembership) throws {
        let writer = try WriterThread.start(membership)
        let work = ToolWork {
            say("inside \(lk_fork_sleeping_child())")
            while hear() {}
        }
        writer.submit(work, deadline: .never)
        work.wait()
    }

    private static func useInChild(_ membership: LockFileMembership) throws {
        guard let held = try membership.tryAcquire(.maintenance, .exclusive) else { exit(75) }
        let use = ForkedUse(
            membership: membership,
            writer: try WriterThread.start(membership),
            turnstile: try Turnstile(membership)
        )
        // The child has what the other threads held at this moment: let them have started first.
        let first = ToolWork {}
        use.writer.submit(first, deadline: .never)
        first.wait()
        let child = lk_fork_calling(ForkedUse.inChild, Unmanaged.passUnretained(use).toOpaque())
        var status: Int32 = 0
        waitpid(child, &status, 0)
        say("child \(lk_wait_exit_code(status))")
        // What the child did has changed nothing here.
        let work = ToolWork {}
        use.writer.submit(work, deadline: .never)
        say(work.wait() ? "parent admitted" : "parent refused")
        use.writer.close(until: .never)
        held.release()
    }
}

/// Work that its submitter waits for.
private final class ToolWork: AdmittedWork {
    private let body: @Sendable () -> Void
    private let outcome = Monitor<Bool?>(nil)

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    func perform(waited: Duration) { body() }
    func finish(before following: Following) { end(true) }
    func fail(_ error: LockingError) { end(false) }

    /// Returns whether it was performed.
    @discardableResult
    func wait() -> Bool { outcome.wait(until: .never) { $0 } ?? false }

    private func end(_ wasPerformed: Bool) {
        outcome.withLock { $0 = wasPerformed }
        outcome.broadcast()
    }
}

/// Writes a line to standard output.
private func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(1, bytes, bytes.count)
}

/// Reads a line of standard input; `false` at its end.
private func hear() -> Bool {
    var byte: UInt8 = 0
    while read(0, &byte, 1) == 1 { if byte == UInt8(ascii: "\n") { return true } }
    return false
}
