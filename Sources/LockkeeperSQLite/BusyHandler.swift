import CLockkeeperSQLite
import Glibc
import LockkeeperDomain

/// What a connection does while another one holds the lock that it needs.
///
/// SQLite's own `busy_timeout` starts anew with each statement and sleeps in fixed steps. This one
/// has a budget over everything that is done until its deadline, sleeps from 50 µs upwards with
/// jitter, and can be cancelled.
final class BusyHandler {
    /// When waiting ends.
    var deadline: Deadline = .never
    /// Asked around each wait: true ends waiting. For a caller who waits no longer; a call of
    /// `sqlite3_interrupt` does not reach a wait (B11).
    var isAbandoned: (() -> Bool)?

    private let clock: any MonotonicClock
    private let interrupt: InterruptHandle
    private var generator: SeededGenerator

    /// From what a transaction of another process takes to what a person would notice.
    private static let backoff = Backoff(least: .microseconds(50), largest: .milliseconds(5))

    init(clock: any MonotonicClock, interrupt: InterruptHandle, seed: UInt64) {
        self.clock = clock
        self.interrupt = interrupt
        self.generator = SeededGenerator(seed: seed)
    }

    /// Installs the handler. The connection keeps it alive longer than its database handle.
    func install(on database: OpaquePointer) {
        sqlite3_busy_handler(
            database,
            { context, attempt in
                guard let context else { return 0 }
                let handler = Unmanaged<BusyHandler>.fromOpaque(context).takeUnretainedValue()
                return handler.wait(attempt: Int(attempt)) ? 1 : 0
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    /// Waits before SQLite tries again; false when it should give up.
    private func wait(attempt: Int) -> Bool {
        if isCancelled { return false }
        let remaining = deadline.remaining(at: clock.now())
        if remaining == .zero { return false }
        let wait = min(Self.backoff.wait(attempt: attempt, using: &generator), remaining)
        var time = timespec()
        time.tv_nsec = Int(wait.wholeNanoseconds)
        // A signal cuts the sleep short, which does no harm: SQLite tries again a little earlier.
        nanosleep(&time, nil)
        return !isCancelled
    }

    private var isCancelled: Bool { interrupt.isCancelled || isAbandoned?() == true }
}
