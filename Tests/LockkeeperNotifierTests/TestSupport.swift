import Glibc
import LockkeeperDomain
import LockkeeperNotifier
import LockkeeperPlatform
import LockkeeperTestSupport
import Synchronization

/// A hub with its log and directory.
final class HubFixture: Sendable {
    let directory: TemporaryDirectory
    let log: FakeLog
    let hub: Hub
    let limits: Limits
    var path: String { directory.path + "/hub" }

    /// - Parameter slowPoll: An hour where a test shows that something works without it.
    init(
        _ log: FakeLog = FakeLog("alice"),
        slowPoll: Duration = .seconds(3600),
        subscriberCountMax: Int = 256,
        lineWaitMax: Duration = .seconds(3600)
    ) throws {
        var limits = Limits()
        limits.slowPollInterval = slowPoll
        limits.subscriberCountMax = subscriberCountMax
        self.limits = limits
        self.log = log
        directory = try TemporaryDirectory()
        hub = try Hub(
            path: directory.path + "/hub",
            limits: limits,
            lineWaitMax: lineWaitMax,
            clock: SystemClock(),
            source: log
        )
    }

    deinit { hub.close() }

    func announcer() -> Announcer {
        Announcer(path: path, limits: limits, clock: SystemClock())
    }

    /// A subscriber that has been given its head line.
    func subscriber(
        _ account: AccountID = "alice",
        after: Position? = nil,
        without: String? = nil
    ) throws -> Subscriber {
        let subscriber = try Subscriber(
            path: path,
            request: SubscriptionRequest(account: account, after: after, excludedOrigin: without),
            limits: limits
        )
        try subscriber.takeHead()
        return subscriber
    }
}

/// What went wrong in a test's thread.
struct Unexpected: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// A subscriber that checks what every subscriber relies on: each range continues the one before
/// (I-7). Heartbeats are passed over.
final class Subscriber {
    let connection: FeedConnection
    let request: SubscriptionRequest
    private(set) var head: StoreHead?
    private(set) var position: CommitNumber
    private(set) var lineCount = 0

    init(path: String, request: SubscriptionRequest, limits: Limits) throws {
        self.request = request
        connection = try FeedConnection(
            path: path,
            request: request,
            limits: limits,
            clock: SystemClock()
        )
        position = request.after?.commit ?? CommitNumber(0)
    }

    func takeHead() throws {
        guard case .line(.head(let account, let head)) = try next(), account == request.account
        else { throw Unexpected("the first answer is not the head") }
        self.head = head
        if request.after == nil { position = head.head }
    }

    /// The next event that is no heartbeat.
    func next() throws -> FeedConnection.Event {
        let deadline = Deadline(after: .seconds(20), from: SystemClock().now())
        while true {
            let event = try connection.next(until: deadline)
            if case .line(.heartbeat) = event { continue }
            if case .timedOut = event { throw Unexpected("nothing was heard for 20 s") }
            lineCount += 1
            return event
        }
    }

    @discardableResult
    func nextRange() throws -> ChangeRange {
        let event = try next()
        guard case .line(.range(let range)) = event else {
            throw Unexpected("\(event) instead of a range")
        }
        guard range.predecessor == position else {
            throw Unexpected("at \(position) came a range after \(range.predecessor)")
        }
        position = range.last
        return range
    }

    /// Reads ranges up to a commit.
    func read(to commit: CommitNumber) throws {
        while position < commit { try nextRange() }
        guard position == commit else { throw Unexpected("went past \(commit) to \(position)") }
    }

    /// Whether nothing but heartbeats comes for so long.
    func isSilent(for duration: Duration) throws -> Bool {
        let deadline = Deadline(after: duration, from: SystemClock().now())
        while true {
            switch try connection.next(until: deadline) {
            case .line(.heartbeat): continue
            case .timedOut: return true
            default: return false
            }
        }
    }
}

/// A client that writes bytes as it likes.
final class RawClient {
    private let socket: UnixConnection
    private var received: [UInt8] = []

    init(path: String) throws { socket = try UnixConnection.connect(to: path) }

    func send(_ text: String) throws {
        var bytes = Array(text.utf8)
        while !bytes.isEmpty {
            let count = try bytes.withUnsafeBytes { try socket.send($0) }
            bytes.removeFirst(count)
        }
    }

    /// Ends this direction, as `socat` does at the end of its input.
    func endInput() { shutdown(socket.raw, Int32(SHUT_WR)) }

    /// The next line; `nil` at the end.
    func line() throws -> String? {
        while true {
            if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: received[..<end], as: UTF8.self)
                received.removeSubrange(...end)
                return line
            }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65536, alignment: 1)
            defer { buffer.deallocate() }
            // A connection that the hub closed with bytes of ours unread ends in an error.
            guard case .bytes(let count)? = try? socket.receive(into: buffer) else { return nil }
            received += buffer[..<count]
        }
    }

    /// The next line that is no heartbeat.
    func answer() throws -> String? {
        while let line = try line() {
            if !line.hasPrefix("{\"heartbeat\"") { return line }
        }
        return nil
    }
}

/// Opens once; threads wait for it.
final class ThreadGate: Sendable {
    private let isOpen = Monitor(false)

    func open() {
        isOpen.withLock { $0 = true }
        isOpen.broadcast()
    }

    func wait() { _ = isOpen.wait(until: .never) { $0 ? true : nil } }
}

/// A small generator whose runs can be repeated by their seed.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
