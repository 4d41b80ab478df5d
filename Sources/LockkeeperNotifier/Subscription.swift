import LockkeeperDomain

/// One subscriber: what it has been told, and what it is still to be told.
///
///     awaiting ──begin()──────────────▶ current, or behind where the reading stopped short
///     current  ──offer()──────────────▶ behind, when the backlog is dropped or a commit is missing
///     current  ──fallBehind()─────────▶ behind, when the hub lost its own place in the log
///     current  ──depart()─────────────▶ ended
///     behind   ──takeReadPosition()───▶ reading
///     reading  ──absorb()─────────────▶ current, behind, or ended where depart() came meanwhile
///     reading  ──readFailed()─────────▶ behind until the next tick, or ended
///     any but awaiting ─departAtOnce()▶ ended
///
/// - *awaiting*: the log is being read for the first answer. Ranges that are broadcast meanwhile
///   are kept, so that nothing falls between the answer and the first range (I-7).
/// - *current*: every range that is broadcast follows what it was told.
/// - *behind*: its backlog was dropped, or a reading did not reach the head. When its socket has
///   taken everything the log is read from where it stands.
/// - *reading*: as awaiting, from its own position.
/// - *ended*: the generation line was the last; only heartbeats follow.
///
/// At any time `delivered` ≤ last commit in the backlog ≤ `position`.
struct Subscription: Sendable {
    let request: SubscriptionRequest
    /// Tells readings for this subscription from those for an earlier one of the same connection.
    let serial: UInt64
    private var phase = Phase.awaiting
    /// The generation that the first answer named. No commit of a later one is ever told.
    private(set) var generation = Generation(0)
    private var store: StoreIdentity?
    /// Up to here every commit is told, waits in the backlog or does not concern the subscriber.
    private var position = CommitNumber(0)
    /// Where the subscriber stands once it has read what its socket was given.
    private var delivered = CommitNumber(0)
    /// The line that ends the subscription once it has been told everything before it.
    private var farewell: GenerationChange?
    private var backlog: SubscriberBacklog
    /// Broadcast while the log is read; `nil` when there were too many of them.
    private var arrivals: [EncodedRange]? = []
    private var waitsForTick = false
    private let arrivalCountMax: Int

    private enum Phase {
        case awaiting
        case current
        case behind
        case reading
        case ended
    }

    init(_ request: SubscriptionRequest, serial: UInt64, backlogMax: Int) {
        self.request = request
        self.serial = serial
        backlog = SubscriberBacklog(rangeCountMax: backlogMax)
        arrivalCountMax = backlogMax
    }

    /// Whether the first answer has not been given.
    var isAwaiting: Bool { phase == .awaiting }
    /// How many lines wait for the socket.
    var waitingCount: Int { backlog.count }
    /// Whether the log must be read once the socket has taken everything.
    var isBehind: Bool { phase == .behind && !waitsForTick }

    /// The first answer: the head, then what lies between the subscriber and it.
    mutating func begin(with reading: LogReading) {
        guard phase == .awaiting else { return }
        let head = reading.head
        generation = head.generation
        store = head.store
        backlog.append(line: NotifierLine.encodeFixed(.head(request.account, head)))
        let isReachable = request.after?.store == head.store && reading.ranges != nil
        if let after = request.after, isReachable {
            move(to: after.commit)
            phase = .reading
            absorb(reading)
        } else if request.after == nil {
            move(to: head.head)
            phase = .current
            takeArrivals()
        } else {
            phase = .current
            resync(to: head)
            takeArrivals()
        }
    }

    /// What was read from where the subscriber stood.
    mutating func absorb(_ reading: LogReading) {
        guard phase == .reading else { return }
        phase = .current
        guard let ranges = reading.ranges, reading.head.store == store else {
            if reading.head.generation > generation { return end(with: reading.head.change) }
            resync(to: reading.head)
            return takeArrivals()
        }
        let own = ranges.prefix { $0.generation <= generation }
        for range in own where phase == .current { append(EncodedRange(range: range, line: nil)) }
        if phase == .current && own.count == ranges.count && position < reading.head.head {
            phase = .behind
        }
        if reading.head.generation > generation { farewell = reading.head.change }
        takeArrivals()
    }

    /// The log could not be read; it is tried again at the next tick.
    mutating func readFailed() {
        guard phase == .reading else { return }
        if let farewell { return end(with: farewell) }
        phase = .behind
        arrivals = []
        waitsForTick = true
    }

    /// A range was broadcast.
    mutating func offer(_ range: EncodedRange) {
        switch phase {
        case .current: append(range)
        case .awaiting, .reading:
            if let count = arrivals?.count, count < arrivalCountMax {
                arrivals?.append(range)
            } else {
                arrivals = nil
            }
        case .behind, .ended: break
        }
    }

    /// What is broadcast from now on may not continue what was broadcast before.
    mutating func fallBehind() {
        switch phase {
        case .current: phase = .behind
        case .awaiting, .reading: arrivals = nil
        case .behind, .ended: break
        }
    }

    /// The log does not continue from where the subscriber stands.
    mutating func resync(to head: StoreHead) {
        switch phase {
        case .awaiting, .ended: return
        case .current, .behind, .reading: break
        }
        backlog.dropRanges()
        backlog.append(line: NotifierLine.encodeFixed(.resync(request.account, head)))
        store = head.store
        move(to: head.head)
        if phase == .behind { phase = .current }
    }

    /// The right to write has changed hands.
    mutating func depart(_ change: GenerationChange) {
        guard change.generation > generation else { return }
        switch phase {
        case .current: end(with: change)
        case .behind, .reading: farewell = change
        // The answer that is awaited will name a generation; the hub compares it then.
        case .awaiting, .ended: break
        }
    }

    /// The log cannot be asked any more: the line goes out with what is there.
    mutating func departAtOnce(_ change: GenerationChange) {
        guard change.generation > generation, phase != .awaiting, phase != .ended else { return }
        end(with: change)
    }

    /// The position from which the log is to be read, for a subscriber that is behind.
    mutating func takeReadPosition() -> Position? {
        guard isBehind, let store else { return nil }
        phase = .reading
        arrivals = []
        return Position(store: store, commit: position)
    }

    /// What the socket is given next.
    mutating func nextItem() -> SubscriberBacklog.Item? {
        let item = backlog.popFirst()
        if case .range(let encoded)? = item { delivered = encoded.range.last }
        return item
    }

    /// The heartbeat of this subscriber; `nil` while lines wait, which say as much, and before the
    /// first answer.
    mutating func heartbeat() -> [UInt8]? {
        waitsForTick = false
        guard backlog.isEmpty, phase != .awaiting else { return nil }
        guard phase == .current, let store else {
            return NotifierLine.encodeFixed(.heartbeat(nil))
        }
        delivered = position
        return NotifierLine.encodeFixed(.heartbeat(Position(store: store, commit: position)))
    }

    private mutating func move(to commit: CommitNumber) {
        position = commit
        delivered = commit
    }

    private mutating func append(_ encoded: EncodedRange) {
        let range = encoded.range
        guard range.store == store, range.generation <= generation, range.last > position else {
            return
        }
        guard range.predecessor <= position else {
            phase = .behind
            return
        }
        position = range.last
        if let origin = request.excludedOrigin, range.origins == [origin] { return }
        let told = backlog.lastCommit ?? delivered
        let isShared = told == range.predecessor
        let said =
            isShared ? encoded : EncodedRange(range: range.continuing(from: told), line: nil)
        if !backlog.append(said) {
            position = delivered
            phase = .behind
        }
    }

    /// Goes on with what was broadcast while the log was read.
    private mutating func takeArrivals() {
        if arrivals == nil && phase == .current { phase = .behind }
        for range in arrivals ?? [] where phase == .current { append(range) }
        arrivals = []
        if phase == .current, let farewell { end(with: farewell) }
    }

    private mutating func end(with change: GenerationChange) {
        backlog.append(line: NotifierLine.encodeFixed(.generation(request.account, change)))
        phase = .ended
        farewell = nil
        arrivals = []
    }
}
