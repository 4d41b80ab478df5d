import LockkeeperDomain

/// The line of one process's callers before the turnstile, as a pure state machine: it knows no
/// thread, lock or clock.
///
///                      stand                     admit: the first in line
///       ┌────▶ idle ──────────────▶ standing ───────────────────────────────▶ admitted
///       │      │ ▲                    │                                          │
///       │      │ └── admit: nobody ◀──┤                                          │
///       │      │ └── refuse, retreat ◀┘                                          │
///       │      │                                                                 │
///       │      └── stand, once suspended ──▶ parking ── parked ──▶ parked        │
///       ├────────────────────────── resume ◀─────────────────────────┘           │
///       └─────────────────────────── release ◀───────────────────────────────────┘
///
///       idle, parked ──▶ ended       stand, once the line is closed
///
/// - `idle`: the thread sleeps or runs its way back to sleep. It holds nothing.
/// - `standing`: the thread waits in the kernel for QUEUE or WRITER, or has just been granted them.
///   It stands there for whoever is first when it is granted: a caller that leaves gives its place
///   to the next one, and no caller's place is lost. Once the line is suspended or closed it is
///   granted for nobody.
/// - `admitted`: WRITER is held for one piece of work. No other leaves the line meanwhile except by
///   deadline or withdrawal. `admitAnother` follows it with the next in line, one after the other,
///   until the admission has lasted for ``Limits/admissionTimeMax``.
/// - `parking`: the thread closes its descriptor. `parked`: it has none, and sleeps.
/// - `ended`: the thread has gone or is going. Nothing is in line and nothing comes in.
///
/// `submit`, `withdraw`, `expire`, `suspend`, `resume` and `close` are possible in every state.
///
/// Order: first in, first out within a class; live before backfill, but after seven live ones in a
/// row one backfill goes, if one waits. So an eighth of the admissions keeps a backfill moving
/// under any load, and live work waits for at most one that it would not have waited for.
///
/// One timer serves all deadlines. It is set when there is none or a nearer deadline comes, and is
/// not taken back when work is admitted, because most work is admitted long before its deadline:
/// so the hot path touches no timer, and the timer that fires in vain is set anew. The looks at a
/// turnstile in which the thread waits for QUEUE are timed in the same way.
struct AdmissionLine<Work: Sendable>: Sendable {
    private var live: [Waiter] = []
    private var backfill: [Waiter] = []
    private var upkeep: [Waiter] = []
    private var liveRunLength = 0
    private var runLengthBeforeUpkeep = 0
    private var phase = Phase.idle
    private(set) var isClosed = false
    private(set) var suspension: Suspension?
    private var ticketCount: UInt64 = 0
    private var timer: Deadline?
    private var watch: Watch?
    private var isLookScheduled = false
    /// How many followed the first of this admission.
    private var followerCount = 0
    private let passesQueueByAfter: Duration
    private let admissionTimeMax: Duration
    private let waiterCountMax: Int

    /// How many live ones are admitted in a row while a backfill waits.
    static var liveRunLengthMax: Int { 7 }
    /// How many others are admitted in a row while upkeep waits.
    static var runLengthBeforeUpkeepMax: Int { 63 }
    /// How many follow the first of an admission, where the clock stands still.
    static var followerCountMax: Int { 63 }

    private enum Phase: Sendable {
        case idle, standing, admitted, parking, parked, ended
    }

    /// The thread waits for QUEUE.
    private struct Watch: Sendable {
        let since: MonotonicInstant
        var machine: QueueWatch
    }

    /// Somebody in line.
    struct Waiter: Sendable {
        let ticket: AdmissionTicket
        let work: Work
        private(set) var deadline: Deadline
        let since: MonotonicInstant

        init(ticket: AdmissionTicket, work: Work, deadline: Deadline, since: MonotonicInstant) {
            self.ticket = ticket
            self.work = work
            self.deadline = deadline
            self.since = since
        }

        /// Waits as long as at first, from now on.
        mutating func beginAnew(at now: MonotonicInstant) {
            if deadline == .never { return }
            deadline = Deadline(after: deadline.instant.duration(since: since), from: now)
        }
    }

    /// What follows from a submission.
    enum Submission: Sendable {
        /// The work is in line. The thread is to be woken, the timer to be set, and the turnstile
        /// to be looked at, where said.
        case waits(AdmissionTicket, wakesThread: Bool, setTimer: Deadline?, look: Deadline?)
        /// The work cannot be taken.
        case refused(AdmissionTicket, LockingError)
    }

    /// What the thread is to do.
    enum Step: Sendable, Equatable {
        case sleep
        case enterTurnstile
        /// Close the turnstile and say ``AdmissionLine/parked()``.
        case park
        case end
    }

    /// What whoever was to look at the turnstile is to do.
    enum LookStep: Sendable, Equatable {
        /// Nothing: the thread does not wait for QUEUE, or waits for nobody.
        case none
        /// Nothing yet: the thread waits for QUEUE since a short while.
        case later(Deadline)
        /// Look, and say what was seen.
        case look
    }

    /// An empty line. The default bound is that of the ingest queue, for each class: work is at
    /// least one event, and a backfill that fills its line keeps no live work out.
    init(
        waiterCountMax: Int = Limits().queueEventCountMax,
        passesQueueByAfter: Duration = Limits().queuePassedByAfter,
        admissionTimeMax: Duration = Limits().admissionTimeMax
    ) {
        self.waiterCountMax = waiterCountMax
        self.admissionTimeMax = admissionTimeMax
        self.passesQueueByAfter = passesQueueByAfter
    }

    /// How many wait.
    var count: Int { live.count + backfill.count + upkeep.count }

    /// Whether the thread has gone.
    var hasEnded: Bool { phase == .ended }

    /// Whether the thread has no descriptor.
    var isParked: Bool { phase == .parked }

    /// Whether the thread may be waiting in the kernel.
    var isStanding: Bool { phase == .standing }

    /// Whether the thread is to let go of what it is granted.
    private var isLeaving: Bool { isClosed || suspension != nil }

    // MARK: - Callers

    /// Puts work at the end of its class.
    mutating func submit(
        _ work: Work,
        class admissionClass: AdmissionClass = .live,
        deadline: Deadline,
        now: MonotonicInstant
    ) -> Submission {
        ticketCount += 1
        let ticket = AdmissionTicket(number: ticketCount)
        if isClosed { return .refused(ticket, .closed) }
        if suspension == .refusing { return .refused(ticket, .suspended) }
        let waiter = Waiter(ticket: ticket, work: work, deadline: deadline, since: now)
        guard append(waiter, to: admissionClass) else {
            return .refused(ticket, .lineFull(waiterCountMax: waiterCountMax))
        }
        return .waits(
            ticket,
            wakesThread: phase == .idle,
            setTimer: setTimer(for: deadline),
            // The looks ended if the thread was left standing for nobody.
            look: watch.flatMap { lookNotBefore($0.since) }
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
        if let index = live.firstIndex(where: { $0.ticket == ticket }) {
            return live.remove(at: index).work
        }
        if let index = backfill.firstIndex(where: { $0.ticket == ticket }) {
            return backfill.remove(at: index).work
        }
        if let index = upkeep.firstIndex(where: { $0.ticket == ticket }) {
            return upkeep.remove(at: index).work
        }
        return nil
    }

    /// The timer fired: those whose deadline has passed leave the line, in the order in which they
    /// came. Also says to what the timer is to be set next.
    ///
    /// - Parameter kernelNow: the time by the clock that timers run on. One that fires very late says
    ///   that the process was stopped or frozen, nobody knows since when: that uses up nobody's
    ///   patience, and all who wait begin to wait anew.
    mutating func expire(
        now: MonotonicInstant,
        kernelNow: MonotonicInstant? = nil
    ) -> (expired: [Waiter], setTimer: Deadline?) {
        // A timer that a nearer one has replaced says nothing.
        guard let timer, timer.hasPassed(at: now) else { return ([], nil) }
        self.timer = nil
        if let kernelNow, kernelNow.duration(since: timer.instant) >= Self.standstillMin {
            beginAnew(at: now)
        }
        let expired = waitersInOrder.filter { $0.deadline.hasPassed(at: now) }
        if !expired.isEmpty {
            live.removeAll { $0.deadline.hasPassed(at: now) }
            backfill.removeAll { $0.deadline.hasPassed(at: now) }
            upkeep.removeAll { $0.deadline.hasPassed(at: now) }
        }
        let next = [live, backfill, upkeep].lazy.joined().map(\.deadline).min() ?? .never
        return (expired, setTimer(for: next))
    }

    /// Longer than a busy machine lets a timer wait.
    private static var standstillMin: Duration { .milliseconds(500) }

    private mutating func beginAnew(at now: MonotonicInstant) {
        for index in live.indices { live[index].beginAnew(at: now) }
        for index in backfill.indices { backfill[index].beginAnew(at: now) }
        for index in upkeep.indices { upkeep[index].beginAnew(at: now) }
    }

    /// Asks the thread to hold nothing, not even a descriptor. Who waits goes on waiting.
    mutating func suspend(_ suspension: Suspension = .refusing) { self.suspension = suspension }

    /// Goes on with a thread that is parked; parked → idle at once, so that one that has not
    /// noticed yet does not pass for parked when the line is suspended again. Returns `false` where the
    /// line was closed meanwhile.
    mutating func resume() -> Bool {
        if isClosed { return false }
        precondition(phase == .parked, "a thread that closes its descriptor is waited for")
        suspension = nil
        phase = .idle
        return true
    }

    /// Goes on where the thread has not come to closing its descriptor. Returns whether that is so.
    mutating func resumeBeforeParking() -> Bool {
        if phase == .parking || phase == .parked { return false }
        suspension = nil
        return true
    }

    /// Lets nobody in any more, and everybody out who waits, in the order in which they came.
    mutating func close() -> [Waiter] {
        isClosed = true
        defer { (live, backfill, upkeep) = ([], [], []) }
        return waitersInOrder
    }

    // MARK: - The thread

    /// The thread asks what to do; idle or parked → standing, parking or ended.
    mutating func stand() -> Step {
        precondition(
            phase == .idle || phase == .parked,
            "the thread asks only between two pieces of work"
        )
        if isClosed {
            phase = .ended
            return .end
        }
        if phase == .parked { return .sleep }
        if suspension != nil {
            phase = .parking
            return .park
        }
        if count == 0 { return .sleep }
        phase = .standing
        return .enterTurnstile
    }

    /// The thread has closed its descriptor; parking → parked.
    mutating func parked() {
        precondition(phase == .parking, "only who was asked to parks")
        phase = .parked
    }

    /// The thread has to wait for QUEUE. Returns when to look at the turnstile, where nobody is
    /// about to.
    mutating func waitForQueue(now: MonotonicInstant) -> Deadline? {
        precondition(phase == .standing, "only who stands in the turnstile waits for QUEUE")
        watch = Watch(since: now, machine: QueueWatch(after: passesQueueByAfter))
        return lookNotBefore(now)
    }

    /// The thread waits for QUEUE no longer.
    mutating func waitForWriter() { watch = nil }

    /// The thread was granted WRITER; standing → admitted with the first in line, or → idle where
    /// everybody has left, or the thread is to: WRITER is then released at once.
    mutating func admit() -> Waiter? {
        precondition(phase == .standing, "only who stands in the turnstile is admitted")
        watch = nil
        guard !isLeaving, let first = takeFirst() else {
            phase = .idle
            return nil
        }
        phase = .admitted
        followerCount = 0
        return first
    }

    /// The work that was admitted is done, and WRITER is still held: the next in line is admitted
    /// with it. `nil` where nobody waits, the thread is to leave or the admission has lasted long
    /// enough: WRITER is then released.
    mutating func admitAnother(grantedAt: MonotonicInstant, now: MonotonicInstant) -> Waiter? {
        precondition(phase == .admitted, "only who was admitted is followed")
        guard !isLeaving, followerCount < Self.followerCountMax,
            now.duration(since: grantedAt) < admissionTimeMax, let next = takeFirst()
        else { return nil }
        followerCount += 1
        return next
    }

    /// The turnstile failed; standing → idle. The first in line fails with it, the others try for
    /// themselves.
    mutating func refuse() -> Work? {
        retreat()
        return takeFirst()?.work
    }

    /// The thread was called out of the turnstile; standing → idle. Nobody loses a place in line.
    mutating func retreat() {
        precondition(phase == .standing, "only who stands in the turnstile leaves it")
        watch = nil
        phase = .idle
    }

    /// The thread has let WRITER go; admitted → idle. Returns whether others wait.
    mutating func release() -> Bool {
        precondition(phase == .admitted, "only who was admitted releases")
        phase = .idle
        return count > 0
    }

    // MARK: - Looks

    /// The time to look at the turnstile has come.
    mutating func lookIsDue(now: MonotonicInstant) -> LookStep {
        guard let watch, count > 0, !isLeaving else {
            isLookScheduled = false
            return .none
        }
        let deadline = Deadline(after: passesQueueByAfter, from: watch.since)
        return deadline.hasPassed(at: now) ? .look : .later(deadline)
    }

    /// The turnstile was looked at; `nil` where the thread waits for QUEUE no longer.
    mutating func looked(
        _ sight: QueueWatch.Sight,
        now: MonotonicInstant
    ) -> QueueWatch.Conclusion? {
        isLookScheduled = watch != nil
        return watch?.machine.look(sight, now: now)
    }

    /// QUEUE's holder was looked for; `nil` where the thread waits for QUEUE no longer.
    mutating func judged(
        holderIsRunning: Bool?,
        now: MonotonicInstant
    ) -> QueueWatch.Conclusion? {
        isLookScheduled = watch != nil
        return watch?.machine.judge(holderIsRunning: holderIsRunning, now: now)
    }

    /// The turnstile could not be looked at, or no timer be had for it: the next wait, or the next
    /// caller, asks again.
    mutating func lookFailed() { isLookScheduled = false }

    // MARK: - Private

    /// When to look at a turnstile in which the thread waits since an instant; `nil` where a look
    /// is scheduled or under way already.
    private mutating func lookNotBefore(_ since: MonotonicInstant) -> Deadline? {
        if isLookScheduled { return nil }
        isLookScheduled = true
        return Deadline(after: passesQueueByAfter, from: since)
    }

    private mutating func append(_ waiter: Waiter, to admissionClass: AdmissionClass) -> Bool {
        switch admissionClass {
        case .live:
            if live.count >= waiterCountMax { return false }
            live.append(waiter)
        case .backfill:
            if backfill.count >= waiterCountMax { return false }
            backfill.append(waiter)
        case .upkeep:
            if upkeep.count >= waiterCountMax { return false }
            upkeep.append(waiter)
        }
        return true
    }

    private mutating func takeFirst() -> Waiter? {
        let isUpkeepsTurn = runLengthBeforeUpkeep >= Self.runLengthBeforeUpkeepMax
        if !upkeep.isEmpty, isUpkeepsTurn || live.isEmpty && backfill.isEmpty {
            runLengthBeforeUpkeep = 0
            return upkeep.removeFirst()
        }
        runLengthBeforeUpkeep = upkeep.isEmpty ? 0 : runLengthBeforeUpkeep + 1
        return takeFirstOfOthers()
    }

    private mutating func takeFirstOfOthers() -> Waiter? {
        if backfill.isEmpty {
            liveRunLength = 0
            return live.isEmpty ? nil : live.removeFirst()
        }
        if live.isEmpty || liveRunLength >= Self.liveRunLengthMax {
            liveRunLength = 0
            return backfill.removeFirst()
        }
        liveRunLength += 1
        return live.removeFirst()
    }

    private var waitersInOrder: [Waiter] {
        backfill.isEmpty && upkeep.isEmpty
            ? live : (live + backfill + upkeep).sorted { $0.ticket.number < $1.ticket.number }
    }

    private mutating func setTimer(for deadline: Deadline) -> Deadline? {
        if deadline == .never { return nil }
        if let timer, timer <= deadline { return nil }
        timer = deadline
        return deadline
    }
}
