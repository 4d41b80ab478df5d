import CLockkeeperPlatform
import Glibc

/// Wakes a thread that waits in ``Poll``, from any thread.
package final class WakeEvent: Sendable {
    private let descriptor: FileDescriptor

    /// An event that nobody has signalled.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package init() throws(SystemCallError) {
        let flags = O_CLOEXEC | O_NONBLOCK
        descriptor = FileDescriptor(owning: try system(.eventfd) { lk_eventfd(0, flags) })
    }

    /// The descriptor's number; readable once the event was signalled.
    package var raw: Int32 { descriptor.raw }

    /// Wakes the waiter, or the next one that comes.
    package func signal() {
        var one: UInt64 = 1
        // It fails only when the counter is full, and then the waiter is awake.
        _ = Glibc.write(descriptor.raw, &one, 8)
    }

    /// Takes all signals back; the waiter calls it when it has woken.
    package func drain() {
        var count: UInt64 = 0
        // It fails only when nobody has signalled.
        _ = Glibc.read(descriptor.raw, &count, 8)
    }
}
