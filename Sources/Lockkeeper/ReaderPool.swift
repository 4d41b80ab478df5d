import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// Reader connections, each on a thread of its own.
///
/// Readers take no lock of ours and wait for no writer. Threads start when work comes and all others
/// are busy, up to a bound; then work waits its turn.
final class ReaderPool: Sendable {
    private typealias Work = @Sendable (Result<StoreReader, any Error>) -> Void

    private struct State {
        var waiting: [Work] = []
        var threads: [WorkerThread] = []
        var idleCount = 0
        var isClosed = false
    }

    private let monitor = Monitor(State())
    private let threadCountMax: Int
    private let open: @Sendable () throws -> StoreReader

    /// - Parameter open: opens a reader, on the thread that will use it.
    init(threadCountMax: Int, open: @escaping @Sendable () throws -> StoreReader) {
        self.threadCountMax = threadCountMax
        self.open = open
    }

    /// Runs a closure with a reader and waits for it without blocking.
    ///
    /// - Throws: what the closure throws, what opening threw, or ``Closed``.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable (StoreReader) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            submit { reader in
                continuation.resume(with: Result { try body(try reader.get()) })
            }
        }
    }

    /// Finishes what was asked for, then ends the threads.
    func close() {
        let threads = monitor.withLock { state in
            state.isClosed = true
            defer { state.threads = [] }
            return state.threads
        }
        monitor.broadcast()
        for thread in threads { thread.join() }
    }

    /// Thrown to who asks after ``close()``.
    struct Closed: Error {}

    private func submit(_ work: @escaping Work) {
        let accepted = monitor.withLock { state -> Result<Void, any Error> in
            guard !state.isClosed else { return .failure(Closed()) }
            if state.idleCount <= state.waiting.count, state.threads.count < threadCountMax {
                do {
                    let thread = try WorkerThread.start(name: "lk-read") { [self] in serve() }
                    state.threads.append(thread)
                } catch {
                    // Those that are there serve it, more slowly.
                    if state.threads.isEmpty { return .failure(error) }
                }
            }
            state.waiting.append(work)
            return .success(())
        }
        switch accepted {
        case .success: monitor.signal()
        case .failure(let error): work(.failure(error))
        }
    }

    private func serve() {
        var reader: Result<StoreReader, any Error>?
        while let work = nextWork() {
            // One that could not be opened, or whose rollback failed, is opened anew for the next
            // one who asks.
            if case .success(let open) = reader, open.connection.isUsable {
            } else {
                reader = Result { try open() }
            }
            if let reader { work(reader) }
        }
        // Closing fails only while a statement is held, and none outlives its read.
        if case .success(let reader) = reader { try? reader.close() }
    }

    private func nextWork() -> Work? {
        monitor.withLock { $0.idleCount += 1 }
        return monitor.wait(until: .never) { state -> Work?? in
            if !state.waiting.isEmpty {
                state.idleCount -= 1
                return .some(state.waiting.removeFirst())
            }
            return state.isClosed ? .some(nil) : .none
        } ?? nil
    }
}
