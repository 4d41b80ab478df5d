import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperStorage

/// A process's place at one account: its record slot and its PRESENCE. Sessions, the hub and
/// maintenance share it; it ends with the last of them.
///
/// Order of 5.5: ENTRY shared, PRESENCE shared, ENTRY let go, and only then the registry's current
/// files are read. Whoever replaces files takes ENTRY exclusively, so that what was read after this
/// stays current for as long as the attachment lives.
final class AccountAttachment: Sendable {
    let account: AccountID
    let paths: WorkspacePaths.Account
    let membership: LockFileMembership
    private let presence: LockGuard

    /// Attaches to an account. Blocks while exclusive work is done, at most until the deadline.
    init(
        _ record: AccountRecord,
        paths: WorkspacePaths,
        process: ProcessDescription,
        clock: any MonotonicClock,
        deadline: Deadline
    ) throws {
        account = record.id
        self.paths = paths.account(directory: record.directory)
        try FileSystem.makeDirectory(paths.accounts, mode: 0o700)
        try FileSystem.makeDirectory(self.paths.directory, mode: 0o700)
        membership = try LockFileMembership(
            path: self.paths.locks,
            process: process,
            clock: clock
        )
        presence = try Presence.enter(membership, until: deadline)
        try membership.setActivity(.idle)
    }

    /// Runs a closure while this process holds WRITER, in its turn. Blocks the calling thread, which
    /// must be one of our own.
    ///
    /// - Throws: `LockingError` when the deadline passed, and what the closure throws.
    func underWriter<Value: Sendable>(
        deadline: Deadline,
        _ body: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        let line = try WriterThread.start(membership)
        let work = ClosureWork(body)
        line.submit(work, deadline: deadline)
        defer { line.close(until: deadline) }
        return try work.result()
    }
}

/// A closure that is admitted once, for rare work that blocks its own thread.
private final class ClosureWork<Value: Sendable>: AdmittedWork {
    private let body: @Sendable () throws -> Value
    private let monitor = Monitor<Result<Value, any Error>?>(nil)

    init(_ body: @escaping @Sendable () throws -> Value) { self.body = body }

    func perform(waited: Duration) {
        let result = Result { try body() }
        monitor.withLock { $0 = result }
    }

    func finish(othersWait: Bool) { monitor.broadcast() }

    func fail(_ error: LockingError) {
        monitor.withLock { $0 = .failure(error) }
        monitor.broadcast()
    }

    func result() throws -> Value {
        // Without a deadline of its own: the line ends every wait by the one it was given.
        guard let result = monitor.wait(until: .never, for: { $0 }) else {
            preconditionFailure("a wait without deadline ended without a result")
        }
        return try result.get()
    }
}
