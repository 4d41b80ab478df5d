/// Whether a process is at an account, and who of it stays there: the pure part of
/// ``AccountAttachment``.
///
/// ```
/// open ──beginLeaving──▶ leaving ──isEmptied──▶ away ──goOn──▶ open
///   ▲                       │ goOn: the deadline came, or nobody asks any more
///   └───────────────────────┘
/// away for another's work ──beginLeaving(suspended)──▶ away, suspended
/// away ──stayAway──▶ removed
/// ```
///
/// - `open`: whoever wants to open a connection stays, for as long as it is open.
/// - `leaving`: nobody new stays; those who do finish what runs.
/// - `away`: nobody stays. PRESENCE is let go.
/// - `removed`: the account was removed meanwhile. The same, for ever.
///
/// One thread at a time leaves or comes back. The one that leaves for another process's exclusive
/// work and waits for its end is called *returning*; a suspension takes over from it, and it then
/// gives up.
struct Occupancy: Sendable {
    /// Why nobody stays.
    enum Absence: Sendable, Hashable, CaseIterable {
        /// This process was suspended.
        case suspended
        /// Somebody, perhaps this process, has the account to itself.
        case excluded
    }

    private enum Phase: Sendable, Hashable {
        case open
        case leaving(Absence)
        case away(Absence)
        case removed
    }

    private var phase = Phase.open
    private(set) var stayCount = 0
    /// Whether a thread leaves, or has left, for another process's exclusive work.
    private(set) var isReturning = false

    /// What becomes of somebody who wants to stay.
    enum Entrance: Sendable, Hashable {
        case stays
        /// The process was suspended.
        case refused
        /// Somebody has the account to itself; ask again.
        case waits
        /// There is no such account any more.
        case removed
    }

    /// Whether everybody may stay.
    var isOpen: Bool { phase == .open }

    /// Whether the account was removed.
    var isRemoved: Bool { phase == .removed }

    /// Why nobody stays for now; `nil` where everybody may, and where nobody ever may again.
    var absence: Absence? {
        switch phase {
        case .open, .removed: nil
        case .leaving(let absence), .away(let absence): absence
        }
    }

    /// Somebody wants to stay.
    mutating func enter() -> Entrance {
        if isRemoved { return .removed }
        switch absence {
        case nil:
            stayCount += 1
            return .stays
        case .suspended: return .refused
        case .excluded: return .waits
        }
    }

    /// Somebody stays no longer.
    mutating func stayEnded() {
        precondition(stayCount > 0, "who ends a stay has begun one")
        stayCount -= 1
    }

    /// Another process asks everybody to leave. Returns whether a thread is to be started for that.
    mutating func beginReturning() -> Bool {
        guard phase == .open, !isReturning else { return false }
        isReturning = true
        phase = .leaving(.excluded)
        return true
    }

    /// The thread that left for another process's work is at its end, however far it came.
    mutating func returningEnded() { isReturning = false }

    /// Somebody of this process makes it leave. Returns whether it is the caller's to do so;
    /// otherwise another one is at it, and the caller asks again.
    mutating func beginLeaving(_ absence: Absence) -> Bool {
        switch phase {
        case .open:
            if isReturning { return false }
            phase = .leaving(absence)
            return true
        case .away(.excluded) where isReturning && absence == .suspended:
            // The one that waits for the end of the work finds this, and gives up.
            phase = .away(.suspended)
            return false
        case .away(absence): return !isReturning
        // There is nothing left to leave but the lock file, which the returning thread still uses.
        case .removed: return !isReturning
        case .away, .leaving: return false
        }
    }

    /// Whether nobody stays any more: then the process is away, and PRESENCE is to be let go.
    mutating func isEmptied(for absence: Absence) -> Bool {
        if isRemoved { return stayCount == 0 }
        guard self.absence == absence, stayCount == 0 else { return false }
        phase = .away(absence)
        return true
    }

    /// Everybody may stay again. Returns `false` where the process was suspended meanwhile.
    mutating func goOn(after absence: Absence) -> Bool {
        guard self.absence == absence else { return false }
        phase = .open
        return true
    }

    /// The account was removed: nobody stays any more. Returns `false` where the process was suspended
    /// meanwhile.
    mutating func stayAway(after absence: Absence) -> Bool {
        guard self.absence == absence else { return false }
        phase = .removed
        return true
    }

    /// What was open could not be opened again: nobody stays after all.
    mutating func relapse(to absence: Absence) { phase = .leaving(absence) }
}
