import LockkeeperDomain
import LockkeeperPlatform
import Synchronization

/// The hub's thread: waits for sockets and the mailbox, feeds the state machine, sends its lines.
///
/// A round is: wait, take what has come from everywhere, let the machine pass on what is due, send
/// to those for whom there is something. Several announcements that came in one round are joined.
final class HubLoop {
    private var listener: UnixListener
    private let mailbox: HubMailbox
    private let reader: LogReader
    private let limits: Limits
    private let lineWaitMax: Duration
    private let clock: any MonotonicClock
    private let status: HubStatus
    private let handOver: HubHandOver?
    private let metrics: @Sendable (Int) -> HubMetrics
    /// Another hub takes over: this round is the last.
    private var isHandingOver = false

    private let watches = LogWatches()

    private var machine: HubStateMachine
    private var turns: SendTurns
    private var connections: [ConnectionID: HubConnection] = [:]
    /// The connections in the order of the poll list, and the list.
    private var polled: [HubConnection] = []
    private var poll = Poll()
    private var connectionSerial: UInt64 = 0
    private var nextTick: Deadline
    /// No descriptor was left for another connection; taken up again at the next tick.
    private var isAcceptingPaused = false
    private let receiveBuffer: UnsafeMutableRawBufferPointer

    private static let mailboxIndex = 0
    private static let listenerIndex = 1
    private static let firstConnectionIndex = 2
    /// Connections taken in one round, so that a flood of them does not hold up the others.
    private static let acceptCountMax = 16

    init(
        listener: UnixListener,
        mailbox: HubMailbox,
        reader: LogReader,
        limits: Limits,
        lineWaitMax: Duration,
        clock: any MonotonicClock,
        status: HubStatus,
        handOver: HubHandOver?,
        metrics: @escaping @Sendable (Int) -> HubMetrics
    ) {
        self.listener = listener
        self.mailbox = mailbox
        self.reader = reader
        self.limits = limits
        self.lineWaitMax = lineWaitMax
        self.clock = clock
        self.status = status
        self.handOver = handOver
        self.metrics = metrics
        machine = HubStateMachine(limits: limits)
        turns = SendTurns(
            countMax: limits.notifierTurnCountMax,
            pause: limits.notifierTurnPause
        )
        nextTick = Deadline(after: limits.slowPollInterval, from: clock.now())
        receiveBuffer = .allocate(byteCount: limits.notifierLineByteCountMax, alignment: 16)
    }

    deinit { receiveBuffer.deallocate() }

    /// Serves until the mailbox says stop or the kernel refuses to wait.
    func run() {
        do {
            while try serveRound() {}
        } catch {
            status.failure.withLock { $0 = .system(error) }
        }
        for connection in connections.values {
            connection.close(code: NotifierLine.closingCode, reason: "the hub closes")
        }
        connections = [:]
        polled = []
        status.connectionCount.store(0, ordering: .relaxed)
        // Left behind it would be replaced by the next hub; nobody can do more about it here.
        try? listener.removeFile()
    }

    private func serveRound() throws(SystemCallError) -> Bool {
        try waitForSomething()
        let now = clock.now()
        if poll.ready(at: Self.mailboxIndex) != [] {
            guard takeMail(at: now) else { return false }
        }
        for (index, connection) in polled.enumerated() {
            let ready = poll.ready(at: Self.firstConnectionIndex + index)
            if ready != [] { serve(connection, ready, at: now) }
        }
        if poll.ready(at: Self.listenerIndex) != [] { accept(at: now) }
        for stream in watches.takeDue(at: now, head: machine.head(of:)) {
            machine.look(at: stream)
        }
        machine.endRound(at: now)
        if nextTick.hasPassed(at: now) { tick(at: now) }
        turns.append(machine.takeActive())
        for id in turns.takeTurn(at: now) {
            if let connection = connections[id], connection.isDrained { send(to: connection) }
        }
        perform(machine.takeActions())
        closeFinished()
        return !isHandingOver
    }

    private func waitForSomething() throws(SystemCallError) {
        poll.removeAll()
        poll.add(mailbox.raw, .readable)
        poll.add(listener.raw, isAcceptingPaused ? [] : .readable)
        polled.removeAll(keepingCapacity: true)
        for connection in connections.values {
            poll.add(connection.socket.raw, connection.interest)
            polled.append(connection)
        }
        // Last, because there may be none.
        if let raw = watches.raw { poll.add(raw, .readable) }
        let deadlines = [machine.nextDeadline, watches.nextDeadline, turns.nextTurn]
            .compactMap(\.self)
        _ = try poll.wait(until: deadlines.reduce(nextTick, min), clock: clock)
    }

    private func takeMail(at now: MonotonicInstant) -> Bool {
        let mail = mailbox.take()
        for range in mail.announcements { machine.announce(range) }
        for stream in mail.looks { machine.look(at: stream) }
        for (request, outcome) in mail.outcomes {
            machine.finish(request, outcome, at: now)
            if case .reading(let log) = outcome, let path = log.logPath {
                watches.follow(request.stream, at: path, now: now)
            }
        }
        for (account, change) in mail.changes { machine.changeGeneration(of: account, to: change) }
        return !mail.isStopping
    }

    private func accept(at now: MonotonicInstant) {
        for _ in 0..<Self.acceptCountMax {
            do {
                guard let socket = try listener.accept(isBlocking: false) else { return }
                admit(socket, at: now)
            } catch {
                // No descriptor or memory is left. Waiting clients stay in the kernel's line.
                isAcceptingPaused = true
                return
            }
        }
    }

    private func admit(_ socket: UnixConnection, at now: MonotonicInstant) {
        connectionSerial += 1
        let connection = HubConnection(
            id: ConnectionID(rawValue: connectionSerial),
            socket: socket,
            lineByteCountMax: limits.notifierLineByteCountMax,
            lineDeadline: Deadline(after: lineWaitMax, from: now)
        )
        let peer = try? socket.peer()
        guard let peer, peer.userID == Environment.userID else {
            status.note(stranger: peer)
            return connection.close(
                code: "not-permitted",
                reason: "only the owner of the workspace may connect"
            )
        }
        // Writers keep a connection each, beside those who listen.
        guard connections.count < 2 * limits.subscriberCountMax else {
            return connection.close(
                code: "too-many-connections",
                reason: "the hub keeps \(2 * limits.subscriberCountMax) connections"
            )
        }
        connections[connection.id] = connection
        status.connectionCount.store(connections.count, ordering: .relaxed)
    }

    private func serve(
        _ connection: HubConnection,
        _ ready: Poll.Interest,
        at now: MonotonicInstant
    ) {
        if ready.contains(.readable) { receive(from: connection, at: now) }
        if ready.contains(.writable) {
            connection.flush()
            if connection.isDrained { send(to: connection) }
        }
        let isGone = ready.contains(.hungUp) || ready.contains(.failed)
        if isGone && !ready.contains(.readable) { connection.isClosing = true }
    }

    /// Takes what a client has sent, once per round: one client does not hold up the others.
    private func receive(from connection: HubConnection, at now: MonotonicInstant) {
        guard let received = try? connection.socket.receive(into: receiveBuffer) else {
            connection.isClosing = true
            return
        }
        switch received {
        case .nothing: return
        case .end:
            connection.isInputEnded = true
            // Who has not subscribed has nothing more to do here.
            if !machine.hasSubscription(connection.id) { connection.isClosing = true }
        case .bytes(let count):
            let bytes = UnsafeRawBufferPointer(rebasing: receiveBuffer[..<count])
            do {
                try connection.lines.append(bytes) { line in take(line, from: connection) }
                if !connection.lines.isInsideLine {
                    connection.lineDeadline = nil
                } else if connection.lineDeadline == nil {
                    connection.lineDeadline = Deadline(after: lineWaitMax, from: now)
                }
            } catch {
                let reason = NotifierError.lineTooLong(
                    byteCountMax: limits.notifierLineByteCountMax
                ).description
                connection.close(code: "line-too-long", reason: reason)
            }
        }
    }

    private func take(_ line: UnsafeRawBufferPointer, from connection: HubConnection) {
        guard !connection.isClosing else { return }
        do throws(NotifierError) {
            switch try NotifierLine.decodeClientLine(line) {
            case .announce(let range): machine.announce(range)
            case .subscribe(let request): machine.subscribe(request, by: connection.id)
            case .release: considerHandOver()
            case .askMetrics:
                // A client whose socket takes no more asks again; hints do not pile up for it.
                if connection.isDrained { connection.send(metrics(connections.count).line) }
            }
        } catch {
            connection.close(code: "invalid-line", reason: error.description)
        }
    }

    private func considerHandOver() {
        if !isHandingOver, let handOver { isHandingOver = handOver.begins() }
    }

    private func tick(at now: MonotonicInstant) {
        nextTick = Deadline(after: limits.slowPollInterval, from: now)
        isAcceptingPaused = false
        machine.tick(at: now)
        for connection in connections.values {
            if connection.lineDeadline?.hasPassed(at: now) == true {
                connection.close(code: "line-too-slow", reason: "a line was begun and not ended")
            } else if connection.isDrained, let line = machine.heartbeat(for: connection.id) {
                connection.send(line)
            }
        }
        restoreListener()
        considerHandOver()
    }

    /// A temporary-file cleaner may have removed the socket (B107). Connections stay as they are.
    private func restoreListener() {
        if (try? listener.isStillAtPath()) == true { return }
        do {
            listener = try UnixListener(
                path: listener.path,
                replacesLeftover: true,
                isBlocking: false
            )
            status.isReachable.store(true, ordering: .relaxed)
        } catch {
            status.isReachable.store(false, ordering: .relaxed)
        }
    }

    /// Sends line after line until the socket takes no more.
    private func send(to connection: HubConnection) {
        while connection.isDrained && !connection.isClosing,
            let line = machine.nextLine(for: connection.id)
        {
            connection.send(line)
        }
    }

    private func perform(_ actions: [HubStateMachine.Action]) {
        for action in actions {
            switch action {
            case .read(let request): reader.submit(request)
            case .refuse(let id, let code, let reason):
                connections[id]?.close(code: code, reason: reason)
            }
        }
    }

    private func closeFinished() {
        for connection in connections.values where connection.isClosing {
            machine.leave(connection.id)
            connections[connection.id] = nil
        }
        status.connectionCount.store(connections.count, ordering: .relaxed)
    }
}
