import LockkeeperDomain
import LockkeeperPlatform

/// What the hub knows of one account's commits, and what it has not passed on yet.
///
///     unknown ──first reading──▶ following ──accept()──▶ following, with ranges held
///                                    ▲                            │
///                                    └────────takeHeld()──────────┘
///
/// While following, a range whose predecessor is the head is taken without looking into the log;
/// one that lies behind is known already; one that lies ahead, or comes from another store or a
/// later generation, makes the hub read the log. At most one reading is outstanding. Whatever
/// happens meanwhile that it may not have seen makes it be repeated once.
struct AccountStream: Sendable {
    /// Tells its readings from those for an earlier stream of the same account.
    let serial: UInt64
    /// Where the hub stands; `nil` before the first reading.
    var head: StoreHead?
    /// Who listens, in the order in which they came.
    var subscribers: [ConnectionID] = []
    /// A change of generation that the hub was told of and that no reading has confirmed.
    var announcedChange: GenerationChange?
    /// The reading that is outstanding.
    private(set) var reading: Reading?
    /// Consecutive ranges up to the head that were not passed on.
    private var held: [ChangeRange] = []
    /// How many ranges went into `held`.
    private var heldCount = 0
    /// While it lies ahead, ranges are held and merged.
    private(set) var mergeDeadline: Deadline?

    /// A reading of the log for all subscribers of the account.
    struct Reading: Sendable {
        /// Where the hub stood when it asked. The log cannot be shorter: a commit is announced
        /// after it is visible.
        let headWhenAsked: CommitNumber?
        /// Whether something came that the reading may not have seen.
        var isRepeated = false
    }

    /// What became of a range.
    enum Verdict { case taken, known, needsLog }

    init(serial: UInt64) { self.serial = serial }

    /// Whether ranges wait to be passed on.
    var hasHeld: Bool { !held.isEmpty }

    /// Takes a range that was announced, or, where `isFromLog`, read.
    mutating func accept(_ range: ChangeRange, isFromLog: Bool) -> Verdict {
        guard let head, range.store == head.store else { return .needsLog }
        guard isFromLog || range.generation <= head.generation else { return .needsLog }
        if range.last <= head.head { return .known }
        let continues =
            range.predecessor <= head.head || PlantedDefect.skipPredecessorCheck.isPlanted
        guard continues else { return .needsLog }
        let next = range.continuing(from: head.head)
        if held.last?.isFollowed(by: next) == true {
            held[held.count - 1].merge(next)
        } else {
            held.append(next)
        }
        heldCount += 1
        self.head?.head = range.last
        return .taken
    }

    /// Whether what is held goes out now. One range alone goes at once. Where several came in one
    /// round the writers are faster than the rounds: then ranges are merged for a moment, so that
    /// a hundred subscribers are not woken for each commit.
    func isDue(at now: MonotonicInstant) -> Bool {
        hasHeld && mergeDeadline.map { $0.hasPassed(at: now) } ?? true
    }

    /// Gives what is held to be passed on.
    ///
    /// - Parameters:
    ///   - mergeWait: how long ranges are merged where several came in one round.
    ///   - sendTime: how long it takes until everybody was sent to; what comes meanwhile is merged
    ///     as well, so that nobody is woken more often than all can be.
    mutating func takeHeld(
        at now: MonotonicInstant,
        mergeWait: Duration,
        sendTime: Duration
    ) -> [ChangeRange] {
        let wait = max(sendTime, heldCount > 1 ? mergeWait : .zero)
        mergeDeadline = wait > .zero ? Deadline(after: wait, from: now) : nil
        heldCount = 0
        defer { held = [] }
        return held
    }

    /// Forgets what is held and stands where a reading says.
    mutating func restart(at head: StoreHead) {
        self.head = head
        held = []
        heldCount = 0
        mergeDeadline = nil
    }

    /// Begins a reading.
    ///
    /// - Returns: `false` when one is outstanding; it will be repeated.
    mutating func beginReading() -> Bool {
        guard reading == nil else {
            reading?.isRepeated = true
            return false
        }
        reading = Reading(headWhenAsked: head?.head)
        return true
    }

    /// Ends the reading that is outstanding.
    mutating func endReading() -> Reading? { reading.take() }
}
