package import LockkeeperDomain
package import LockkeeperPlatform

/// A process's place in a lock file: one byte that it locks for life, and one record that says who
/// it is and what it is doing.
///
/// Lock rules
/// 1. The record's byte is held exclusively from `init` until the last reference goes. A dead
///    owner's slot is free because the kernel let the byte go, whatever its record says (B32).
/// 2. Only the owner of the byte writes the record.
/// 3. Guards have descriptions of their own; this one holds nothing but the record's byte.
/// 4. Each acquisition ends with a look whether the path still names the locked file (B34).
package final class LockFileMembership: Sendable {
    /// The lock file.
    package let path: String
    /// Who this process is.
    package let process: ProcessDescription
    let descriptor: LockDescriptor
    let clock: any MonotonicClock
    let slot: Int
    private let nameByteCounts: (program: Int, processName: Int)

    /// Opens a lock file, made where it is missing, and takes a slot. The activity begins as
    /// `opening`.
    ///
    /// - Throws: ``LockingError/tooManyProcesses(path:processCountMax:)`` when no slot is free;
    ///   ``LockingError/lockFileVersion(path:version:)`` when the file has other rules;
    ///   ``LockingError/lockFileReplaced(path:)`` when the path does not stay the same file;
    ///   ``LockingError/system(_:)`` when the kernel refuses.
    package init(
        path: String,
        process: ProcessDescription,
        clock: any MonotonicClock = SystemClock()
    ) throws(LockingError) {
        let record = ProcessRecord(process: process, activity: .opening, since: clock.now())
        let place = try ClaimedSlot.claim(path: path, record: record)
        self.path = path
        self.process = process
        self.clock = clock
        slot = place.slot
        descriptor = place.descriptor
        nameByteCounts = (
            LockFileLayout.keptByteCount(process.program),
            LockFileLayout.keptByteCount(process.processName)
        )
    }

    /// Empties the record, so that the slot does not name a process that has left.
    deinit {
        // A leftover record does no harm: its byte is free.
        let empty = [UInt8](repeating: 0, count: LockFileLayout.recordByteCount)
        try? descriptor.write(empty, at: LockFileLayout.offset(ofSlot: slot))
        try? descriptor.unlock(LockFileLayout.byte(ofSlot: slot))
    }

    /// Writes down what this process is doing, before it begins. One system call.
    ///
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func setActivity(_ activity: ProcessActivity) throws(LockingError) {
        var words = LockFileLayout.activityWords(
            activity,
            clock.now(),
            process.role,
            nameByteCounts: nameByteCounts
        )
        let offset = LockFileLayout.offset(ofSlot: slot) + LockFileLayout.activityOffset
        try systemCalls { () throws(SystemCallError) in
            try withUnsafeBytes(of: &words) { (bytes) throws(SystemCallError) in
                try descriptor.write(bytes, at: offset)
            }
        }
    }

    /// Takes a lock if it is free.
    ///
    /// - Returns: The guard; `nil` where somebody holds the lock.
    /// - Throws: ``LockingError/lockFileReplaced(path:)`` when newcomers lock another file;
    ///   ``LockingError/system(_:)`` when the kernel refuses.
    package func tryAcquire(
        _ lock: LockByte,
        _ mode: LockMode
    ) throws(LockingError) -> LockGuard? {
        let candidate = try openDescription()
        guard try tryLock(candidate, lock, mode) else { return nil }
        return LockGuard(holding: lock, mode, by: candidate)
    }

    /// Takes a lock, trying again with bounded, jittered waits. For the locks that are rarely
    /// contended; a fair wait is the ``Turnstile``'s. Blocks the thread.
    ///
    /// - Parameters:
    ///   - isCancelled: Asked before each wait.
    ///   - generator: Spreads the waits.
    /// - Throws: ``LockingError/busy(_:holders:waited:)`` when the deadline passes first;
    ///   ``LockingError/cancelled``; ``LockingError/lockFileReplaced(path:)`` when newcomers lock
    ///   another file; ``LockingError/system(_:)`` when the kernel refuses.
    package func acquire(
        _ lock: LockByte,
        _ mode: LockMode,
        until deadline: Deadline,
        isCancelled: () -> Bool = { false },
        using generator: inout some RandomNumberGenerator
    ) throws(LockingError) -> LockGuard {
        let began = clock.now()
        let candidate = try openDescription()
        // From the time of a short critical section to what a person does not notice.
        let backoff = Backoff(least: .milliseconds(1), largest: .milliseconds(50))
        var attempt = 0
        while !(try tryLock(candidate, lock, mode)) {
            if isCancelled() { throw .cancelled }
            let now = clock.now()
            if deadline.hasPassed(at: now) {
                throw .busy(
                    lock,
                    holders: try holders(of: lock),
                    waited: now.duration(since: began)
                )
            }
            let wait = backoff.wait(attempt: attempt, using: &generator)
            // The thread sleeps by the kernel's clock, whichever one the deadline is on.
            let kernel = SystemClock()
            let pause = min(wait, deadline.remaining(at: now))
            kernel.sleep(until: Deadline(after: pause, from: kernel.now()))
            attempt += 1
        }
        return LockGuard(holding: lock, mode, by: candidate)
    }

    /// ``acquire(_:_:until:isCancelled:using:)`` with a seed from the system.
    package func acquire(
        _ lock: LockByte,
        _ mode: LockMode,
        until deadline: Deadline,
        isCancelled: () -> Bool = { false }
    ) throws(LockingError) -> LockGuard {
        var generator = SplitMix64(seed: .random(in: 0 ... .max))
        return try acquire(
            lock,
            mode,
            until: deadline,
            isCancelled: isCancelled,
            using: &generator
        )
    }

    /// Whether somebody else holds a lock in a mode that would refuse `mode`. An answer of the past
    /// by the time it is read. Guards of this process count as somebody else.
    ///
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func isHeld(_ lock: LockByte, against mode: LockMode) throws(LockingError) -> Bool {
        try systemCalls { () throws(SystemCallError) in
            try descriptor.isHeldElsewhere(LockFileLayout.byte(of: lock), against: mode)
        }
    }

    /// Whether the path still names the file that this process has locked.
    ///
    /// - Throws: ``LockingError/lockFileReplaced(path:)`` when it does not;
    ///   ``LockingError/system(_:)`` when the kernel refuses.
    package func checkPath() throws(LockingError) {
        let isStill = try systemCalls { () throws(SystemCallError) in
            try descriptor.isStill(at: path)
        }
        if !isStill { throw .lockFileReplaced(path: path) }
    }

    /// Another description on the same file.
    func openDescription() throws(LockingError) -> LockDescriptor {
        let candidate = try systemCalls { () throws(SystemCallError) in
            try LockDescriptor(opening: path)
        }
        guard candidate.identity == descriptor.identity else {
            throw .lockFileReplaced(path: path)
        }
        return candidate
    }

    private func tryLock(
        _ candidate: borrowing LockDescriptor,
        _ lock: LockByte,
        _ mode: LockMode
    ) throws(LockingError) -> Bool {
        let isLocked: Bool
        do throws(SystemCallError) {
            isLocked = try candidate.tryLock(LockFileLayout.byte(of: lock), mode)
        } catch {
            throw .system(error)
        }
        if isLocked { try checkPath() }
        return isLocked
    }
}
