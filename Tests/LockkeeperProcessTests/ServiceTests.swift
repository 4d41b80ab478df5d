import Foundation
import Glibc
import LockkeeperPlatform
import LockkeeperSimulation
import Testing

/// The host as a service manager runs it: with a notify socket of the test's own, and with a socket
/// that is listened on before the host is there.
@Suite("The host as a service", .serialized, .timeLimit(.minutes(10)))
struct ServiceTests {
    private static let units = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Scripts/systemd").path

    @Test(
        "the units are what systemd takes them for",
        .enabled(if: isInstalled("systemd-analyze"), "systemd is not installed"),
        arguments: ["lockkeeper.service", "lockkeeper.socket", "lockkeeper-helper@.service"]
    )
    func units(name: String) async throws {
        let folder = try TemporaryFolder()
        let verify = try RunningCommand(
            ["systemd-analyze", "verify", "--user", "--man=no", "\(Self.units)/\(name)"],
            program: "/usr/bin/env",
            environment: ["XDG_RUNTIME_DIR": folder.path, "HOME": folder.path]
        )
        let end = await verify.end()
        #expect(end.status == .exited(0))
        // What it warns of it prints, and ends with 0 all the same.
        #expect(end.errors.filter { $0.contains(name) } == [])
    }

    @Test("the manager is told readiness, status, the watchdog and the end, in this order")
    func notified() async throws {
        let workspace = try await TestWorkspace()
        let manager = try NotifySocket(workspace.folder.path("notify"))
        let host = try RunningCommand(
            ["host", "--root", workspace.root],
            environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "30000000"]
        )
        #expect(manager.receive() == "EXTEND_TIMEOUT_USEC=30000000")
        #expect(manager.receive() == "READY=1")
        #expect(manager.receive() == "STATUS=serves \(workspace.root), account alice")
        #expect(manager.receive() == "WATCHDOG=1")
        #expect(manager.receive() == "WATCHDOG=1")
        try host.process.signal(.terminate)
        #expect(await host.end().status == .exited(0))
        var last = manager.receive()
        while last == "WATCHDOG=1" { last = manager.receive() }
        #expect(last == "STOPPING=1")
    }

    // B34
    @Test("a host whose lock file was deleted ends and says why, so that there are no two of them")
    func displaced() async throws {
        let workspace = try await TestWorkspace()
        let host = try workspace.start(["host"])
        #expect(await host.nextLine()?.contains("ready") == true)
        try FileSystem.remove("\(workspace.root)/workspace.locks")
        let ending = await host.end()
        #expect(ending.status == .exited(75))
        #expect(ending.errorText.contains("workspace.locks' was removed or replaced"))
        let next = try workspace.start(["host"])
        #expect(await next.nextLine()?.contains("ready") == true)
        try next.process.signal(.terminate)
        #expect(await next.end().status == .exited(0))
    }

    @Test(
        "a socket that is there before the host starts it, and is there after it",
        .enabled(if: isInstalled("systemd-socket-activate"), "systemd is not installed")
    )
    func activated() async throws {
        let workspace = try await TestWorkspace()
        let socket = "\(workspace.root)/notifier.sock"
        let manager = try RunningCommand(
            ["--listen=\(socket)", CommandRunner.program, "host", "--root", workspace.root],
            program: "/usr/bin/systemd-socket-activate"
        )
        while try FileSystem.status(socket) == nil { await Task.yield() }
        let before = try #require(try FileSystem.status(socket)).identity
        // A helper's feed connects, which starts the host; it hears through it what another one writes.
        let tail = try workspace.start(["tail", "--count", "1"])
        #expect(await manager.nextLine()?.contains("ready") == true)
        let line =
            #"{"conversation":"c","id":"m1","seq":1,"sender":"s","#
            + #""sent_at":"2026-01-01T00:00:00Z","body":"b"}"# + "\n"
        let ingest = try workspace.start(["ingest", "--account", "alice"])
        ingest.send(Array(line.utf8))
        ingest.closeInput()
        #expect(await ingest.end().status == .exited(0))
        #expect(await tail.end().status == .exited(0))
        #expect(try FileSystem.status(socket)?.identity == before)
        try manager.process.signal(.terminate)
        #expect(await manager.end().status == .exited(0))
        #expect(try FileSystem.status(socket)?.identity == before)
    }

    @Test(
        "what the host says is an entry of the journal with fields where its error stream is that",
        .enabled(if: mayMount, "only root may mount a journal's socket of the test's own")
    )
    func journal() async throws {
        let workspace = try await TestWorkspace()
        let (folder, journal) = try Self.journal(workspace)
        let host = try Self.start(["host", "--root", workspace.root], journal: folder)
        #expect(await host.nextLine()?.contains("ready") == true)
        // A second one is refused, and says why.
        let second = await (try Self.start(["host", "--root", workspace.root], journal: folder))
            .end()
        #expect(second.status == .exited(69) && second.errors == [])
        let refusal = Self.fields(try #require(journal.receive()))
        #expect(refusal["PRIORITY"] == "3" && refusal["SYSLOG_IDENTIFIER"] == "lockkeeper")
        #expect(refusal["LOCKKEEPER_CODE"] == "hostRunning")
        #expect(refusal["LOCKKEEPER_EXIT"] == "69")
        #expect(refusal["MESSAGE"]?.contains("pid \(host.process.pid)") == true)
        #expect(refusal["LOCKKEEPER_REMEDY"]?.isEmpty == false)
        // What was redirected stays a line.
        let line = try await workspace.run(["host"])
        #expect(line.status == .exited(69) && line.errorText.hasPrefix("lockkeeper: "))

        try host.process.signal(.terminate)
        #expect(await host.end().errors == [])
        let end = Self.fields(try #require(journal.receive()))
        #expect(end["MESSAGE"]?.hasPrefix("ending on") == true && end["PRIORITY"] == "6")
        #expect(end["LOCKKEEPER_ROOT"] == workspace.root)
    }

    @Test(
        "another user who connects is refused, and the operator is told: in fields, or in a line",
        .enabled(if: mayMount, "only root can run a program as another user, and mount"),
        arguments: [true, false]
    )
    func stranger(isJournal: Bool) async throws {
        let workspace = try await TestWorkspace()
        let (folder, journal) = try Self.journal(workspace)
        let host =
            isJournal
            ? try Self.start(["host", "--root", workspace.root], journal: folder)
            : try workspace.start(["host"])
        #expect(await host.nextLine()?.contains("ready") == true)
        let socket = "\(workspace.root)/notifier.sock"
        for path in [workspace.folder.path, workspace.root] { chmod(path, 0o711) }
        chmod(socket, 0o666)
        let program =
            "use IO::Socket::UNIX; $hub = IO::Socket::UNIX->new(Peer => $ARGV[0]) or exit 3;"
            + " print while <$hub>;"
        let stranger = try RunningCommand(
            ["--reuid=65534", "--clear-groups", "perl", "-e", program, socket],
            program: "/usr/bin/setpriv"
        )
        #expect(await stranger.end().lines.first?.contains("not-permitted") == true)
        if isJournal {
            let entry = Self.fields(try #require(journal.receive()))
            #expect(entry["LOCKKEEPER_CODE"] == "strangersRefused" && entry["PRIORITY"] == "4")
            #expect(entry["MESSAGE"]?.contains("user 65534") == true)
        } else {
            while host.process.lastErrors.isEmpty { await Task.yield() }
            #expect(host.process.lastErrors[0].contains("user 65534"))
        }
        try host.process.signal(.terminate)
        #expect(await host.end().status == .exited(0))
    }

    /// A folder with a socket of the test's own that is to stand where the journal's stands.
    private static func journal(_ workspace: TestWorkspace) throws -> (String, NotifySocket) {
        let folder = workspace.folder.path("journal")
        try FileSystem.makeDirectory(folder)
        return (folder, try NotifySocket("\(folder)/socket"))
    }

    /// Starts the program with a journal of the test's own, to which its error stream seems to lead.
    private static func start(_ arguments: [String], journal: String) throws -> RunningCommand {
        let script = """
            mount -t tmpfs none /run && mkdir -p /run/systemd/journal &&
            mount --bind "$1" /run/systemd/journal && shift &&
            JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec "$@"
            """
        return try RunningCommand(
            ["-m", "sh", "-c", script, "sh", journal, CommandRunner.program] + arguments,
            program: "/usr/bin/unshare"
        )
    }

    private static let mayMount: Bool = {
        let run = try? ChildProcess(
            program: "unshare",
            arguments: ["-m", "mount", "-t", "tmpfs", "none", "/run"],
            error: .null
        ).wait()
        return run == .exited(0)
    }()

    /// The fields of an entry in the journal's native format, of which none here has a line end in it.
    private static func fields(_ entry: String) -> [String: String] {
        let pairs = entry.split(separator: "\n").map {
            $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        }
        return Dictionary(pairs.map { (String($0[0]), String($0[1])) }) { $1 }
    }

    private static func isInstalled(_ program: String) -> Bool {
        access("/usr/bin/\(program)", X_OK) == 0
    }
}

/// What a service manager listens on.
private final class NotifySocket: Sendable {
    let path: String
    private let descriptor: Int32

    init(_ path: String) throws {
        self.path = path
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let status = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        try #require(status == 0)
    }

    deinit { close(descriptor) }

    /// The next datagram; `nil` where none comes in time.
    func receive(within time: Duration = .seconds(30)) -> String? {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let milliseconds = Int32(time / .milliseconds(1))
        guard poll(&entry, 1, milliseconds) == 1 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
}
