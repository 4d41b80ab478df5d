import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

/// Copies the write-ahead log into the database file when it has grown (5.4).
///
/// One process at a time does it, under MAINTENANCE, on a thread of its own and never on the path of
/// somebody's commit. For the whole of each checkpoint a second connection holds a read transaction,
/// so that nobody, ours or foreign, can restart the log meanwhile; and WRITER is held, so that the
/// log can restart with the next commit after it (I-10).
final class Checkpointer: Sendable {
    private struct State {
        var isWanted = false
        var isClosed = false
        var thread: WorkerThread?
    }

    private let monitor = Monitor(State())
    private let frameCountMark: @Sendable () -> Int
    private let attachment: AccountAttachment
    private let path: String
    private let environment: StoreEnvironment
    private let waitMax: Duration

    /// - Parameter frameCountMark: the size of the log, in frames, from which it is copied. It
    ///   depends on whether a host lives.
    init(
        attachment: AccountAttachment,
        path: String,
        environment: StoreEnvironment,
        waitMax: Duration,
        frameCountMark: @escaping @Sendable () -> Int
    ) {
        self.attachment = attachment
        self.path = path
        self.environment = environment
        self.waitMax = waitMax
        self.frameCountMark = frameCountMark
    }

    /// Says how many frames the log has after a commit. Never waits.
    func logGrew(to frameCount: Int) {
        guard frameCount >= frameCountMark() else { return }
        let isNews = monitor.withLock { state in
            guard !state.isClosed, !state.isWanted else { return false }
            state.isWanted = true
            if state.thread == nil {
                state.thread = try? WorkerThread.start(name: "lk-checkpoint") { [self] in run() }
            }
            return true
        }
        if isNews { monitor.broadcast() }
    }

    /// Ends the thread after the checkpoint that runs.
    func close() {
        let thread = monitor.withLock { state in
            state.isClosed = true
            return state.thread
        }
        monitor.broadcast()
        thread?.join()
    }

    private func run() {
        while waitUntilWanted() {
            // A checkpoint that could not be made is made after one of the next commits; the log
            // only grows meanwhile, and `status` tells.
            try? checkpoint()
            monitor.withLock { $0.isWanted = false }
        }
    }

    private func waitUntilWanted() -> Bool {
        monitor.wait(until: .never) { state -> Bool? in
            if state.isClosed { return false }
            return state.isWanted ? true : nil
        } ?? false
    }

    private func checkpoint() throws {
        let membership = attachment.membership
        // Another process that is at it does it for everybody.
        guard let maintenance = try membership.tryAcquire(.maintenance, .exclusive) else { return }
        let deadline = Deadline(after: waitMax, from: environment.clock.now())
        let (path, environment) = (path, environment)
        let work: @Sendable () throws -> Void = {
            let holder = try StoreFile.open(
                path,
                for: .reading,
                environment: environment,
                busyDeadline: deadline
            )
            try holder.begin(.deferred)
            _ = try holder.value("SELECT generation FROM lk_fence")
            defer {
                holder.rollBack()
                try? holder.close()
            }
            let worker = try StoreFile.open(
                path,
                for: .maintaining,
                environment: environment,
                busyDeadline: deadline
            )
            defer { try? worker.close() }
            _ = try worker.checkpoint(.passive)
        }
        try maintenance.whileHeld { try attachment.underWriter(deadline: deadline, work) }
    }
}
