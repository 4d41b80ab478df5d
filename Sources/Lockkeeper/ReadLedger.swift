import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperStorage
import Synchronization

/// Which read transactions of this process are open at an account, and which one's age the others
/// can see.
///
/// ```
/// quiet ──a read begins──▶ watched ──the tick finds one open──▶ published
///   ▲                        │  ▲                                  │
///   └──the tick finds none───┘  └──the published read ends─────────┘
/// ```
///
/// A read costs no system call: it is noted in memory. A tick while there are reads writes the
/// oldest down, so that only one that lasts is ever written.
struct OpenReads {
    private var open: [(number: UInt64, read: OldestRead)] = []
    private var lastNumber: UInt64 = 0
    private var publishedNumber: UInt64?
    private var isTicking = false

    /// Notes a read. `needsTick` says that a tick is to come.
    mutating func begin(_ read: OldestRead) -> (number: UInt64, needsTick: Bool) {
        lastNumber += 1
        open.append((lastNumber, read))
        defer { isTicking = true }
        return (lastNumber, !isTicking)
    }

    /// Forgets a read. Returns whether it was the one that the others see.
    mutating func end(_ number: UInt64) -> Bool {
        // The oldest stand first, and most readers are alone.
        open.removeAll { $0.number == number }
        guard publishedNumber == number else { return false }
        publishedNumber = nil
        return true
    }

    /// What the tick has to write down, and whether another one is to come.
    mutating func tick() -> (publish: OldestRead?, needsTick: Bool) {
        guard let oldest = open.first else {
            isTicking = false
            return (nil, false)
        }
        guard publishedNumber == nil else { return (nil, true) }
        publishedNumber = oldest.number
        return (oldest.read, true)
    }

    /// No tick could be had; the next read asks for one again.
    mutating func tickFailed() { isTicking = false }
}

/// Keeps the record of this process's oldest read at an account, so that `status` can name who pins
/// the log.
///
/// Lock rule: the mutex is held while the record is written, so that the record says what the
/// ledger does; the membership's lock is taken inside of it, for one call that does not wait.
final class ReadLedger: Sendable {
    private let reads = Mutex(OpenReads())
    private let membership: LockFileMembership
    private let clock: any MonotonicClock
    private let timer: DeadlineTimer

    /// What a read must at least last to be written down: longer than a healthy one, shorter than
    /// what a person waits before looking.
    private static let tickInterval = Duration.milliseconds(100)

    init(_ membership: LockFileMembership, clock: any MonotonicClock, timer: DeadlineTimer) {
        self.membership = membership
        self.clock = clock
        self.timer = timer
    }

    /// Notes that a read began, and returns what names it to ``end(_:)``. Never waits.
    func begin(_ purpose: ReadPurpose) -> UInt64 {
        let read = OldestRead(purpose: purpose, since: clock.now())
        let (number, needsTick) = reads.withLock { $0.begin(read) }
        if needsTick { scheduleTick() }
        return number
    }

    /// Notes that a read ended. Never waits; one system call after a read that was written down.
    func end(_ number: UInt64) {
        reads.withLock { reads in
            // The record is for people: a read does not fail for it.
            if reads.end(number) { try? membership.setOldestRead(nil) }
        }
    }

    private func tick() {
        let needsTick = reads.withLock { reads in
            let step = reads.tick()
            if let read = step.publish { try? membership.setOldestRead(read) }
            return step.needsTick
        }
        if needsTick { scheduleTick() }
    }

    private func scheduleTick() {
        let next = Deadline(after: Self.tickInterval, from: SystemClock().now())
        do {
            try timer.schedule(at: next) { [weak self] in self?.tick() }
        } catch {
            reads.withLock { $0.tickFailed() }
        }
    }
}

/// The reads of one connection, which has one at a time.
final class NotedReads: SnapshotWatcher {
    private let ledger: ReadLedger
    private var number: UInt64?

    init(_ ledger: ReadLedger) { self.ledger = ledger }

    func began(_ purpose: ReadPurpose) { number = ledger.begin(purpose) }

    func ended() {
        if let number { ledger.end(number) }
        number = nil
    }
}
