import LockkeeperDomain

/// Names one connection of the hub. Never given twice by one hub.
struct ConnectionID: Sendable, Hashable {
    let rawValue: UInt64
}

/// What the hub wants to know from an account's log.
struct ReadRequest: Sendable, Hashable {
    let stream: StreamName
    /// From where; `nil` where only the head is wanted.
    let after: Position?
    let purpose: Purpose

    /// For whom. The serial numbers tell a stream or subscription from an earlier one of the same
    /// account or connection, whose readings may still come back.
    enum Purpose: Sendable, Hashable {
        /// For all who listen to the account.
        case stream(serial: UInt64)
        /// For one subscription.
        case subscriber(ConnectionID, serial: UInt64)
    }
}

/// What came of a ``ReadRequest``.
enum ReadOutcome: Sendable {
    case reading(LogReading)
    case unknownAccount
    case failed(reason: String)
}

/// Which range goes to whom, as a pure value: inputs in, actions and lines out, time as a
/// parameter, no socket and no log.
///
/// Accounts' files are streams (see ``AccountStream``), connections that asked are subscriptions (see
/// ``Subscription``). The hub keeps nothing for an account that nobody listens to.
///
/// What may be trusted (I-7):
/// 1. A subscriber is told every commit after its position, in order, each range continuing the
///    one before, or `resync`; ranges may be joined and may cover more than happened.
/// 2. Nothing of a generation later than the one its answer named is told; the generation line is
///    the last of a subscription, after everything that the log held when it ended.
/// 3. A subscriber that does not read costs a bounded amount of memory and no reading of the log.
/// 4. At most one reading is outstanding per account and per subscription.
struct HubStateMachine: Sendable {
    private let limits: Limits
    private var streams: [StreamName: AccountStream] = [:]
    private var subscriptions: [ConnectionID: Subscription] = [:]
    private var serial: UInt64 = 0
    /// Streams that took ranges since the last round.
    private var touched: Set<StreamName> = []
    private var active: Set<ConnectionID> = []
    private var actions: [Action] = []

    /// What the owner must do.
    enum Action: Sendable, Hashable {
        /// Read the log and call `finish`.
        case read(ReadRequest)
        /// Send an error line and close.
        case refuse(ConnectionID, code: String, reason: String)
    }

    init(limits: Limits) { self.limits = limits }

    /// How many connections have subscribed.
    var subscriptionCount: Int { subscriptions.count }

    /// Whether a connection has subscribed.
    func hasSubscription(_ connection: ConnectionID) -> Bool { subscriptions[connection] != nil }

    /// The newest commit that is known of a stream; `nil` where nobody listens to it.
    func head(of name: StreamName) -> CommitNumber? {
        streams[name].map { $0.head?.head ?? CommitNumber(0) }
    }

    /// When held ranges are due, if there are any.
    var nextDeadline: Deadline? {
        touched.lazy.compactMap { streams[$0]?.mergeDeadline }.min()
    }

    /// Takes what is to be done since it was last called.
    mutating func takeActions() -> [Action] {
        defer { actions = [] }
        return actions
    }

    /// Takes the connections for which there may be output since this was last called.
    mutating func takeActive() -> Set<ConnectionID> {
        defer { active = [] }
        return active
    }

    /// A connection subscribes; an earlier subscription of it ends.
    mutating func subscribe(_ request: SubscriptionRequest, by connection: ConnectionID) {
        leave(connection)
        guard subscriptions.count < limits.subscriberCountMax else {
            actions.append(
                .refuse(
                    connection,
                    code: "too-many-subscribers",
                    reason: "the hub serves \(limits.subscriberCountMax) subscribers"
                )
            )
            return
        }
        serial += 1
        subscriptions[connection] = Subscription(
            request,
            serial: serial,
            backlogMax: limits.subscriberBacklogMax
        )
        let purpose = ReadRequest.Purpose.subscriber(connection, serial: serial)
        streams[request.stream, default: AccountStream(serial: serial)].subscribers
            .append(connection)
        actions.append(
            .read(ReadRequest(stream: request.stream, after: request.after, purpose: purpose))
        )
    }

    /// A connection is gone, or wants to hear nothing more.
    mutating func leave(_ connection: ConnectionID) {
        active.remove(connection)
        guard let name = subscriptions.removeValue(forKey: connection)?.request.stream else {
            return
        }
        streams[name]?.subscribers.removeAll { $0 == connection }
        if streams[name]?.subscribers.isEmpty == true {
            streams[name] = nil
            touched.remove(name)
        }
    }

    /// A writer tells of its commits.
    mutating func announce(_ range: ChangeRange) {
        guard let verdict = streams[range.stream]?.accept(range, isFromLog: false) else { return }
        switch verdict {
        case .taken: touched.insert(range.stream)
        case .known: break
        case .needsLog: look(at: range.stream)
        }
    }

    /// Somebody committed, or may have: the log is read.
    mutating func look(at name: StreamName) {
        guard streams[name]?.beginReading() == true, let stream = streams[name] else {
            return
        }
        actions.append(
            .read(
                ReadRequest(
                    stream: name,
                    after: stream.head?.position,
                    purpose: .stream(serial: stream.serial)
                )
            )
        )
    }

    /// The right to write an account has changed hands. What the log still holds of the old
    /// generation is sent first.
    mutating func changeGeneration(of account: AccountID, to change: GenerationChange) {
        for kind in StoreKind.allCases {
            changeGeneration(of: StreamName(account, kind), to: change)
        }
    }

    private mutating func changeGeneration(of name: StreamName, to change: GenerationChange) {
        guard let stream = streams[name] else { return }
        let known = max(
            stream.head?.generation ?? Generation(0),
            stream.announcedChange?.generation ?? Generation(0)
        )
        guard change.generation > known else { return }
        streams[name]?.announcedChange = change
        look(at: name)
    }

    /// A reading has come back.
    mutating func finish(_ request: ReadRequest, _ outcome: ReadOutcome, at now: MonotonicInstant) {
        switch request.purpose {
        case .stream(let serial):
            guard streams[request.stream]?.serial == serial else { return }
            finishStream(request.stream, outcome, at: now)
        case .subscriber(let connection, let serial):
            guard subscriptions[connection]?.serial == serial else { return }
            finishSubscriber(connection, request.stream, outcome, at: now)
        }
    }

    /// The end of a round of inputs: what is due is passed on.
    mutating func endRound(at now: MonotonicInstant) {
        for name in touched where streams[name]?.isDue(at: now) == true {
            broadcast(name, at: now)
        }
    }

    /// The slow poll: heartbeats, and a look at every log for commits that nobody announced.
    mutating func tick(at now: MonotonicInstant) {
        for name in streams.keys { look(at: name) }
        active.formUnion(subscriptions.keys)
    }

    /// The next line for a connection whose socket has taken everything before; `nil` when there
    /// is none now. A subscriber that is behind has the log read then, and not earlier: it has
    /// shown that it reads.
    mutating func nextLine(for connection: ConnectionID) -> [UInt8]? {
        while let item = subscriptions[connection]?.nextItem() {
            switch item {
            case .line(let line): return line
            case .range(let encoded):
                if let line = encoded.line ?? encode(encoded.range) { return line }
                resync(connection, past: encoded.range)
            }
        }
        if let position = subscriptions[connection]?.takeReadPosition(),
            let subscription = subscriptions[connection]
        {
            actions.append(
                .read(
                    ReadRequest(
                        stream: subscription.request.stream,
                        after: position,
                        purpose: .subscriber(connection, serial: subscription.serial)
                    )
                )
            )
        }
        return nil
    }

    /// The heartbeat for a connection whose socket has taken everything.
    mutating func heartbeat(for connection: ConnectionID) -> [UInt8]? {
        subscriptions[connection]?.heartbeat()
    }
}

// What the readings do.
extension HubStateMachine {
    private mutating func finishStream(
        _ name: StreamName,
        _ outcome: ReadOutcome,
        at now: MonotonicInstant
    ) {
        guard let reading = streams[name]?.endReading() else { return }
        let change = reading.isRepeated ? nil : streams[name]?.announcedChange
        switch outcome {
        case .reading(let log):
            absorb(log, of: name, asked: reading, announced: change, at: now)
            if reading.isRepeated { look(at: name) }
        case .failed, .unknownAccount:
            // The store may be closed for good after a switch: the line does not wait for it.
            if let change = streams[name]?.announcedChange {
                departAll(from: name, change, at: now, readsLog: false)
            } else if case .unknownAccount = outcome {
                for connection in streams[name]?.subscribers ?? [] {
                    refuseUnknown(connection, name)
                }
            }
        }
    }

    private mutating func finishSubscriber(
        _ connection: ConnectionID,
        _ name: StreamName,
        _ outcome: ReadOutcome,
        at now: MonotonicInstant
    ) {
        switch outcome {
        case .reading(let log):
            // First what concerns everybody, so that this subscriber is offered it as well.
            absorb(log, of: name, asked: nil, announced: nil, at: now)
            subscriptions[connection]?.begin(with: log)
            subscriptions[connection]?.absorb(log)
            active.insert(connection)
            if let head = streams[name]?.head {
                if head.generation > log.head.generation {
                    // The reading is older than the end of its generation: the rest is read first.
                    subscriptions[connection]?.fallBehind()
                    subscriptions[connection]?.depart(head.change)
                }
                if log.head.head > head.head || log.head.generation > head.generation {
                    look(at: name)
                }
            }
        case .unknownAccount: refuseUnknown(connection, name)
        case .failed(let reason):
            subscriptions[connection]?.readFailed()
            if subscriptions[connection]?.isAwaiting == true {
                actions.append(
                    .refuse(connection, code: NotifierLine.unavailableCode, reason: reason)
                )
            }
        }
    }

    /// Brings the stream up to what a reading shows, and tells everybody.
    private mutating func absorb(
        _ log: LogReading,
        of name: StreamName,
        asked: AccountStream.Reading?,
        announced: GenerationChange?,
        at now: MonotonicInstant
    ) {
        guard let known = streams[name]?.head else {
            streams[name]?.restart(at: log.head)
            return
        }
        // A reading for everybody starts at the hub's own head. The log may not reach back that
        // far, end before it although that was announced, or belong to another store.
        let isShort = asked?.headWhenAsked.map { log.head.head < $0 } ?? false
        let isCut = asked?.headWhenAsked != nil && log.ranges == nil
        if log.head.store != known.store || isShort || isCut {
            return restart(name, at: log.head)
        }
        for range in log.ranges ?? [] {
            if streams[name]?.accept(range, isFromLog: true) == .taken {
                touched.insert(name)
            }
        }
        streams[name]?.head?.oldest = log.head.oldest
        guard let head = streams[name]?.head, head.head >= log.head.head else {
            // The source gave a part: the rest is asked for.
            if asked != nil { look(at: name) }
            return
        }
        var change = log.head.change
        if let announced, announced.generation > change.generation { change = announced }
        if change.generation > head.generation {
            departAll(from: name, change, at: now, readsLog: true)
        }
    }

    /// The hub's own place in the log is void. The subscribers' places need not be: each has the
    /// log read from its own, which says whether it can go on, must resync, or has to leave.
    private mutating func restart(_ name: StreamName, at head: StoreHead) {
        streams[name]?.restart(at: head)
        touched.remove(name)
        if let change = streams[name]?.announcedChange, change.generation <= head.generation {
            streams[name]?.announcedChange = nil
        }
        for connection in streams[name]?.subscribers ?? [] {
            subscriptions[connection]?.fallBehind()
            subscriptions[connection]?.depart(head.change)
            active.insert(connection)
        }
    }

    /// Everybody who listens under an older generation is told the new one.
    private mutating func departAll(
        from name: StreamName,
        _ change: GenerationChange,
        at now: MonotonicInstant,
        readsLog: Bool
    ) {
        broadcast(name, at: now)
        streams[name]?.head?.generation = change.generation
        streams[name]?.head?.state = change.state
        streams[name]?.announcedChange = nil
        for connection in streams[name]?.subscribers ?? [] {
            if readsLog {
                subscriptions[connection]?.depart(change)
            } else {
                subscriptions[connection]?.departAtOnce(change)
            }
            active.insert(connection)
        }
    }

    private mutating func broadcast(_ name: StreamName, at now: MonotonicInstant) {
        touched.remove(name)
        // Those of the last turn are followed by no pause.
        let turnCount =
            ((streams[name]?.subscribers.count ?? 0) - 1) / limits.notifierTurnCountMax
        let ranges =
            streams[name]?.takeHeld(
                at: now,
                mergeWait: limits.notifierMergeWait,
                sendTime: limits.notifierTurnPause * turnCount
            ) ?? []
        for range in ranges {
            // Encoded once for everybody.
            let encoded = EncodedRange(range: range, line: encode(range))
            for connection in streams[name]?.subscribers ?? [] {
                subscriptions[connection]?.offer(encoded)
                active.insert(connection)
            }
        }
    }

    private mutating func refuseUnknown(_ connection: ConnectionID, _ name: StreamName) {
        actions.append(
            .refuse(
                connection,
                code: "unknown-account",
                reason: "there is no account \(name.account)"
            )
        )
    }

    /// A range that no line can hold, with thousands of tables: the subscriber reads a snapshot.
    private mutating func resync(_ connection: ConnectionID, past range: ChangeRange) {
        guard var head = streams[range.stream]?.head else { return }
        head.head = max(head.head, range.last)
        subscriptions[connection]?.resync(to: head)
    }

    private func encode(_ range: ChangeRange) -> [UInt8]? {
        NotifierLine.encode(.range(range), byteCountMax: limits.notifierLineByteCountMax)
    }
}
