import Glibc
import LockkeeperDomain
import LockkeeperNotifier
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

/// Clients that are slow, broken, gone or foreign. None of them slows the others (B103, B107, B108).
@Suite(.serialized) struct HubClientTests {
    @Test("lines may come byte by byte, or several in one write")
    func splitAndJoined() async throws {
        try await onOwnThread {
            let fixture = try HubFixture()
            let client = try RawClient(path: fixture.path)
            for byte in "{\"subscribe\":\"alice\"}\n" { try client.send(String(byte)) }
            try #require(try client.answer()?.hasPrefix("{\"account\":\"alice\"") == true)
            try client.send(
                "{\"subscribe\":\"alice\"}\n\n{\"subscribe\":\"alice\",\"after\":null}\n"
            )
            try #require(try client.answer()?.hasPrefix("{\"account\":\"alice\"") == true)
        }
    }

    @Test(
        "a client that breaks the protocol is told why and closed",
        arguments: [
            ("nonsense\n", "invalid-line"), ("{\"subscribe\":\"\"}\n", "invalid-line"),
            ("{\"subscribe\":\"nobody\"}\n", "unknown-account"),
            (String(repeating: "x", count: 70_000), "line-too-long"),
        ]
    )
    func brokenProtocol(line: String, code: String) async throws {
        try await onOwnThread {
            let fixture = try HubFixture()
            let other = try fixture.subscriber()
            let client = try RawClient(path: fixture.path)
            try client.send(line)
            try #require(try client.answer()?.hasPrefix("{\"error\":\"\(code)\"") == true)
            try #require(try client.answer() == nil)
            fixture.hub.announce(fixture.log.commit("alice"))
            try other.nextRange()
        }
    }

    @Test("a client that ends its input goes on listening, as socat does")
    func halfClosed() async throws {
        try await onOwnThread {
            let fixture = try HubFixture()
            let client = try RawClient(path: fixture.path)
            try client.send("{\"subscribe\":\"alice\"}\n")
            client.endInput()
            try #require(try client.answer() != nil)
            fixture.hub.announce(fixture.log.commit("alice"))
            try #require(try client.answer()?.contains("\"commits\":[1,1]") == true)
        }
    }

    @Test("a subscriber that does not read holds up nobody and catches up from the log later")
    func stoppedSubscriber() async throws {
        try await onOwnThread {
            let fixture = try HubFixture()
            let stopped = try fixture.subscriber()
            let reading = try fixture.subscriber()
            let commitCount: Int64 = 10_000
            for _ in 0..<commitCount / 100 {
                for _ in 0..<100 { fixture.hub.announce(fixture.log.commit("alice")) }
                try reading.read(to: fixture.log.account("alice").head.head)
            }
            // Its socket holds a few hundred lines; the rest comes from the log.
            try stopped.read(to: CommitNumber(commitCount))
        }
    }

    @Test("clients that vanish with full sockets leave nothing behind and kill nobody (B103)")
    func vanishing() async throws {
        // In a process of its own, where no other test opens descriptors at the same time.
        await #expect(processExitsWith: .success) {
            try await onOwnThread { try HubClientTests.letClientsVanish() }
        }
    }

    private static func letClientsVanish() throws {
        let fixture = try HubFixture()
        let witness = try fixture.subscriber()
        let before = try openSocketCount()
        for round in 0..<100 {
            let client = try RawClient(path: fixture.path)
            try client.send("{\"subscribe\":\"alice\"}\n")
            if round.isMultiple(of: 2) { _ = try client.answer() }
            for _ in 0..<20 { fixture.hub.announce(fixture.log.commit("alice")) }
        }
        try witness.read(to: CommitNumber(2000))
        while fixture.hub.connectionCount > 1 { usleep(1000) }
        try #require(try openSocketCount() == before)
    }

    @Test("clients that say nothing lose their place; who listens keeps it (B108)")
    func idleClients() async throws {
        try await onOwnThread {
            let fixture = try HubFixture(
                slowPoll: .milliseconds(20),
                subscriberCountMax: 2,
                lineWaitMax: .milliseconds(100)
            )
            let listener = try fixture.subscriber()
            let idle = try (0..<3).map { _ in try RawClient(path: fixture.path) }
            try idle[0].send("{\"subscr")
            let refused = try RawClient(path: fixture.path)
            try #require(try refused.answer()?.contains("too-many-connections") == true)
            for client in idle {
                try #require(try client.answer()?.contains("line-too-slow") == true)
                try #require(try client.answer() == nil)
            }
            fixture.hub.announce(fixture.log.commit("alice"))
            try listener.nextRange()
            let second = try fixture.subscriber()
            let third = try RawClient(path: fixture.path)
            try third.send("{\"subscribe\":\"alice\"}\n")
            try #require(try third.answer()?.contains("too-many-subscribers") == true)
            withExtendedLifetime(second) {}
        }
    }

    @Test("300 clients that say nothing hold up nobody who listens or writes (B108)")
    func manyIdleClients() async throws {
        try await onOwnThread {
            let fixture = try HubFixture()
            let idle = try (0..<300).map { _ in
                // The kernel's line of those who were not accepted yet is short.
                var client: RawClient?
                try #require(
                    try eventually {
                        client = try? RawClient(path: fixture.path)
                        return client != nil
                    }
                )
                return try #require(client)
            }
            try #require(try eventually { fixture.hub.connectionCount == 300 })
            let listener = try fixture.subscriber()
            let announcer = fixture.announcer()
            for _ in 0..<10 {
                announcer.announce(fixture.log.commit("alice"))
                try listener.nextRange()
            }
            withExtendedLifetime(idle) {}
        }
    }

    @Test("a client that goes on sending a byte now and then does not prolong its line (B108)")
    func dripFeed() async throws {
        try await onOwnThread {
            let fixture = try HubFixture(
                slowPoll: .milliseconds(20),
                lineWaitMax: .milliseconds(200)
            )
            let client = try RawClient(path: fixture.path)
            let began = SystemClock().now()
            let line = Array("{\"subscribe\":\"alice\"}")
            var sent = 0
            // Each byte comes well within what the whole line may take, and the line does not.
            while sent < line.count, (try? client.send(String(line[sent]))) != nil {
                sent += 1
                usleep(20_000)
            }
            try #require(try client.answer()?.contains("line-too-slow") == true)
            let time = SystemClock().now().duration(since: began)
            try #require(time >= .milliseconds(200))
        }
    }

    @Test("a socket that a cleaner removed is bound again; connections stay (B107)")
    func removedSocket() async throws {
        try await onOwnThread {
            let fixture = try HubFixture(slowPoll: .milliseconds(20))
            let old = try fixture.subscriber()
            try FileSystem.remove(fixture.path)
            // A socket has its name a moment before it listens: a client is refused until then.
            var subscriber: Subscriber?
            let isBoundAgain = try eventually {
                subscriber = try? fixture.subscriber()
                return subscriber != nil
            }
            try #require(isBoundAgain)
            let new = try #require(subscriber)
            fixture.hub.announce(fixture.log.commit("alice"))
            try old.nextRange()
            try new.nextRange()
        }
    }

    @Test("closing tells the clients, removes the socket and ends the feeds")
    func closing() async throws {
        try await onOwnThread {
            let fixture = try HubFixture()
            let subscriber = try fixture.subscriber()
            fixture.hub.close()
            let event = try subscriber.next()
            try #require(event == .line(.error(code: "closing", reason: "the hub closes")))
            try #require(try subscriber.next() == .closed)
            try #require(try FileSystem.status(fixture.path) == nil)
            try #require(fixture.hub.failure == nil)
            #expect(throws: NotifierError.self) { try fixture.subscriber() }
        }
    }

    @Test(
        "another user is refused even where the file system would let it in",
        .enabled(if: geteuid() == 0, "only root can run a program as another user")
    )
    func anotherUser() async throws {
        try await onOwnThread {
            let fixture = try HubFixture()
            chmod(fixture.directory.path, 0o711)
            chmod(fixture.path, 0o666)
            let program = """
                use IO::Socket::UNIX;
                $SIG{PIPE} = 'IGNORE';
                $hub = IO::Socket::UNIX->new(Peer => $ARGV[0]) or exit 3;
                print {$hub} qq({"subscribe":"alice"}\\n);
                print while <$hub>;
                """
            let child = try ChildProcess(
                program: "setpriv",
                arguments: [
                    "--reuid=65534", "--clear-groups", "perl", "-e", program, fixture.path,
                ],
                output: .pipe
            )
            let output = try child.takePipe(.output).readToEnd()
            _ = try child.wait()
            let text = String(decoding: output, as: UTF8.self)
            try #require(text.hasPrefix("{\"error\":\"not-permitted\""), "\(text)")
            try #require(!text.contains("generation"))
            // Who operates it is told.
            let strangers = try #require(fixture.hub.takeStrangers())
            #expect(strangers.count == 1 && strangers.last?.userID == 65534)
            #expect(fixture.hub.takeStrangers() == nil)
        }
    }
}
