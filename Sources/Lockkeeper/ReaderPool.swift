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
        /// Raised when all readers are to be closed; those of later work are opened anew.
        var epoch = 0
    }

    private let monitor = Monitor(State())
    private let threadCountMax: Int
    private let attachment: AccountAttachment
    private let open: @Sendable () throws -> StoreOpener.Reader

    /// - Parameter open: opens a reader, on the thread that will use it.
    init(
        threadCountMax: Int,
        attachment: AccountAttachment,
        open: @escaping @Sendable () throws -> StoreOpener.Reader
    ) {
        self.attachment = attachment
        self.threadCountMax = threadCountMax
        self.open = open
        attachment.add(self)
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

    /// Runs a closure with a reader and has the calling thread wait for it.
    ///
    /// - Throws: as ``run(_:)``.
    func runBlocking<Value: Sendable>(
        _ body: @escaping @Sendable (StoreReader) throws -> Value
    ) throws -> Value {
        let outcome = Monitor<Result<Value, any Error>?>(nil)
        submit { reader in
            let result = Result { try body(try reader.get()) }
            outcome.withLock { $0 = result }
            outcome.broadcast()
        }
        // A read ends by its own deadline, and work that is not taken is told so.
        guard let result = outcome.wait(until: .never, for: { $0 }) else { throw Closed() }
        return try result.get()
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
        attachment.remove(self)
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
        case .success: monitor.broadcast()
        case .failure(let error): work(.failure(error))
        }
    }

    private enum Step {
        case read(Work, epoch: Int)
        case close
        case end
    }

    private func serve() {
        var reader: (opened: StoreOpener.Reader, epoch: Int)?
        while true {
            switch nextStep(openedIn: reader?.epoch) {
            case .read(let work, let epoch):
                // One whose rollback failed is opened anew for the next one who asks.
                if let open = reader?.opened, !open.store.connection.isUsable { reader = nil }
                do {
                    let opened = try reader?.opened ?? open()
                    if reader == nil { reader = (opened, epoch) }
                    work(.success(opened.store))
                } catch {
                    work(.failure(error))
                }
            case .close:
                // Closing fails only while a statement is held, and none outlives its read.
                try? reader?.opened.store.close()
                reader = nil
            case .end:
                try? reader?.opened.store.close()
                return
            }
        }
    }

    private func nextStep(openedIn epoch: Int?) -> Step {
        monitor.withLock { $0.idleCount += 1 }
        return monitor.wait(until: .never) { state -> Step? in
            let step: Step? =
                if let epoch, epoch != state.epoch {
                    .close
                } else if !state.waiting.isEmpty {
                    .read(state.waiting.removeFirst(), epoch: state.epoch)
                } else if state.isClosed {
                    .end
                } else {
                    nil
                }
            if step != nil { state.idleCount -= 1 }
            return step
        } ?? .end
    }
}

extension ReaderPool: Occupant {
    /// Each thread closes its reader after the read that runs, and its stay ends with that.
    func vacate(_ absence: AccountAttachment.Absence, until deadline: Deadline) -> Bool {
        monitor.withLock { $0.epoch += 1 }
        monitor.broadcast()
        return true
    }

    /// Readers are opened by the next who reads.
    func comeBack() {}
}
