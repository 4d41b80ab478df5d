import LockkeeperDomain
import LockkeeperPlatform

/// How far something that is to be done outside has come: the pure part of outbox and effects.
///
/// ```
/// waiting ──claim──▶ attempting ──(confirmed: the row goes)
///    ▲ ▲                │ │ │ └──park──────────▶ parked
///    │ └──fail──────────┘ │ └────fail, too often─▶ parked
///    │    giveBack        └──claim by the next one, claimer gone; or unanswered:
///    │                       may be repeated: attempting or waiting, too often: parked
///    │                       may not:         unknown
///    │                contradict: unknown
///    └──retry── parked, unknown, waiting        cancel ── any but a claimed attempt: the row goes
/// ```
///
/// - `waiting`: nobody acts on it. Before `retry` nobody may.
/// - `attempting`: somebody claimed it and may have acted. Whether he lives is told by the lock on its
///   byte: who calls ``claim(at:repeats:rules:)`` has that lock, so that an attempt which he finds
///   begun is nobody's any more.
/// - `unknown`: an attempt had no answer and the server does not refuse doubles, or the answer cannot
///   be true. Only a person, a confirmation or an echo moves it.
/// - `parked`: it was refused for good, or failed too often. Only a person moves it.
///
/// `attempt` is the fence: whoever answers an attempt says which, and an answer to an older one
/// changes nothing. A number is given again only where its claimer has said that he did nothing, so that
/// one who lost his claim while his process was suspended cannot speak for the next one.
struct AttemptState: Sendable, Hashable {
    /// Where it stands. The raw values are stored.
    enum Phase: Int64, Sendable, Hashable {
        case waiting = 0
        case attempting = 1
        case unknown = 2
        case parked = 3
    }

    var phase = Phase.waiting
    /// The number of the newest attempt; 0 before the first.
    var attempt: Int64 = 0
    /// Attempts that were answered with a failure, since a person last asked for a retry.
    var failureCount: Int64 = 0
    /// Attempts that nobody answered, since then.
    var unansweredCount: Int64 = 0
    /// Before when it is not tried again.
    var retry: RetryTime?
    /// Why it is where it is.
    var reason: String?

    /// The bounds.
    struct Rules: Sendable {
        let failureCountMax: Int
        let unansweredCountMax: Int
        let backoff: Backoff
        let retryAfterMax: Duration

        init(_ limits: Limits) {
            failureCountMax = limits.attemptFailureCountMax
            unansweredCountMax = limits.attemptUnansweredCountMax
            backoff = limits.attemptRetry
            retryAfterMax = limits.attemptRetryAfterMax
        }

        /// The longest wait before something is tried again.
        var waitMax: Duration { max(backoff.largest, retryAfterMax) }
    }

    /// What became of a claim.
    enum ClaimAnswer: Sendable, Hashable {
        /// An attempt has begun; its number is ``AttemptState/attempt``.
        case begun
        /// It waits for so long.
        case waits(Duration)
        /// It was settled instead: nobody may try any more, and what stands behind it may.
        case settled
    }

    /// Somebody who holds the lock on its byte wants to act.
    ///
    /// - Parameter repeats: whether an attempt of unknown outcome may be repeated.
    mutating func claim(at now: Moment, repeats: Bool, rules: Rules) -> ClaimAnswer {
        switch phase {
        case .unknown, .parked: return .settled
        case .waiting:
            if let wait = retry?.wait(at: now, max: rules.waitMax) { return .waits(wait) }
        case .attempting:
            noteUnanswered(repeats: repeats, rules: rules)
            if phase != .attempting { return .settled }
        }
        phase = .attempting
        attempt += 1
        retry = nil
        return .begun
    }

    /// The claimer of an attempt has no answer and will have none.
    ///
    /// - Parameter reason: why there is none, where somebody knows.
    /// - Returns: whether it is this attempt's state still.
    mutating func unanswered(
        _ number: Int64,
        because reason: String? = nil,
        at now: Moment,
        repeats: Bool,
        rules: Rules,
        using generator: inout some RandomNumberGenerator
    ) -> Bool {
        guard isCurrent(number) else { return false }
        noteUnanswered(because: reason, repeats: repeats, rules: rules)
        if phase == .attempting {
            wait(after: unansweredCount, atLeast: .zero, at: now, rules, &generator)
        }
        return true
    }

    private mutating func noteUnanswered(
        because why: String? = nil,
        repeats: Bool,
        rules: Rules
    ) {
        unansweredCount += 1
        reason = "an attempt had no answer" + (why.map { ": \($0)" } ?? "")
        if !repeats {
            phase = .unknown
        } else if unansweredCount >= rules.unansweredCountMax {
            phase = .parked
            reason =
                "\(unansweredCount) attempts had no answer"
                + (why.map { ", the last: \($0)" } ?? "")
        }
    }

    /// What was said of an attempt cannot be true: nobody knows what became of it, and trying again would
    /// be answered alike, so that it is not tried again unasked.
    ///
    /// - Parameter number: the attempt; `nil` where it is not known, because its claimer has ended.
    mutating func contradict(_ number: Int64?, because reason: String) {
        if let number, !isCurrent(number) { return }
        if phase == .waiting || phase == .attempting { phase = .unknown }
        retry = nil
        self.reason = reason
    }

    /// An attempt failed and changed nothing outside.
    ///
    /// - Parameter retryAfter: for how long the server asked to be left alone.
    /// - Returns: whether it is this attempt's state still.
    mutating func fail(
        _ number: Int64,
        because reason: String,
        retryAfter: Duration?,
        at now: Moment,
        rules: Rules,
        using generator: inout some RandomNumberGenerator
    ) -> Bool {
        guard isCurrent(number) else { return false }
        failureCount += 1
        self.reason = reason
        if failureCount >= rules.failureCountMax {
            phase = .parked
        } else {
            let asked = min(retryAfter ?? .zero, rules.retryAfterMax)
            wait(after: failureCount, atLeast: asked, at: now, rules, &generator)
        }
        return true
    }

    private mutating func wait(
        after count: Int64,
        atLeast least: Duration,
        at now: Moment,
        _ rules: Rules,
        _ generator: inout some RandomNumberGenerator
    ) {
        let wait = rules.backoff.wait(attempt: Int(min(count, 64)) - 1, using: &generator)
        phase = .waiting
        retry = RetryTime(after: max(wait, least), from: now)
    }

    /// An attempt was refused for good.
    ///
    /// - Returns: whether it is this attempt's state still.
    mutating func park(_ number: Int64, because reason: String) -> Bool {
        guard isCurrent(number) else { return false }
        phase = .parked
        self.reason = reason
        return true
    }

    /// The claimer has not acted: it waits as before, and nothing is counted.
    ///
    /// - Returns: whether it is this attempt's state still.
    mutating func giveBack(_ number: Int64) -> Bool {
        guard isCurrent(number) else { return false }
        phase = .waiting
        retry = nil
        // The next attempt is no repetition of this one.
        attempt -= 1
        return true
    }

    /// A person wants it to be tried again, now.
    ///
    /// - Parameter isClaimed: whether somebody holds the lock on its byte.
    /// - Returns: whether it is tried again; not where somebody is at it.
    mutating func retry(isClaimed: Bool) -> Bool {
        if phase == .attempting, isClaimed { return false }
        phase = .waiting
        (failureCount, unansweredCount, retry, reason) = (0, 0, nil, nil)
        return true
    }

    /// Whether a person may take it back: not where somebody is at it.
    func mayCancel(isClaimed: Bool) -> Bool { phase != .attempting || !isClaimed }

    /// Whether an answer to an attempt is an answer to the newest one, and none came before it.
    func isCurrent(_ number: Int64) -> Bool { phase == .attempting && attempt == number }
}

/// An instant of the monotonic clock, with the run of the kernel that it belongs to.
struct Moment: Sendable, Hashable {
    let boot: [UInt8]
    let instant: MonotonicInstant

    init(boot: BootID, instant: MonotonicInstant) {
        self.boot = boot.bytes
        self.instant = instant
    }
}

/// Before when something is not tried again.
///
/// By the monotonic clock, so that a step of the time of day neither stretches nor cuts it (B109,
/// I-15); with the boot, because another one's clock begins anew: then it is due at once.
struct RetryTime: Sendable, Hashable {
    let boot: [UInt8]
    let instant: MonotonicInstant

    init(boot: [UInt8], instant: MonotonicInstant) {
        self.boot = boot
        self.instant = instant
    }

    init(after wait: Duration, from now: Moment) {
        boot = now.boot
        instant = now.instant.advanced(by: wait)
    }

    /// How long it still has to wait; `nil` where it is due. What is written may be nonsense: nothing
    /// waits longer than anything may.
    func wait(at now: Moment, max bound: Duration) -> Duration? {
        guard boot == now.boot, instant > now.instant else { return nil }
        let wait = instant.duration(since: now.instant)
        return wait <= bound ? wait : nil
    }
}
