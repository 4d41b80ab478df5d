package import LockkeeperDomain
package import LockkeeperPlatform
import Synchronization

/// A process's place in a lock file: one byte that it locks for life, and one record that says who
/// it is and what it is doing.
///
///     attached ── detach ──▶ detached ── attach ──▶ attached, in another slot perhaps
///
/// Lock rules
/// 1. While attached the record's byte is held exclusively. A dead owner's slot is free because the
///    kernel let the byte go, whatever its record says (B32).
/// 2. Only the owner of the byte writes the record.
/// 3. Guards have descriptions of their own; the membership's holds nothing but the record's byte.
/// 4. Each acquisition ends with a look whether the path still names the locked file (B34).
/// 5. `claim` is held for single calls that do not wait, so that nothing is under way on a
///    descriptor when `detach` closes it; never while a lock is waited for.
/// 6. In a forked child nothing is touched: its copy of `claim` may be held by a thread that it
///    does not have.
package final class LockFileMembership: Sendable {
    /// The lock file.
    package let path: String
    /// Who this process is.
    package let process: ProcessDescription
    let clock: any MonotonicClock
    private let mark = ForkMark.current
    private let claim: Monitor<ClaimedSlot?>
    private let census = OpenDescription.Census()
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
        claim = Monitor(try ClaimedSlot.claim(path: path, record: record))
        self.path = path
        self.process = process
        self.clock = clock
        nameByteCounts = (
            LockFileLayout.keptByteCount(process.program),
            LockFileLayout.keptByteCount(process.processName)
        )
    }

    // MARK: - Leaving for a while

    /// Gives up the slot and closes the file: this process holds no byte of it and has no
    /// descriptor of it open. Every call but ``attach()`` throws ``LockingError/suspended`` until
    /// then. Does nothing the second time.
    ///
    /// The order for a whole account: ``WriterThread/suspend(_:until:)``, close the connections,
    /// release PRESENCE and every other guard, `detach()`. And back: ``attach()``,
    /// ``Presence/enter(_:until:isCancelled:)``, read the registry's current file, open the
    /// connections, ``WriterThread/resume()``.
    ///
    /// - Throws: ``LockingError/descriptorsOpen(path:count:)`` when guards, turnstiles or waits
    ///   still have the file open; ``LockingError/forkedChild`` in a forked child. Nothing has
    ///   changed then.
    package func detach() throws(LockingError) {
        try refuseInChild()
        try claim.withLock { (claim) throws(LockingError) in
            if claim == nil { return }
            let count = census.count
            guard count == 0 else { throw .descriptorsOpen(path: path, count: count) }
            // The last reference: this closes the file.
            claim = nil
        }
    }

    /// Opens the file again and takes a slot. Does nothing where the membership is attached.
    ///
    /// - Throws: As ``init(path:process:clock:)``, and ``LockingError/forkedChild`` in a forked
    ///   child. It is still detached then.
    package func attach() throws(LockingError) {
        try refuseInChild()
        try claim.withLock { (claim) throws(LockingError) in
            if claim != nil { return }
            let record = ProcessRecord(process: process, activity: .opening, since: clock.now())
            claim = try ClaimedSlot.claim(path: path, record: record)
        }
    }

    // MARK: - Activity

    /// Writes down what this process is doing, before it begins. One system call.
    ///
    /// - Parameter progress: how far it is, where that has steps.
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func setActivity(
        _ activity: ProcessActivity,
        _ progress: ActivityProgress? = nil
    ) throws(LockingError) {
        try withClaim { (claim) throws(SystemCallError) in
            try write(activity, progress, to: claim)
        }
    }

    /// Writes down that this process does nothing, where nothing was written down after `activity`.
    /// Returns at once where something was: another thread is at work.
    ///
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func setIdle(after activity: ProcessActivity) throws(LockingError) {
        try withClaim { (claim) throws(SystemCallError) in
            guard claim.lastActivity.load(ordering: .relaxed) == activity.rawValue else { return }
            try write(.idle, to: claim)
        }
    }

    private func write(
        _ activity: ProcessActivity,
        _ progress: ActivityProgress? = nil,
        to claim: ClaimedSlot
    ) throws(SystemCallError) {
        claim.lastActivity.store(activity.rawValue, ordering: .relaxed)
        var words = LockFileLayout.activityWords(
            activity,
            clock.now(),
            process.role,
            nameByteCounts: nameByteCounts,
            progress
        )
        let offset = LockFileLayout.offset(ofSlot: claim.slot) + LockFileLayout.activityOffset
        try withUnsafeBytes(of: &words) { (bytes) throws(SystemCallError) in
            try claim.descriptor.write(bytes, at: offset)
        }
    }

    /// Writes down since when the oldest read transaction of this process runs. One system call.
    ///
    /// - Throws: ``LockingError/system(_:)`` when the kernel refuses.
    package func setOldestRead(_ read: OldestRead?) throws(LockingError) {
        try withClaim { (claim) throws(SystemCallError) in
            try claim.descriptor.write(
                LockFileLayout.encode(read),
                at: LockFileLayout.offset(ofSlot: claim.slot) + LockFileLayout.oldestReadOffset
            )
        }
    }

    // MARK: - Acquiring

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
        guard try tryLock(candidate, LockFileLayout.byte(of: lock), mode) else { return nil }
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
        while !(try tryLock(candidate, LockFileLayout.byte(of: lock), mode)) {
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
        try withClaim { (claim) throws(SystemCallError) in
            try claim.descriptor.isHeldElsewhere(LockFileLayout.byte(of: lock), against: mode)
        }
    }

    /// Whether the path still names the file that this process has locked.
    ///
    /// - Throws: ``LockingError/lockFileReplaced(path:)`` when it does not;
    ///   ``LockingError/system(_:)`` when the kernel refuses.
    package func checkPath() throws(LockingError) {
        let isStill = try withClaim { (claim) throws(SystemCallError) in
            try claim.descriptor.isStill(at: path)
        }
        if !isStill { throw .lockFileReplaced(path: path) }
    }

    // MARK: - Within the room

    /// Another description on the same file. Under the lock, so that none is opened between the
    /// count of `detach` and its closing.
    func openDescription() throws(LockingError) -> OpenDescription {
        try refuseInChild()
        return try claim.withLock { (claim) throws(LockingError) in
            guard let claim else { throw .suspended }
            return try OpenDescription(
                path: path,
                identity: claim.descriptor.identity,
                census: census
            )
        }
    }

    /// Makes calls on the membership's own descriptor. They must not wait.
    func withClaim<Result>(
        _ body: (ClaimedSlot) throws(SystemCallError) -> Result
    ) throws(LockingError) -> Result {
        try refuseInChild()
        return try claim.withLock { (claim) throws(LockingError) in
            guard let claim else { throw .suspended }
            return try systemCalls { () throws(SystemCallError) in try body(claim) }
        }
    }

    private func refuseInChild() throws(LockingError) {
        if !mark.isCurrent { throw .forkedChild }
    }

    /// Locks a byte on a description where it is free, and looks whether the path still names the
    /// file (rule 4).
    func tryLock(
        _ candidate: borrowing OpenDescription,
        _ byte: Int64,
        _ mode: LockMode
    ) throws(LockingError) -> Bool {
        let isLocked: Bool
        do throws(SystemCallError) {
            isLocked = try candidate.descriptor.tryLock(byte, mode)
        } catch {
            throw .system(error)
        }
        if isLocked { try checkPath() }
        return isLocked
    }
}
