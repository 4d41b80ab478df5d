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
        var thread: WorkerThread?
    }

    private let monitor = Monitor(State())
    private let open: @Sendable () throws -> Connection

    /// - Parameter open: opens the second connection, on the syncer's thread and when the first sync
    ///   is asked for.
    init(open: @escaping @Sendable () throws -> Connection) {
        self.open = open
    }

    /// Whether everybody who asked has been completed. Who syncs by himself while that is not so
    /// would be completed before those who were admitted earlier.
    var isIdle: Bool { monitor.withLock { $0.waiting.isEmpty && !$0.isSyncing } }

    /// Asks for a sync that begins after this call. The completion is called on the syncer's thread.
    func sync(_ completion: @escaping Completion) {
        let accepted = monitor.withLock { state -> Result<Void, any Error> in
            guard !state.isClosed else { return .failure(Closed()) }
            if state.thread == nil {
                do {
                    state.thread = try WorkerThread.start(name: "lk-sync") { [self] in run() }
                } catch {
                    return .failure(error)
                }
            }
            state.waiting.append(completion)
            return .success(())
        }
        switch accepted {
        case .success: monitor.signal()
        case .failure(let error): completion(.failure(error))
        }
    }

    /// Serves everybody who waits, then ends the thread.
    func close() {
        let thread = monitor.withLock { state in
            state.isClosed = true
            return state.thread
        }
        monitor.signal()
        thread?.join()
    }

    /// Thrown to who asks after ``close()``.
    struct Closed: Error {}

    private func run() {
        let connection = Result { try open() }
        while let batch = nextBatch() {
            let result = Result { try connection.get().syncLog() }
            for completion in batch { completion(result) }
        }
        if case .success(let connection) = connection { try? connection.close() }
    }

    private func nextBatch() -> [Completion]? {
        monitor.wait(until: .never) { state -> [Completion]?? in
            state.isSyncing = false
            if !state.waiting.isEmpty {
                state.isSyncing = true
                defer { state.waiting = [] }
                return .some(state.waiting)
            }
            return state.isClosed ? .some(nil) : .none
        } ?? nil
    }
}
