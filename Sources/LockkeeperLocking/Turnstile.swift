import LockkeeperPlatform
import Synchronization

/// The fair way to WRITER, for one thread of the process (I-1).
///
///     QUEUE ──▶ WRITER ──▶ let QUEUE go ──▶ raise the admission count
///
/// The kernel wakes whoever waits for a lock, but the releaser is still running and would take the
/// lock again before a waiter gets to it: with 8 writers one process can get 1 commit while the
/// others get 4 300. Here the releaser of WRITER must first take QUEUE, where the next one stands
/// already, so nobody who stands there is ever overtaken.
///
/// Lock rules
/// 1. QUEUE before WRITER; QUEUE is held for no longer than until WRITER is granted.
/// 2. One thread calls ``enter()``, and it blocks all signals: a signal would send it to the end.
///    Two waits on one description would not exclude each other.
/// 3. A wait cannot be ended from outside. After ``close()`` a waiter lets go of what it is granted
///    and says `closed`.
/// 4. Before its admission is passed on, the path is compared with the locked file (B34).
package final class Turnstile: Sendable {
    private let descriptor: LockDescriptor
    private let path: String
    private let isClosed = Atomic<Bool>(false)

    private static let queue = LockFileLayout.byte(of: .queue)
    private static let writer = LockFileLayout.byte(of: .writer)

    /// A turnstile with an open file description of its own.
    ///
    /// - Throws: ``LockingError/lockFileReplaced(path:)`` when newcomers lock another file;
    ///   ``LockingError/system(_:)`` when the kernel refuses.
    package init(_ membership: LockFileMembership) throws(LockingError) {
        descriptor = try membership.openDescription()
        path = membership.path
    }

    /// Waits for WRITER as long as it takes.
    ///
    /// - Parameter beforeWaiting: Called once before the thread has to wait, so that a process whose
    ///   way is free need not write down that it waits.
    /// - Throws: ``LockingError/closed`` after ``close()``;
    ///   ``LockingError/lockFileReplaced(path:)`` when newcomers lock another file;
    ///   ``LockingError/system(_:)`` when the kernel refuses. Nothing is held then.
    package func enter(
        beforeWaiting: () throws(LockingError) -> Void = {}
    ) throws(LockingError) -> Admission {
        do throws(LockingError) {
            let hasQueue = try tryTake(Self.queue)
            if !hasQueue {
                try beforeWaiting()
                try waitFor(Self.queue)
            }
            if !(try tryTake(Self.writer)) {
                if hasQueue { try beforeWaiting() }
                try waitFor(Self.writer)
            }
            try release(Self.queue)
            return Admission(turnstile: self, number: try raiseAdmissionCount())
        } catch {
            releaseAll()
            throw error
        }
    }

    /// Makes every later grant fail with ``LockingError/closed``.
    package func close() { isClosed.store(true, ordering: .releasing) }

    fileprivate func leave() {
        // Unlocking a byte that is held fails only in a forked child, which holds nothing.
        try? descriptor.unlock(Self.writer)
    }

    /// A free QUEUE is nobody's place: taking it without waiting overtakes nobody who stands there.
    private func tryTake(_ byte: Int64) throws(LockingError) -> Bool {
        if isClosed.load(ordering: .acquiring) { throw .closed }
        return try systemCalls { () throws(SystemCallError) in
            try descriptor.tryLock(byte, .exclusive)
        }
    }

    private func waitFor(_ byte: Int64) throws(LockingError) {
        try systemCalls { () throws(SystemCallError) in try descriptor.lock(byte, .exclusive) }
        if isClosed.load(ordering: .acquiring) { throw .closed }
    }

    private func release(_ byte: Int64) throws(LockingError) {
        try systemCalls { () throws(SystemCallError) in try descriptor.unlock(byte) }
    }

    private func releaseAll() {
        try? descriptor.unlock(Self.queue)
        try? descriptor.unlock(Self.writer)
    }

    /// Only the holder of WRITER writes this word. A turnstile in which it does not move although
    /// WRITER is free and QUEUE is held is one whose QUEUE holder is stopped.
    private func raiseAdmissionCount() throws(LockingError) -> UInt64 {
        var word: UInt64 = 0
        let isStill: Bool
        do throws(SystemCallError) {
            isStill = try descriptor.isStill(at: path)
            try withUnsafeMutableBytes(of: &word) { (buffer) throws(SystemCallError) in
                try descriptor.read(into: buffer, at: LockFileLayout.admissionCountOffset)
            }
            word = (UInt64(littleEndian: word) &+ 1).littleEndian
            try withUnsafeBytes(of: &word) { (buffer) throws(SystemCallError) in
                try descriptor.write(buffer, at: LockFileLayout.admissionCountOffset)
            }
        } catch {
            throw .system(error)
        }
        guard isStill else { throw .lockFileReplaced(path: path) }
        return UInt64(littleEndian: word)
    }
}

/// The proof that the thread holds WRITER.
package struct Admission: ~Copyable {
    private let turnstile: Turnstile
    /// The how manieth admission of the account it is.
    package let number: UInt64

    fileprivate init(turnstile: Turnstile, number: UInt64) {
        self.turnstile = turnstile
        self.number = number
    }

    deinit { turnstile.leave() }

    /// Lets WRITER go.
    package consuming func leave() {}
}
