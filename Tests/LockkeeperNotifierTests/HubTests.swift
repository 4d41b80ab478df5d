import Glibc
import LockkeeperDomain
import LockkeeperNotifier
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

/// The hub over real sockets. I-7: nothing is missed. I-9: everything is bounded.
@Suite struct HubTests {
    @Test("an announced commit reaches every subscriber without a look into the log")
    func forwarded() async throws {
        try await onOwnThread {
            let fixture = try HubFixture()
            let subscribers = [try fixture.subscriber(), try fixture.subscriber()]
            let readCount = fixture.log.account("alice").readCount
            let announcer = fixture.announcer()
            for _ in 0..<3 {
                let range = fixture.log.commit("alice", jump: 5)
                announcer.announce(range)
                for subscriber in subscribers { try #require(try subscriber.nextRange() == range) }
            }
            try #require(fixture.log.account("alice").readCount == readCount)
        }
    }

    @Test("the host's own commits go out without a socket")
    func ownCommits() async throws {
        try await onOwnThread {
            let fixture = try HubFixture()
            let subscriber = try fixture.subscriber()
            let range = fixture.log.commit("alice")
            fixture.hub.announce(range)
            try #require(try subscriber.nextRange() == range)
        }
    }

    @Test("a lost announcement is made good from the log at the next one")
    func gap() async throws {
        try await onOwnThread {
            let fixture = try HubFixture()
            let subscriber = try fixture.subscriber()
            fixture.log.commit("alice")
            fixture.log.commit("alice")
            fixture.hub.announce(fixture.log.commit("alice"))
            try subscriber.read(to: CommitNumber(3))
        }
    }

    @Test("a commit that nobody announces is found by the slow poll (R-26)")
    func slowPoll() async throws {
        try await onOwnThread {
            let fixture = try HubFixture(slowPoll: .milliseconds(20))
            let subscriber = try fixture.subscriber()
            fixture.log.commit("alice")
            try subscriber.read(to: CommitNumber(1))
        }
    }

    @Test("an announcement that comes twice is told once")
    func duplicate() async throws {
        try await onOwnThread {
            let fixture = try HubFixture()
            let subscriber = try fixture.subscriber()
            let first = fixture.log.commit("alice")
            for _ in 0..<3 { fixture.hub.announce(first) }
            fixture.hub.announce(fixture.log.commit("alice"))
            try subscriber.read(to: CommitNumber(2))
            try #require(try subscriber.isSilent(for: .milliseconds(30)))
        }
    }

    @Test("who comes late, to a hub that remembers nothing, is told what lies between (B105)")
    func late() async throws {
        try await onOwnThread {
            let log = FakeLog("alice")
            for _ in 0..<180 { log.commit("alice") }
            let fixture = try HubFixture(log)
            let store = log.account("alice").head.store
            let position = Position(store: store, commit: CommitNumber(100))
            let subscriber = try fixture.subscriber(after: position)
            try #require(subscriber.head?.head == CommitNumber(180))
            try subscriber.read(to: CommitNumber(180))
        }
    }

    @Test("a commit between the first answer's reading and the first range is not lost (B105)")
    func commitDuringSubscription() async throws {
        try await onOwnThread {
            let fixture = try HubFixture()
            let listener = try fixture.subscriber()
            let isReading = ThreadGate()
            let goOn = ThreadGate()
            // The reading is done, and its outcome is held back while a commit goes through.
            fixture.log.setGate { _ in
                isReading.open()
                goOn.wait()
            }
            let late = try Subscriber(
                path: fixture.path,
                request: SubscriptionRequest(account: "alice", after: nil),
                limits: fixture.limits
            )
            isReading.wait()
            fixture.hub.announce(fixture.log.commit("alice"))
            try listener.read(to: CommitNumber(1))
            goOn.open()
            try late.takeHead()
            fixture.hub.announce(fixture.log.commit("alice"))
            try late.read(to: CommitNumber(2))
        }
    }

    @Test("one account's slow disk does not hold up another account")
    func slowDisk() async throws {
        try await onOwnThread {
            let fixture = try HubFixture(FakeLog("alice", "bob"))
            let bob = try fixture.subscriber("bob")
            let isReading = ThreadGate()
            let goOn = ThreadGate()
            fixture.log.setGate { _ in
                isReading.open()
                goOn.wait()
            }
            fixture.hub.look(at: StreamName("alice"))
            let request = SubscriptionRequest(account: "alice", after: nil)
            let alice = try Subscriber(
                path: fixture.path,
                request: request,
                limits: fixture.limits
            )
            isReading.wait()
            for _ in 0..<5 {
                fixture.hub.announce(fixture.log.commit("bob"))
                try bob.nextRange()
            }
            goOn.open()
            try alice.takeHead()
        }
    }

    @Test("a position that the log does not reach back to, or of another store, means resync")
    func resync() async throws {
        try await onOwnThread {
            let log = FakeLog("alice", "bob")
            for _ in 0..<10 { log.commit("alice") }
            log.prune("alice", count: 5)
            let fixture = try HubFixture(log)
            let head = log.account("alice").head
            let other = log.account("bob").head.store
            for position in [
                Position(store: head.store, commit: CommitNumber(4)),
                Position(store: head.store, commit: CommitNumber(11)),
                Position(store: other, commit: CommitNumber(6)),
            ] {
                let subscriber = try fixture.subscriber(after: position)
                try #require(try subscriber.next() == .line(.resync("alice", head)))
            }
            // The floor itself can be read from.
            let floor = Position(store: head.store, commit: head.oldest)
            try fixture.subscriber(after: floor).read(to: head.head)
        }
    }

    @Test("after the generation line nothing comes until the client asks again (B46)")
    func generation() async throws {
        try await onOwnThread {
            let fixture = try HubFixture()
            let subscriber = try fixture.subscriber()
            // The last commit of the old generation was never announced.
            fixture.log.commit("alice")
            let change = fixture.log.changeGeneration("alice", .retired)
            fixture.hub.changeGeneration(of: "alice", to: change)
            try subscriber.read(to: CommitNumber(1))
            try #require(try subscriber.next() == .line(.generation("alice", change)))
            _ = fixture.log.changeGeneration("alice", .active)
            fixture.hub.announce(fixture.log.commit("alice"))
            try #require(try subscriber.isSilent(for: .milliseconds(30)))
            let again = try fixture.subscriber()
            try #require(again.head?.generation == Generation(9))
        }
    }

    @Test("a generation line does not wait for a store that cannot be read any more")
    func generationOfBrokenStore() async throws {
        try await onOwnThread {
            let fixture = try HubFixture()
            let subscriber = try fixture.subscriber()
            let change = fixture.log.changeGeneration("alice", .retired)
            fixture.log.change("alice") { $0.isBroken = true }
            fixture.hub.changeGeneration(of: "alice", to: change)
            try #require(try subscriber.next() == .line(.generation("alice", change)))
        }
    }

    @Test("a client's own commits are not told, and the next range continues from before them")
    func ownOrigin() async throws {
        try await onOwnThread {
            let fixture = try HubFixture()
            let subscriber = try fixture.subscriber(without: "me")
            for origin in ["other", "me", "me", "other"] {
                fixture.hub.announce(fixture.log.commit("alice", origin: origin))
                // One at a time: joined ranges have both origins and are told.
                if origin == "me" { usleep(20_000) }
            }
            try subscriber.read(to: CommitNumber(4))
        }
    }
}
