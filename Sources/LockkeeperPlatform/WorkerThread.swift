import CLockkeeperPlatform
import Glibc
import Synchronization

/// A thread for calls that block: file locks, SQLite, sockets. They never run on Swift's
/// cooperative pool, whose few threads everybody shares.
///
/// The thread blocks all signals from its first instruction. A handled signal would send a waiter
/// for a file lock to the end of the line; and the program's handlers run on its other threads. One
/// that was started as interruptible lets through the one signal that ``interrupt()`` sends.
package final class WorkerThread: Sendable {
    // `nil` once it was joined.
    private let handle: Mutex<pthread_t?>

    /// Starts a thread.
    ///
    /// - Parameters:
    ///   - name: What `top` and debuggers show; the kernel keeps 15 bytes.
    ///   - isInterruptible: Whether ``interrupt()`` ends its blocking calls.
    ///   - body: What it does; the thread ends when it returns.
    /// - Throws: ``SystemCallError`` when the kernel refuses another thread.
    package static func start(
        name: String,
        isInterruptible: Bool = false,
        body: @escaping @Sendable () -> Void
    ) throws(SystemCallError) -> WorkerThread {
        if let errno = SystemFault.fault(for: .pthreadCreate, path: { nil }) {
            throw SystemCallError(call: .pthreadCreate, errno: errno)
        }
        let start = Unmanaged.passRetained(
            ThreadStart(name: name, isInterruptible: isInterruptible, body: body)
        )
        // A thread inherits the mask of the one that makes it; blocked only afterwards, a signal
        // could come in between.
        var all = sigset_t()
        var previous = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &previous)
        var handle = pthread_t()
        let result = pthread_create(&handle, nil, runThread, start.toOpaque())
        pthread_sigmask(SIG_SETMASK, &previous, nil)
        guard result == 0 else {
            start.release()
            throw SystemCallError(call: .pthreadCreate, errno: Errno(rawValue: result))
        }
        return WorkerThread(handle: handle)
    }

    private init(handle: pthread_t) { self.handle = Mutex(handle) }

    /// A thread that nobody joins keeps nothing when it ends.
    deinit {
        if let handle = handle.withLock({ $0 }) { pthread_detach(handle) }
    }

    /// Waits until the thread has ended; does nothing the second time. A thread that joins itself
    /// would wait for ever: a programmer's error.
    package func join() {
        guard let handle = handle.withLock({ $0.take() }) else { return }
        precondition(pthread_equal(handle, pthread_self()) == 0, "a thread cannot join itself")
        pthread_join(handle, nil)
    }

    /// Makes the blocking call that the thread is in fail with `EINTR`; it was started as
    /// interruptible. Where the thread is about to enter the call, the interruption is lost: who
    /// waits for an answer interrupts again. Calls that are repeated after a signal go on.
    ///
    /// - Returns: Whether it was sent. `false`: the thread was joined, or the program has taken
    ///   every signal that could serve for itself.
    @discardableResult
    package func interrupt() -> Bool {
        // Under the lock, so that the handle is not joined meanwhile.
        handle.withLock { handle in handle.map { lk_interrupt_thread($0) == 0 } ?? false }
    }

    /// Whether the caller runs on this thread.
    package var isCurrent: Bool {
        handle.withLock { $0 }.map { pthread_equal($0, pthread_self()) != 0 } ?? false
    }
}

/// What a new thread needs, carried through the C library's `void *`.
private final class ThreadStart: Sendable {
    let name: String
    let isInterruptible: Bool
    let body: @Sendable () -> Void

    init(name: String, isInterruptible: Bool, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.isInterruptible = isInterruptible
        self.body = body
    }
}

private func runThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { preconditionFailure("a thread starts with its argument") }
    let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
    // Only for people; a name that is refused changes nothing.
    _ = lk_set_thread_name(start.name)
    if start.isInterruptible { lk_allow_interruption() }
    start.body()
    return nil
}
