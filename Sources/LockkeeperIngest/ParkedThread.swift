import Glibc
import Synchronization

/// A thread of the caller's own that waits in the kernel for one answer.
///
/// `@unchecked Sendable`: the semaphore is only touched through `sem_post` and `sem_wait`, which
/// are made for several threads, and it is destroyed when nobody refers to this object any more.
final class ParkedThread: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>
    private let answer = Mutex<Result<Void, IngestError>?>(nil)

    init() {
        semaphore = .allocate(capacity: 1)
        let status = sem_init(semaphore, 0, 0)
        precondition(status == 0, "a private semaphore of value 0 can always be made")
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    /// Gives the answer and lets the thread go on. Called once.
    func resume(returning result: Result<Void, IngestError>) {
        answer.withLock { $0 = result }
        sem_post(semaphore)
    }

    /// Waits for the answer.
    func wait() -> Result<Void, IngestError> {
        while true {
            // A signal handler of the program may end the wait early; then there is no answer yet.
            while sem_wait(semaphore) != 0 {}
            if let result = answer.withLock({ $0 }) { return result }
        }
    }
}
