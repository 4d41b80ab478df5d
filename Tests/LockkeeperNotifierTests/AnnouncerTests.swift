import LockkeeperDomain
import LockkeeperNotifier
import LockkeeperPlatform
import LockkeeperTestSupport
import Synchronization
import Testing

/// A writer's side: it never waits, whatever the hub does.
@Suite struct AnnouncerTests {
    @Test("without a hub an announcement is dropped, and few attempts are made to connect")
    func noHub() throws {
        let clock = ManualClock()
        let directory = try TemporaryDirectory()
        let path = directory.path + "/hub"
        let announcer = Announcer(path: path, limits: Limits(), clock: clock)
        let range = ChangeRange.fixture(head: .fixture(), commits: 1...1)
        for _ in 0..<5 { announcer.announce(range) }
        #expect(announcer.droppedCount == 5)
    }

    @Test("a hub that appears is found after the wait between attempts, not before")
    func hubAppears() async throws {
        try await onOwnThread {
            let clock = ManualClock()
            let directory = try TemporaryDirectory()
            let path = directory.path + "/hub"
            let announcer = Announcer(path: path, limits: Limits(), clock: clock)
            let range = ChangeRange.fixture(head: .fixture(), commits: 1...1)
            announcer.announce(range)
            let listener = try UnixListener(
                path: path,
                replacesLeftover: false,
                isBlocking: false
            )
            announcer.announce(range)
            try #require(try listener.accept() == nil)
            clock.advance(by: .milliseconds(20))
            announcer.announce(range)
            try #require(try listener.accept() != nil)
            try #require(announcer.droppedCount == 2)
        }
    }

    @Test("a hub that was replaced is reached by the announcement that finds the old one gone")
    func hubReplaced() async throws {
        try await onOwnThread {
            let fixture = try HubFixture()
            let announcer = fixture.announcer()
            announcer.announce(fixture.log.commit("alice"))
            fixture.hub.close()
            let next = try Hub(
                path: fixture.path,
                limits: fixture.limits,
                clock: SystemClock(),
                source: fixture.log
            )
            let subscriber = try fixture.subscriber()
            announcer.announce(fixture.log.commit("alice"))
            try subscriber.read(to: CommitNumber(2))
            next.close()
        }
    }

    @Test("a hub that does not read makes announcements dropped, not the writer wait")
    func stoppedHub() async throws {
        try await onOwnThread {
            let directory = try TemporaryDirectory()
            let path = directory.path + "/hub"
            let listener = try UnixListener(path: path, replacesLeftover: false)
            let announcer = Announcer(path: path, limits: Limits(), clock: SystemClock())
            var head = StoreHead.fixture()
            var sentCount: Int64 = 0
            while announcer.droppedCount < 10 {
                sentCount += 1
                let range = ChangeRange.fixture(head: head, commits: sentCount...sentCount)
                head.head = range.last
                announcer.announce(range)
            }
            // What did arrive is whole lines, whose gaps the hub would see.
            let connection = try #require(try listener.accept())
            var text: [UInt8] = []
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65536, alignment: 1)
            defer { buffer.deallocate() }
            announcer.announce(ChangeRange.fixture(head: head, commits: 1_000_000...1_000_000))
            while case .bytes(let count) = try connection.receive(into: buffer) {
                text += buffer[..<count]
                if count < buffer.count { break }
            }
            announcer.announce(ChangeRange.fixture(head: head, commits: 1_000_001...1_000_001))
            announcer.close()
            while case .bytes(let count) = try connection.receive(into: buffer) {
                text += buffer[..<count]
            }
            let lines = text.split(separator: UInt8(ascii: "\n"))
            for line in lines {
                try #require(line.first == UInt8(ascii: "{") && line.last == UInt8(ascii: "}"))
            }
            let last = String(decoding: try #require(lines.last), as: UTF8.self)
            try #require(last.contains("[1000001,1000001]"))
        }
    }
}

/// A reader's side.
@Suite struct FeedConnectionTests {
    @Test("heartbeats come each interval and say up to where everything was told")
    func heartbeat() async throws {
        try await onOwnThread {
            let fixture = try HubFixture(slowPoll: .milliseconds(10))
            let head = fixture.log.account("alice").head
            let subscriber = try fixture.subscriber()
            let deadline = Deadline(after: .seconds(20), from: SystemClock().now())
            for _ in 0..<3 {
                let event = try subscriber.connection.next(until: deadline)
                try #require(event == .line(.heartbeat(head.position)))
            }
        }
    }

    @Test("a wake event ends the wait, and a deadline does")
    func woken() async throws {
        try await onOwnThread {
            let fixture = try HubFixture()
            let subscriber = try fixture.subscriber()
            let wake = try WakeEvent()
            wake.signal()
            try #require(try subscriber.connection.next(until: .never, wakingOn: wake) == .woken)
            wake.drain()
            let deadline = Deadline(after: .milliseconds(5), from: SystemClock().now())
            let event = try subscriber.connection.next(until: deadline, wakingOn: wake)
            try #require(event == .timedOut)
        }
    }

    @Test("where no hub listens connecting fails at once")
    func noHub() throws {
        let directory = try TemporaryDirectory()
        #expect(throws: NotifierError.self) {
            _ = try FeedConnection(
                path: directory.path + "/hub",
                request: SubscriptionRequest(account: "alice", after: nil),
                limits: Limits(),
                clock: SystemClock()
            )
        }
    }
}

/// A monotonic clock that only a test moves.
private final class ManualClock: MonotonicClock {
    private let nanoseconds = Atomic<Int64>(0)

    func now() -> MonotonicInstant {
        MonotonicInstant(nanoseconds: nanoseconds.load(ordering: .relaxed))
    }

    func advance(by duration: Duration) {
        nanoseconds.wrappingAdd(duration.wholeNanoseconds, ordering: .relaxed)
    }
}
