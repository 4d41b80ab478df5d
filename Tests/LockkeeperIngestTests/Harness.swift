import Glibc
import LockkeeperDomain
import Synchronization

@testable import LockkeeperIngest

/// A queue with small bounds, a clock moved by hand, and its callbacks recorded.
final class Harness: Sendable {
    let clock = ManualClock()
    let recorder = Recorder()
    let queue: BatchQueue<Int>

    init() {
        queue = BatchQueue(
            limits: .small,
            clock: clock,
            onReady: { [recorder] in recorder.ready.signal() },
            onDeadline: { [recorder] in recorder.note($0) }
        )
    }

    /// Submits 0 to 5, which brings the queue to its bound.
    func fill() async throws {
        for element in 0..<6 { try await queue.submit(element, eventCount: 1, byteCount: 1) }
    }

    /// Returns when so many producers stand at the bound. The queue tells nobody that one waits,
    /// so this looks again and again, giving way to others in between.
    func waitingProducer(count: Int = 1) async {
        while queue.counters.waitingCount < count { await Task.yield() }
    }

    /// The writer: takes one batch for each that was announced, until the end of input.
    func takeUntilDrained() {
        while !queue.isDrained {
            recorder.ready.wait()
            guard let batch = queue.takeBatch() else {
                preconditionFailure("an announced batch was not there")
            }
            recorder.note(batch.elements)
        }
    }
}

/// What the callbacks said and the writer took.
final class Recorder: Sendable {
    let ready = Semaphore()
    private let state = Mutex((deadlines: [Deadline](), taken: [Int]()))

    var deadlines: [Deadline] { state.withLock { $0.deadlines } }
    var taken: [Int] { state.withLock { $0.taken } }

    func note(_ deadline: Deadline) { state.withLock { $0.deadlines.append(deadline) } }
    func note(_ elements: [Int]) { state.withLock { $0.taken += elements } }
}

/// A monotonic clock that only a test moves.
final class ManualClock: MonotonicClock {
    private let nanoseconds = Atomic<Int64>(0)

    func now() -> MonotonicInstant {
        MonotonicInstant(nanoseconds: nanoseconds.load(ordering: .relaxed))
    }

    func advance(by duration: Duration) {
        nanoseconds.wrappingAdd(duration.wholeNanoseconds, ordering: .relaxed)
    }

    func deadline(after duration: Duration) -> Deadline { Deadline(after: duration, from: now()) }
}

/// Counts signals for a thread of the test's own.
///
/// `@unchecked Sendable`: `sem_post` and `sem_wait` are made for several threads.
final class Semaphore: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func signal() { sem_post(semaphore) }
    func wait() { while sem_wait(semaphore) != 0 {} }
}

/// Opens once; tasks await it without blocking a thread.
final class Gate: Sendable {
    private let state = Mutex((isOpen: false, waiters: [CheckedContinuation<Void, Never>]()))

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}

/// A thread of the test's own, so that what blocks blocks no thread of the cooperative pool.
final class TestThread: Sendable {
    private let gate = Gate()

    init(_ body: @escaping @Sendable () -> Void) {
        let start = Unmanaged.passRetained(Start(body: body, gate: gate))
        var thread = pthread_t()
        let status = pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument else { preconditionFailure("the thread was given its start") }
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                start.body()
                start.gate.open()
                return nil
            },
            start.toOpaque()
        )
        precondition(status == 0, "no thread could be started: \(status)")
        pthread_detach(thread)
    }

    /// Waits for the end of the thread.
    func end() async { await gate.wait() }

    private final class Start: Sendable {
        let body: @Sendable () -> Void
        let gate: Gate

        init(body: @escaping @Sendable () -> Void, gate: Gate) {
            self.body = body
            self.gate = gate
        }
    }
}
