import LockkeeperDomain
import LockkeeperPlatform
import Synchronization

/// How far apart writes of this process are kept while the log is degraded, so that they do not fill
/// the disk behind a reader that pins it.
///
/// The rule, with `x` the log's size over ``Limits/logByteCountDegraded``:
///
/// | class | up to | then | at the most |
/// |---|---|---|---|
/// | backfill | x = 1: no pause | in proportion | ``Limits/degradedBackfillPause`` from x = 2 on |
/// | upkeep | x = 1: no pause | – | ``Limits/degradedBackfillPause`` |
/// | live | x = 2: no pause | in proportion | ``Limits/degradedLivePause`` from x = 4 on |
///
/// Each write of a class stands that far behind the one before, before it stands in the line: nobody
/// waits inside of a lock. One that finds no other before it is not kept waiting.
struct WritePace: Equatable {
    /// When the next write of each class may stand in the line.
    private var next: [AdmissionClass: MonotonicInstant] = [:]

    /// How far apart writes of a class are kept.
    static func pause(
        _ admissionClass: AdmissionClass,
        logByteCount: Int64,
        limits: Limits
    ) -> Duration {
        let excess = Double(logByteCount) / Double(max(1, limits.logByteCountDegraded))
        return switch admissionClass {
        case .backfill: limits.degradedBackfillPause * min(1, max(0, excess - 1))
        case .upkeep: excess > 1 ? limits.degradedBackfillPause : .zero
        case .live: limits.degradedLivePause * min(1, max(0, (excess - 2) / 2))
        }
    }

    /// How long a write has to wait that comes now; zero where it need not.
    mutating func wait(
        _ admissionClass: AdmissionClass,
        pause: Duration,
        now: MonotonicInstant
    ) -> Duration {
        guard pause > .zero else {
            next[admissionClass] = nil
            return .zero
        }
        let turn = max(now, next[admissionClass] ?? now)
        next[admissionClass] = turn.advanced(by: pause)
        return turn.duration(since: now)
    }
}

/// The pace of one session's writes.
///
/// Times are the kernel's, because it is the kernel that wakes.
final class WritePacer: Sendable {
    private let limits: Limits
    private let timer: DeadlineTimer
    private let logByteCount = Atomic<Int64>(0)
    private let pace = Mutex(WritePace())
    private let clock = SystemClock()

    init(limits: Limits, timer: DeadlineTimer) {
        self.limits = limits
        self.timer = timer
    }

    /// Says how large the log is after a commit.
    func logGrew(to byteCount: Int64) { logByteCount.store(byteCount, ordering: .relaxed) }

    /// How long a write that comes now has to wait before it stands in the line.
    func wait(_ admissionClass: AdmissionClass) -> Duration {
        let byteCount = logByteCount.load(ordering: .relaxed)
        // The ordinary case costs no lock.
        guard byteCount > Int64(limits.logByteCountDegraded) else { return .zero }
        let pause = WritePace.pause(admissionClass, logByteCount: byteCount, limits: limits)
        let now = clock.now()
        return pace.withLock { $0.wait(admissionClass, pause: pause, now: now) }
    }

    /// Runs an action when its write's turn has come: at once, or on the timer's thread.
    func whenDue(_ admissionClass: AdmissionClass, _ action: @escaping @Sendable () -> Void) {
        let wait = wait(admissionClass)
        guard wait > .zero else { return action() }
        do {
            try timer.schedule(at: Deadline(after: wait, from: clock.now()), action: action)
        } catch {
            // Without a thread for the timer a write is made early and not lost.
            action()
        }
    }
}
