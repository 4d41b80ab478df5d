import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

/// Syncs the write-ahead log for writers that others stand behind (5.2).
///
/// A sync covers every frame that was written before it began, whoever wrote it. So each pass takes
/// everybody who waits by then, syncs once on a connection and thread of its own, and completes them
/// all; who comes meanwhile is served by the next pass. Nobody is completed by a sync that began
/// before its own transaction ended.
final class LogSyncer: Sendable {
    typealias Completion = @Sendable (Result<Void, any Error>) -> Void

    private struct State {
        var waiting: [Completion] = []
        /// Whether a pass is on: its waiters are not completed yet.
        var isSyncing = false
        var isClosed = false
        /// What keeps the process at the account; `nil` while it is away.
        var stay: AccountAttachment.Stay?
        var isPaused = false
        /// Whether the thread has the connection open.
        var isOpen = false
        var thread: WorkerThread?
    }

    private let monitor: Monitor<State>
    private let open: @Sendable (AccountAttachment.Stay) throws -> StoreOpener.Log

    /// The second connection is opened on the syncer's thread, when the first sync is asked for.
    convenience init(_ stay: AccountAttachment.Stay, _ opener: StoreOpener) {
        self.init(stay) { try opener.log($0) }
    }

    init(
        _ stay: AccountAttachment.Stay?,
        open: @escaping @Sendable (AccountAttachment.Stay) throws -> StoreOpener.Log
    ) {
        monitor = Monitor(State(stay: stay))
        self.open = open
    }

    /// Whether everybody who asked has been completed. Who syncs by himself while that is not so
    /// would be completed before those who were admitted earlier.
    var isIdle: Bool { monitor.withLock { $0.waiting.isEmpty && !$0.isSyncing } }

    /// Asks for a sync that begins after this call. The completions are called on the syncer's thread,
    /// in their order.
    func sync(_ completions: [Completion]) {
        let accepted = monitor.withLock { state -> Result<Void, any Error> in
            guard !state.isClosed else { return .failure(Closed()) }
            if state.thread == nil {
                do {
                    state.thread = try WorkerThread.start(name: "lk-sync") { [self] in run() }
                } catch {
                    return .failure(error)
                }
            }
            state.waiting += completions
            return .success(())
        }
        switch accepted {
        case .success: monitor.broadcast()
        case .failure(let error): for completion in completions { completion(.failure(error)) }
        }
    }

    /// Serves everybody who waits, closes the connection, and ends the stay.
    ///
    /// - Returns: `false` where a sync still ran at the deadline.
    func pause(until deadline: Deadline) -> Bool {
        monitor.withLock { $0.isPaused = true }
        monitor.broadcast()
        let isQuiet = monitor.wait(until: deadline) { state in
            state.waiting.isEmpty && !state.isSyncing && !state.isOpen ? true : nil
        }
        guard isQuiet == true else { return false }
        endStay()
        return true
    }

    private func endStay() {
        // It ends outside of the lock, because that takes another one.
        _ = monitor.withLock { state in
            defer { state.stay = nil }
            return state.stay
        }
    }

    /// Goes on after ``pause(until:)``.
    func goOn(_ stay: AccountAttachment.Stay) {
        monitor.withLock { state in
            state.isPaused = false
            state.stay = stay
        }
    }

    /// Serves everybody who waits, then ends the thread.
    func close() {
        let thread = monitor.withLock { state in
            state.isClosed = true
            return state.thread
        }
        monitor.broadcast()
        thread?.join()
        endStay()
    }

    /// Thrown to who asks after ``close()``.
    struct Closed: Error {}

    private enum Step {
        case sync([Completion])
        case close
        case end
    }

    private func run() {
        var log: StoreOpener.Log?
        while true {
            switch nextStep() {
            case .sync(let batch):
                let result = Result { try sync(&log) }
                for completion in batch { completion(result) }
            case .close:
                close(&log)
                monitor.withLock { $0.isOpen = false }
                monitor.broadcast()
            case .end:
                return close(&log)
            }
        }
    }

    /// One that could not be opened is opened anew for the next ones who ask.
    private func sync(_ log: inout StoreOpener.Log?) throws {
        guard let stay = monitor.withLock({ $0.stay }) else { throw Closed() }
        let opened = try log ?? open(stay)
        log = opened
        try opened.sync()
    }

    private func close(_ log: inout StoreOpener.Log?) {
        // Closing fails only while a statement is held.
        try? log?.connection.close()
        log = nil
    }

    private func nextStep() -> Step {
        monitor.withLock { $0.isSyncing = false }
        monitor.broadcast()
        return monitor.wait(until: .never) { state -> Step? in
            if !state.waiting.isEmpty {
                (state.isSyncing, state.isOpen) = (true, true)
                defer { state.waiting = [] }
                return .sync(state.waiting)
            }
            if state.isClosed { return .end }
            return state.isPaused && state.isOpen ? .close : nil
        } ?? .end
    }
}
