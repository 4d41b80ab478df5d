import LockkeeperDomain

/// The first-in-first-out line of one process's callers before the turnstile, as a pure state
/// machine: it knows no thread, lock or clock.
///
///                      stand                     admit: the first in line
///       ┌────▶ idle ──────────────▶ standing ───────────────────────────────▶ admitted
///       │        ▲                    │                                          │
///       │        └── admit: nobody ◀──┤                                          │
///       │        └── refuse ◀─────────┘                                          │
///       └─────────────────────────── release ◀───────────────────────────────────┘
///
///       idle ──▶ ended               stand, once the line is closed
///
/// - `idle`: the thread sleeps or runs its way back to sleep. It holds nothing.
/// - `standing`: the thread waits in the kernel for QUEUE or WRITER, or has just been granted them.
///   It stands there for whoever is first when it is granted: a caller that leaves gives its place
///   to the next one, and no caller's place is lost.
/// - `admitted`: WRITER is held for one piece of work. No other leaves the line meanwhile except by
///   deadline or withdrawal.
/// - `ended`: the thread has gone or is going. Nothing is in line and nothing comes in.
///
/// `submit`, `withdraw`, `expire` and `close` are possible in every state.
///
/// One timer serves all deadlines. It is set when there is none or a nearer deadline comes, and is
/// not taken back when work is admitted, because most work is admitted long before its deadline:
/// so the hot path touches no timer, and the timer that fires in vain is set anew.
struct AdmissionLine<Work: Sendable>: Sendable {
    private var waiters: [Waiter] = []
    private var phase = Phase.idle
    private var isClosed = false
    private var ticketCount: UInt64 = 0
    private var timer: Deadline?
    private let waiterCountMax: Int

    private enum Phase: Sendable {
        case idle, standing, admitted, ended
    }

    /// Somebody in line.
    struct Waiter: Sendable {
        let ticket: AdmissionTicket
        let work: Work
        let deadline: Deadline
        let since: MonotonicInstant
    }

    /// What follows from a submission.
    enum Submission: Sendable {
        /// The work is in line. The thread is to be woken, and the timer to be set, where said.
        case waits(AdmissionTicket, wakesThread: Bool, setTimer: Deadline?)
        /// The work cannot be taken.
        case refused(AdmissionTicket, LockingError)
    }

    /// What the thread is to do.
    enum Step: Sendable, Equatable {
        case sleep
        case enterTurnstile
        case end
    }

    /// An empty line. The default bound is that of the ingest queue: work is at least one event.
    init(waiterCountMax: Int = Limits().queueEventCountMax) {
        self.waiterCountMax = waiterCountMax
    }

    /// How many wait.
    var count: Int { waiters.count }

    /// Whether the thread has gone.
    var hasEnded: Bool { phase == .ended }

    /// Puts work at the end of the line.
    mutating func submit(
        _ work: Work,
        deadline: Deadline,
        now: MonotonicInstant
    ) -> Submission {
        ticketCount += 1
        let ticket = AdmissionTicket(number: ticketCount)
        if isClosed { return .refused(ticket, .closed) }
        if waiters.count >= waiterCountMax {
            return .refused(ticket, .lineFull(waiterCountMax: waiterCountMax))
        }
        waiters.append(Waiter(ticket: ticket, work: work, deadline: deadline, since: now))
        return .waits(
            ticket,
            wakesThread: phase == .idle,
            setTimer: setTimer(for: deadline)
        )
    }

    /// The timer that a submission asked for cannot be had: nobody could keep the promise of its
    /// deadline, so the work leaves the line. The next submission asks again.
    mutating func timerFailed(for ticket: AdmissionTicket) -> Work? {
        timer = nil
        return withdraw(ticket)
    }

    /// Takes work out of the line; `nil` where it was admitted, failed or withdrawn before.
    mutating func withdraw(_ ticket: AdmissionTicket) -> Work? {
        guard let index = waiters.firstIndex(where: { $0.ticket == ticket }) else { return nil }
        return waiters.remove(at: index).work
    }

    /// The thread asks what to do; idle → standing or ended.
    mutating func stand() -> Step {
        precondition(phase == .idle, "the thread asks only between two pieces of work")
        if isClosed {
            phase = .ended
            return .end
        }
        if waiters.isEmpty { return .sleep }
        phase = .standing
        return .enterTurnstile
    }

    /// The thread was granted WRITER; standing → admitted with the first in line, or → idle where
    /// everybody has left: WRITER is then released at once.
    mutating func admit() -> Waiter? {
        precondition(phase == .standing, "only who stands in the turnstile is admitted")
        if waiters.isEmpty {
            phase = .idle
            return nil
        }
        phase = .admitted
        return waiters.removeFirst()
    }

    /// The turnstile failed; standing → idle. The first in line fails with it, the others try for
    /// themselves.
    mutating func refuse() -> Work? {
        precondition(phase == .standing, "only who stands in the turnstile is refused")
        phase = .idle
        return waiters.isEmpty ? nil : waiters.removeFirst().work
    }

    /// The thread has let WRITER go; admitted → idle. Returns whether others wait.
    mutating func release() -> Bool {
        precondition(phase == .admitted, "only who was admitted releases")
        phase = .idle
        return !waiters.isEmpty
    }

    /// The timer fired: those whose deadline has passed leave the line, in their order. Also says
    /// to what the timer is to be set next.
    mutating func expire(now: MonotonicInstant) -> (expired: [Waiter], setTimer: Deadline?) {
        // A timer that a nearer one has replaced says nothing.
        guard let timer, timer.hasPassed(at: now) else { return ([], nil) }
        self.timer = nil
        let expired = waiters.filter { $0.deadline.hasPassed(at: now) }
        if !expired.isEmpty { waiters.removeAll { $0.deadline.hasPassed(at: now) } }
        let next = waiters.lazy.map(\.deadline).min()
        return (expired, next.flatMap { setTimer(for: $0) })
    }

    /// Lets nobody in any more, and everybody out who waits.
    mutating func close() -> [Waiter] {
        isClosed = true
        defer { waiters = [] }
        return waiters
    }

    private mutating func setTimer(for deadline: Deadline) -> Deadline? {
        if deadline == .never { return nil }
        if let timer, timer <= deadline { return nil }
        timer = deadline
        return deadline
    }
}
