package import LockkeeperDomain
package import LockkeeperPlatform

/// A subscriber's side of the hub's socket, read on the caller's own thread.
///
/// The first line is the head or an error. The caller checks that each range continues the one
/// before, looks at its store itself when nothing is heard for three heartbeats, and connects again
/// when the connection has ended. Confined to one thread at a time.
package final class FeedConnection {
    private let socket: UnixConnection
    private var lines: LineBuffer
    private var poll = Poll()
    private let buffer: UnsafeMutableRawBufferPointer
    private let clock: any MonotonicClock
    /// Lines that were received and not handed out, latest first.
    private var received: [HubLine] = []
    private var isEnded = false
    /// When the hub was last heard; at first, when it was connected to.
    package private(set) var lastHeard: MonotonicInstant

    /// What came of waiting.
    package enum Event: Sendable, Hashable {
        /// A line.
        case line(HubLine)
        /// The deadline came first.
        case timedOut
        /// Somebody signalled the wake event, which the caller drains.
        case woken
        /// The hub has closed, or is gone.
        case closed
    }

    /// Connects and subscribes.
    ///
    /// - Throws: ``NotifierError`` when no hub of the same user listens at the path.
    package init(
        path: String,
        request: SubscriptionRequest,
        limits: Limits,
        clock: any MonotonicClock
    ) throws(NotifierError) {
        let byteCountMax = limits.notifierLineByteCountMax
        guard let line = NotifierLine.encode(.subscribe(request), byteCountMax: byteCountMax) else {
            throw .lineTooLong(byteCountMax: byteCountMax)
        }
        socket = try connectToOwnHub(path: path)
        lines = LineBuffer(byteCountMax: byteCountMax)
        buffer = .allocate(byteCount: byteCountMax, alignment: 16)
        self.clock = clock
        lastHeard = clock.now()
        // A new socket's buffer holds more than one line of the largest size.
        let sent = line.withUnsafeBytes { bytes in
            Result { () throws(SystemCallError) in try socket.send(bytes) }
        }
        do {
            isEnded = try sent.get() < line.count
        } catch {
            throw .system(error)
        }
    }

    deinit { buffer.deallocate() }

    /// Waits for the next line.
    ///
    /// - Throws: ``NotifierError`` when the hub sends what is no line of this protocol; the
    ///   connection is of no use then.
    package func next(
        until deadline: Deadline,
        wakingOn wake: WakeEvent? = nil
    ) throws(NotifierError) -> Event {
        while true {
            if let line = received.popLast() { return .line(line) }
            if isEnded { return .closed }
            poll.removeAll()
            poll.add(socket.raw, .readable)
            if let wake { poll.add(wake.raw, .readable) }
            let readyCount: Int
            do {
                readyCount = try poll.wait(until: deadline, clock: clock)
            } catch {
                throw .system(error)
            }
            if readyCount == 0 { return .timedOut }
            if wake != nil && poll.ready(at: 1) != [] { return .woken }
            try receive()
        }
    }

    private func receive() throws(NotifierError) {
        guard let outcome = try? socket.receive(into: buffer) else {
            // A connection that breaks ends like one that is closed: what was missed is in the log.
            isEnded = true
            return
        }
        switch outcome {
        case .nothing: return
        case .end: isEnded = true
        case .bytes(let count):
            lastHeard = clock.now()
            try decode(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    private func decode(_ bytes: UnsafeRawBufferPointer) throws(NotifierError) {
        var decoded: [HubLine] = []
        var failure: NotifierError?
        do {
            try lines.append(bytes) { line in
                guard failure == nil else { return }
                do throws(NotifierError) {
                    decoded.append(try NotifierLine.decodeHubLine(line))
                } catch {
                    failure = error
                }
            }
        } catch {
            failure = .lineTooLong(byteCountMax: buffer.count)
        }
        received = decoded.reversed()
        if let failure { throw failure }
    }
}
