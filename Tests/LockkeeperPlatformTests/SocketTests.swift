import Glibc
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

@Suite
struct SocketTests {
    @Test("Bytes go both ways, the peer is known, and its end is seen")
    func conversation() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("socket")
        try await onOwnThread {
            let listener = try UnixListener(path: path, replacesLeftover: false)
            let client = try UnixConnection.connect(to: path)
            let server = try #require(try listener.accept())
            let peer = try server.peer()
            #expect(peer.pid == getpid())
            #expect(peer.userID == geteuid())
            try send("ping", on: client)
            #expect(try receive(on: server) == "ping")
            try send("pong", on: server)
            #expect(try receive(on: client) == "pong")
            client.shutDown()
            #expect(try receive(on: server) == nil)
        }
    }

    @Test("The socket file is its owner's alone, whatever the umask")
    func mode() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("socket")
        let listener = try UnixListener(path: path, replacesLeftover: false)
        #expect(try FileSystem.status(path)?.mode == 0o600)
        #expect(fcntl(listener.raw, F_GETFD) & FD_CLOEXEC != 0)
    }

    // B101
    @Test("A path of 107 bytes is taken, one of 108 refused with its length")
    func pathLength() throws {
        let directory = try TemporaryDirectory()
        let room = UnixSocketError.pathByteCountMax - directory.path.utf8.count - 1
        let longest = directory.file(String(repeating: "s", count: room))
        _ = try UnixListener(path: longest, replacesLeftover: false)
        #expect(try FileSystem.status(longest)?.kind == .socket)
        let error = #expect(throws: UnixSocketError.self) {
            _ = try UnixListener(path: longest + "s", replacesLeftover: false)
        }
        #expect(error == .pathTooLong(path: longest + "s", byteCount: 108))
        #expect(throws: UnixSocketError.self) {
            _ = try UnixConnection.connect(to: longest + "s")
        }
    }

    @Test("A leftover socket is replaced only when the caller says so")
    func leftover() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("socket")
        do { _ = try UnixListener(path: path, replacesLeftover: false) }
        #expect(throws: UnixSocketError.pathTaken(path: path)) {
            _ = try UnixListener(path: path, replacesLeftover: false)
        }
        let listener = try UnixListener(path: path, replacesLeftover: true)
        #expect(try listener.isStillAtPath())
        try listener.removeFile()
        #expect(try FileSystem.status(path) == nil)
        #expect(try !listener.isStillAtPath())
    }

    enum Obstacle: CaseIterable { case file, directory, link }

    @Test("What is no socket is refused and left alone", arguments: Obstacle.allCases)
    func obstacle(_ obstacle: Obstacle) throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("socket")
        switch obstacle {
        case .file: try FileSystem.replaceFile(at: path, with: bytes("mine"))
        case .directory: try FileSystem.makeDirectory(path)
        case .link:
            // Even a link to a leftover socket: it is somebody's link.
            do { _ = try UnixListener(path: directory.file("other"), replacesLeftover: false) }
            try #require(symlink(directory.file("other"), path) == 0)
        }
        let before = try FileSystem.status(path, followingLinks: false)
        #expect(throws: UnixSocketError.pathTaken(path: path)) {
            _ = try UnixListener(path: path, replacesLeftover: true)
        }
        #expect(try FileSystem.status(path, followingLinks: false) == before)
    }

    // B103
    @Test("Sending to a peer that vanished is an error and no signal")
    func vanishedPeer() async {
        // An exit test, so that a SIGPIPE would be seen and would not end the other tests.
        await #expect(processExitsWith: .success) {
            var pair: (UnixConnection, UnixConnection)? = try UnixConnection.pair()
            let connection = pair?.0
            pair = nil
            let error = #expect(throws: SystemCallError.self) {
                if let connection { try send("lost", on: connection) }
            }
            precondition(error?.errno == .brokenPipe)
        }
    }

    @Test("A non-blocking connection says that it would wait")
    func nonBlocking() throws {
        let (one, other) = try UnixConnection.pair(isBlocking: false)
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let found = try buffer.withUnsafeMutableBytes { try one.receive(into: $0) }
        #expect(found == .nothing)
        // The socket's buffer is bounded, so that this ends.
        var count = 0
        while true {
            let sent = try buffer.withUnsafeBytes { try one.send($0) }
            if sent == 0 { break }
            count += sent
        }
        #expect(count > 0)
        _ = other
    }

    @Test("A listener without connections gives none when it does not block")
    func nonBlockingAccept() throws {
        let directory = try TemporaryDirectory()
        let listener = try UnixListener(
            path: directory.file("socket"),
            replacesLeftover: false,
            isBlocking: false
        )
        #expect(try listener.accept() == nil)
        #expect(throws: UnixSocketError.self) {
            _ = try UnixConnection.connect(to: directory.file("nobody"))
        }
    }

    @Test("A poll tells who has something, ends at its deadline and is woken from elsewhere")
    func poll() async throws {
        try await onOwnThread {
            let (one, other) = try UnixConnection.pair(isBlocking: false)
            let event = try WakeEvent()
            var poll = Poll()
            let wake = poll.add(event.raw, .readable)
            let data = poll.add(one.raw, .readable)
            let soon = Deadline(after: .milliseconds(5), from: SystemClock().now())
            #expect(try poll.wait(until: soon) == 0)
            #expect(soon.hasPassed(at: SystemClock().now()))

            let thread = try WorkerThread.start(name: "waker") { event.signal() }
            #expect(try poll.wait(until: patience()) == 1)
            #expect(poll.ready(at: wake) == .readable)
            #expect(poll.ready(at: data) == [])
            event.drain()
            thread.join()

            try send("x", on: other)
            #expect(try poll.wait(until: .never) == 1)
            #expect(poll.ready(at: data).contains(.readable))
            poll.set(.writable, at: data)
            #expect(try poll.wait(until: .never) == 1)
            #expect(poll.ready(at: data) == .writable)
        }
    }

    @Test("Connections that go leave no descriptor behind")
    func noLeak() async {
        // An exit test, because other tests open descriptors meanwhile.
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let path = directory.file("socket")
            let listener = try UnixListener(path: path, replacesLeftover: false)
            let before = try openSocketCount()
            for _ in 0..<50 {
                let client = try UnixConnection.connect(to: path)
                _ = try listener.accept()
                _ = client
                _ = try? UnixListener(path: path, replacesLeftover: false)
            }
            let after = try openSocketCount()
            precondition(after == before)
        }
    }
}

private func send(_ text: String, on connection: UnixConnection) throws {
    let count = try bytes(text).withUnsafeBytes { try connection.send($0) }
    #expect(count == text.utf8.count)
}

/// What arrives next; `nil` at the end.
private func receive(on connection: UnixConnection) throws -> String? {
    var buffer = [UInt8](repeating: 0, count: 256)
    switch try buffer.withUnsafeMutableBytes({ try connection.receive(into: $0) }) {
    case .bytes(let count): return String(decoding: buffer[..<count], as: UTF8.self)
    case .nothing: return ""
    case .end: return nil
    }
}
