import LockkeeperDomain
import LockkeeperLocking
import LockkeeperNotifier
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

/// Where a feed stands, and what to do with a range that comes (I-7).
///
/// ```
///                 predecessor = position   → emit, stand at its end
/// range ends at or before the position     → ignore, it was emitted
/// of another store                         → resync
/// anything else (a gap, an overlap)        → read the log from the position
/// ```
struct FeedProgress: Equatable {
    private(set) var position: Position
    /// The last commit that the consumer was told. It stays behind the position where an origin is
    /// left out.
    private(set) var told: CommitNumber

    enum Step: Equatable {
        case emit
        case ignore
        case readLog
        case resync
    }

    init(at position: Position) {
        self.position = position
        told = position.commit
    }

    /// What a range means where the feed stands; after ``Step/emit`` it stands at the range's end.
    mutating func take(_ range: ChangeRange) -> Step {
        guard range.store == position.store else { return .resync }
        if range.predecessor == position.commit {
            position = range.position
            return .emit
        }
        return range.last <= position.commit ? .ignore : .readLog
    }

    /// A range as the consumer is told it: it continues the one before, also over commits that were
    /// left out, so that ranges that wait can always be merged (I-9).
    mutating func tell(_ range: ChangeRange) -> ChangeRange {
        defer { told = range.last }
        return range.continuing(from: told)
    }
}

/// The reading side of one feed: a thread that listens to the hub and reads the log for what it did
/// not hear.
///
/// ```
///          ┌───the hub closes or dies: at once───┐
///          ▼                                     │
/// start ─▶ reach a hub, or become it ──answers──▶ follow it, and read the log where it is silent
///          ▲        │ somebody else is about to, or nobody can            │
///          │        ▼                                                     │
///          └── read the log, wait a little or an interval ◀──it does not serve this feed
/// ```
final class FeedReader: Sendable {
    /// What a feed needs.
    struct Parts: Sendable {
        let token: FencingToken
        var after: Position?
        var excludedOrigin: String?
        let limits: Limits
        let clock: any MonotonicClock
        let attachment: AccountAttachment
        let opener: StoreOpener
    }

    let channel: FeedChannel
    private let parts: Parts
    /// Ends a wait; absent only where no descriptor could be had, and then no thread runs.
    private let wake: WakeEvent?
    private let isStopped = Atomic<Bool>(false)

    /// Commits that are read from the log at once.
    private static let logReadMax = 256
    /// Between attempts to reach a hub that another process is about to open. Opening a socket takes
    /// less than a millisecond; a process that does not come to it is left alone more and more.
    private static let retry = Backoff(least: .milliseconds(2), largest: .seconds(1))

    private var workspace: Workspace { parts.opener.workspace }

    /// Starts the thread.
    static func start(_ parts: Parts) -> FeedReader {
        let wake = Result { try WakeEvent() }
        let reader = FeedReader(parts, wake: try? wake.get())
        do {
            _ = try wake.get()
            _ = try WorkerThread.start(name: "lk-feed") { reader.run() }
        } catch {
            reader.finish(error)
        }
        return reader
    }

    private init(_ parts: Parts, wake: WakeEvent?) {
        self.parts = parts
        self.wake = wake
        channel = FeedChannel(rangeCountMax: parts.limits.subscriberBacklogMax)
    }

    /// Ends the feed. May be called more than once, from anywhere.
    func stop() {
        isStopped.store(true, ordering: .releasing)
        wake?.signal()
        parts.attachment.wakeThoseWhoWait()
    }

    // MARK: - On the thread

    private func run() {
        if let wake { workspace.announcements.add(wake) }
        parts.attachment.add(self)
        workspace.hubSeat.enter()
        defer {
            if let wake { workspace.announcements.remove(wake) }
            parts.attachment.remove(self)
            workspace.hubSeat.leave(workspace)
        }
        do {
            var progress: FeedProgress?
            // Where the process has left the account, the feed waits, and goes on where it stood.
            while let stay = try parts.attachment.stay(unless: { hasStopped }) {
                try read(stay, &progress)
            }
            channel.finish(.success(()))
        } catch {
            finish(error)
        }
    }

    /// Reads for as long as the process stays.
    private func read(
        _ stay: AccountAttachment.Stay,
        _ known: inout FeedProgress?
    ) throws {
        let reader = try parts.opener.reader(stay, for: .feed).store
        defer { try? reader.close() }
        var progress = try known ?? FeedProgress(at: start(reader))
        defer { known = progress }
        var failureCount = 0
        // One whose rollback failed, in a query that was run here, is opened anew.
        while goesOn && reader.connection.isUsable {
            var next = Next.slowPoll
            switch reach(after: progress.position) {
            case .connected(let connection): next = try follow(connection, reader, &progress)
            case .soon: next = .soon
            case .none: break
            }
            var wait = parts.limits.slowPollInterval
            switch next {
            case .atOnce:
                wait = .zero
                failureCount = 0
            case .soon:
                wait = min(wait, Self.retry.ceiling(attempt: failureCount))
                failureCount += 1
            case .slowPoll: break
            }
            guard goesOn && reader.connection.isUsable else { break }
            try catchUp(reader, &progress)
            if wait > .zero { try waitForWake(atMost: wait) }
        }
    }

    private func finish(_ error: any Error) {
        let subject = "account \(parts.token.account)"
        channel.finish(.failure(ErrorMapping.map(error, subject: subject)))
    }

    private var hasStopped: Bool { isStopped.load(ordering: .acquiring) }

    private var goesOn: Bool { !hasStopped && parts.attachment.isOpen }

    private func start(_ reader: StoreReader) throws -> Position {
        let head = try reader.head()
        try check(head.generation, head.state)
        return parts.after ?? head.position
    }

    /// What came of looking for a hub.
    private enum Reached {
        case connected(FeedConnection)
        /// Another process has the right to open one, and may be about to.
        case soon
        case none
    }

    private func reach(after position: Position) -> Reached {
        if let connection = connect(after: position) { return .connected(connection) }
        switch workspace.hubSeat.stand(in: workspace) {
        case .kept:
            // It may have been handed over to a host already.
            return connect(after: position).map(Reached.connected) ?? .soon
        case .elsewhere: return .soon
        case .impossible: return .none
        }
    }

    private func connect(after position: Position) -> FeedConnection? {
        try? FeedConnection(
            path: workspace.paths.socket,
            request: SubscriptionRequest(
                account: parts.token.account,
                kind: parts.opener.kind,
                after: position,
                excludedOrigin: parts.excludedOrigin
            ),
            limits: parts.limits,
            clock: parts.clock
        )
    }

    /// When a hub is looked for again.
    private enum Next {
        /// It has closed or died, and another one takes over; or it was silent, and listened to while
        /// the log is looked at.
        case atOnce
        /// One is being opened or closed.
        case soon
        /// There is none for this feed.
        case slowPoll
    }

    /// Listens until the hub closes or is silent for three heartbeats. While it is silent the log is
    /// looked at as if there were none.
    private func follow(
        _ connection: FeedConnection,
        _ reader: StoreReader,
        _ progress: inout FeedProgress
    ) throws -> Next {
        let interval = parts.limits.slowPollInterval
        let connected = connection.lastHeard
        var lookCount = 1
        while goesOn && reader.connection.isUsable {
            let look = Deadline(
                after: interval / 2 + interval * lookCount,
                from: connection.lastHeard
            )
            // A hub that speaks another language is none: the log is looked at.
            guard let event = try? connection.next(until: look, wakingOn: wake) else {
                return .slowPoll
            }
            switch event {
            case .timedOut:
                if lookCount == 3 { return .atOnce }
                lookCount += 1
                try catchUp(reader, &progress)
            case .closed:
                // One that was closing already has never answered.
                return connection.lastHeard == connected ? .soon : .atOnce
            case .woken:
                wake?.drain()
                // A hub that is silent tells nothing of this process's own commit either.
                if lookCount > 1 { try catchUp(reader, &progress) }
            case .line(.error(let code, _)):
                return NotifierLine.passingCodes.contains(code) ? .soon : .slowPoll
            case .line(let line):
                lookCount = 1
                try take(line, reader, &progress)
            }
        }
        return .atOnce
    }

    private func take(
        _ line: HubLine,
        _ reader: StoreReader,
        _ progress: inout FeedProgress
    ) throws {
        switch line {
        case .range(let range):
            guard range.generation <= parts.token.generation else {
                return try catchUp(reader, &progress)
            }
            switch progress.take(range) {
            case .emit: emit(range, reader, &progress)
            case .ignore: break
            case .readLog, .resync: try catchUp(reader, &progress)
            }
        case .head(_, let head):
            if head.store != progress.position.store || head.generation != parts.token.generation {
                try catchUp(reader, &progress)
            }
        case .heartbeat(let told):
            if let told,
                told.store != progress.position.store
                    || told.commit > progress.position.commit
            {
                try catchUp(reader, &progress)
            }
        case .resync, .generation: try catchUp(reader, &progress)
        case .error: break
        }
    }

    /// Emits what the log holds after the position, then looks whether the generation is current.
    private func catchUp(_ reader: StoreReader, _ progress: inout FeedProgress) throws {
        while goesOn && reader.connection.isUsable {
            switch try reader.catchUp(after: progress.position, limit: Self.logReadMax) {
            case .resync(let head, _): throw LockkeeperError.resync(parts.token.account, head)
            case .ranges(let ranges, _):
                for range in ranges {
                    // What was committed under a later generation is another session's.
                    guard range.generation <= parts.token.generation else { break }
                    if progress.take(range) == .emit { emit(range, reader, &progress) }
                }
                let head = try reader.head()
                if ranges.count < Self.logReadMax {
                    try check(head.generation, head.state)
                    return
                }
                if ranges.contains(where: { $0.generation > parts.token.generation }) {
                    try check(head.generation, head.state)
                }
            }
        }
    }

    private func check(_ generation: Generation, _ state: AccountState) throws {
        guard generation == parts.token.generation, state == .active else {
            throw StorageError.superseded(held: parts.token, current: generation, state: state)
        }
    }

    private func emit(
        _ range: ChangeRange,
        _ reader: StoreReader,
        _ progress: inout FeedProgress
    ) {
        if let origin = parts.excludedOrigin, range.origins == [origin] { return }
        let known = parts.attachment.durable(of: parts.opener.kind).position
        let isUsable = reader.connection.isUsable
        channel.send(progress.tell(range.durable(upTo: known)), reader: isUsable ? reader : nil)
    }

    private func waitForWake(atMost wait: Duration) throws {
        guard let wake else { return }
        var poll = Poll()
        poll.add(wake.raw, .readable)
        let deadline = Deadline(after: wait, from: parts.clock.now())
        if try poll.wait(until: deadline, clock: parts.clock) > 0 { wake.drain() }
    }
}

extension FeedReader: Occupant {
    /// The thread closes its reader, and its stay ends with that.
    func vacate(_ absence: AccountAttachment.Absence, until deadline: Deadline) -> Bool {
        wake?.signal()
        return true
    }

    /// The thread waits for it by itself.
    func comeBack() {}
}
