import LockkeeperDomain

/// What is concluded from looks at a turnstile while one of this process's threads waits for QUEUE,
/// as a pure state machine (design 5.1).
///
///     unsuspicious ──look: QUEUE held, WRITER free──▶ suspicious(since, admissions)
///          ▲                                            │   │
///          └── look: anything else, or too late ◀───────┘   └── look, after the time: findHolder
///                                                         judge: lookAgain or passBy ──▶
///                                                         suspicious
///
/// In a healthy turnstile whoever holds QUEUE takes a free WRITER within microseconds, and raises
/// the count of admissions. So WRITER free, QUEUE held and no admission in between says that
/// QUEUE's holder does not run. A bound on one's own waiting would say nothing: it also passes
/// under load.
///
/// A thread that runs but is not given a processor looks the same. So at the end of the time the
/// holder is looked for, and where it is found to be running, it is given fifty times as long: what
/// has not moved for a second then will not move soon, whatever the reason. A holder that cannot be
/// found or looked into is judged by its doings alone.
struct QueueWatch: Sendable, Hashable {
    private var suspicion: Suspicion?
    private var nextLook: MonotonicInstant?
    private let after: Duration

    /// What a free WRITER's not being taken is measured from.
    private struct Suspicion: Sendable, Hashable {
        let since: MonotonicInstant
        let admissionCount: UInt64
    }

    /// What one look saw.
    struct Sight: Sendable, Hashable {
        let words: TurnstileWords
        let isQueueHeld: Bool
        let isWriterHeld: Bool
    }

    /// What follows.
    enum Conclusion: Sendable, Hashable {
        /// Nothing yet: look again then.
        case lookAgain(Deadline)
        /// Find out whether QUEUE's holder runs; ``QueueWatch/judge(holderIsRunning:now:)``.
        case findHolder
        /// Let QUEUE be passed by, if these still are the admissions; and look again then.
        case passBy(admissionCount: UInt64, Deadline)
    }

    /// How many times as long a holder may take that is found to be running.
    static let runningHolderFactor = 50
    /// A look that comes so many times too late says that this process itself stood still: nothing
    /// that was seen before it counts, because everybody may have stood still with it.
    static let latenessFactorMax = 10

    /// A watch for one wait.
    init(after: Duration) { self.after = after }

    /// A look.
    mutating func look(_ sight: Sight, now: MonotonicInstant) -> Conclusion {
        let isLate = nextLook.map {
            now > $0.advanced(by: after * Self.latenessFactorMax)
        }
        guard sight.isQueueHeld else { return unsuspicious(now) }
        // Somebody else has seen it, and whoever gets QUEUE clears the word.
        if sight.words.isQueuePassedBy { return passBy(sight.words.admissionCount, now) }
        guard !sight.isWriterHeld else { return unsuspicious(now) }
        guard let suspicion, suspicion.admissionCount == sight.words.admissionCount,
            isLate == false
        else {
            suspicion = Suspicion(since: now, admissionCount: sight.words.admissionCount)
            return again(now)
        }
        if now.duration(since: suspicion.since) < after { return again(now) }
        // However long finding it takes: the look that follows is not late.
        nextLook = now
        return .findHolder
    }

    /// Whether QUEUE's holder runs; `nil` where that cannot be found out. Follows on `findHolder`.
    mutating func judge(holderIsRunning: Bool?, now: MonotonicInstant) -> Conclusion {
        // While the holder was looked for, the thread may have begun another wait, with a new
        // watch.
        guard let suspicion else { return again(now) }
        let bound = holderIsRunning == true ? after * Self.runningHolderFactor : after
        if now.duration(since: suspicion.since) < bound { return again(now) }
        // The suspicion stays: where the thread did not get the message, the next look says it
        // again.
        return passBy(suspicion.admissionCount, now)
    }

    private mutating func unsuspicious(_ now: MonotonicInstant) -> Conclusion {
        suspicion = nil
        return again(now)
    }

    private mutating func again(_ now: MonotonicInstant) -> Conclusion {
        let instant = now.advanced(by: after)
        nextLook = instant
        return .lookAgain(Deadline(at: instant))
    }

    private mutating func passBy(_ admissionCount: UInt64, _ now: MonotonicInstant) -> Conclusion {
        let instant = now.advanced(by: after)
        nextLook = instant
        return .passBy(admissionCount: admissionCount, Deadline(at: instant))
    }
}
