import Glibc
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTestSupport
import LockkeeperTesting
import Testing

@testable import Lockkeeper

/// Who keeps the hub (5.6). The slow poll stands at an hour where a test shows that something works
/// without it.
@Suite(
    "The hub is held by whoever has HUB, a host by preference (I-7)",
    .serialized,
    .timeLimit(.minutes(10))
)
struct HubElectionTests {
    @Test("without a host one of those who listen keeps the hub, and who only writes never does")
    func firstListener() async throws {
        try await withListeners(2) { test, listeners, writer in
            let keeper = try await listeners.keeper()
            try await writer.note("heard")
            for listener in listeners { try await listener.hears(1) }
            #expect(listeners.serving == [keeper.name])
        }
    }

    @Test("a keeper that leaves is replaced at once, and no commit is lost or told twice (B105)")
    func takeOver() async throws {
        try await withListeners(3) { test, listeners, writer in
            var rest = listeners
            for round in 1...2 {
                let keeper = try await rest.keeper()
                rest.removeAll { $0.name == keeper.name }
                await keeper.workspace.close()
                let next = try await rest.keeper()
                #expect(rest.serving == [next.name])
                try await writer.note("round \(round)")
                for listener in rest { try await listener.hears(round) }
            }
        }
    }

    @Test("a helper gives the hub to a host that asks, and takes it back when the host ends")
    func hostPreferred() async throws {
        try await withListeners(1) { test, listeners, writer in
            _ = try await listeners.keeper()
            let app = try await test.process("host")
            let host = try await app.serve()
            #expect(app.hubSeat.isServing && listeners.serving == [])
            try await writer.note("through the host")
            try await listeners[0].hears(1)
            await host.close()
            _ = try await listeners.keeper()
            try await writer.note("through the helper")
            try await listeners[0].hears(2)
        }
    }

    @Test("a process that listens and then serves keeps its hub, and gives it up as the host")
    func sameProcess() async throws {
        try await withListeners(2) { test, listeners, writer in
            let keeper = try await listeners.keeper()
            let host = try await keeper.workspace.serve()
            #expect(listeners.serving == [keeper.name])
            await host.close()
            _ = try await listeners.keeper()
            try await writer.note("after it")
            for listener in listeners { try await listener.hears(1) }
        }
    }

    @Test("a suspended keeper lets the hub go, and listens again when it is resumed (B10)")
    func suspended() async throws {
        try await withListeners(2) { test, listeners, writer in
            let keeper = try await listeners.keeper()
            let other = try #require(listeners.first { $0.name != keeper.name })
            try await keeper.workspace.suspend()
            #expect(try await [other].keeper().name == other.name)
            try await writer.note("meanwhile")
            try await other.hears(1)
            try await keeper.workspace.resume()
            try await keeper.hears(1)
            #expect(listeners.serving == [other.name])
        }
    }

    @Test("eight processes that begin to listen at once have one hub")
    func eightStarters() async throws {
        try await withListeners(8) { test, listeners, writer in
            _ = try await listeners.keeper()
            try await writer.note("for all")
            for listener in listeners { try await listener.hears(1) }
            #expect(listeners.serving.count == 1)
        }
    }

    @Test(
        "what is no socket at the hub's path is left alone, and feeds look at the log themselves",
        arguments: ["file", "directory", "link"]
    )
    func pathTaken(kind: String) async throws {
        var limits = Limits()
        limits.slowPollInterval = .milliseconds(20)
        try await withNotes(limits: limits) { test, app, alice in
            let path = "\(test.root)/notifier.sock"
            switch kind {
            case "file": _ = try FileDescriptor(opening: path, [.readWrite, .create])
            case "directory": try FileSystem.makeDirectory(path, mode: 0o700)
            default: try #require(symlink("/nowhere", path) == 0)
            }
            let before = try FileSystem.status(path, followingLinks: false)?.identity
            let helper = try await Listener(test, "helper")
            try await alice.note("found")
            try await helper.hears(1)
            await #expect(throws: (any Error).self) { try await app.serve() }
            #expect([helper].serving == [])
            #expect(try FileSystem.status(path, followingLinks: false)?.identity == before)
        }
    }

    @Test(
        "a socket's path of up to 107 bytes is used whole, a longer one refused with its length (B101)",
        arguments: [106, 107, 108, 109, 200],
        ["n", "\u{e4}"]
    )
    func pathLength(byteCount: Int, letter: String) async throws {
        let parent = try TemporaryDirectory()
        let rest = byteCount - "\(parent.path)/x/notifier.sock".utf8.count
        let name = String(repeating: letter, count: rest / letter.utf8.count)
        let padding = String(repeating: "p", count: rest - name.utf8.count)
        // Two roots whose paths differ in one letter, which is past the limit in the longest ones.
        for ending in ["1", "2"] {
            let root = parent.file(name + padding + ending)
            let path = "\(root)/notifier.sock"
            try #require(path.utf8.count == byteCount)
            if byteCount <= 107 {
                let app = try await Workspace.openApart(at: root, name: "app")
                let host = try await app.serve()
                #expect(try FileSystem.status(path)?.kind == .socket)
                await host.close()
                await app.close()
            } else {
                let error = await #expect(throws: LockkeeperError.self) {
                    try await Workspace.openApart(at: root, name: "app")
                }
                #expect(error?.explanation.contains("\(byteCount) bytes") == true)
                #expect(try FileSystem.status(path) == nil)
            }
        }
        let sockets = try FileSystem.list(parent.path).filter { $0.hasPrefix("notifier") }
        #expect(sockets.isEmpty)
    }

    @Test("a hub that is ended again and again under four writers costs no subscriber a commit")
    func restarts() async throws {
        let isLong = Environment.variable("LOCKKEEPER_TEST_ALL") == "1"
        try await withListeners(isLong ? 10 : 4) { test, listeners, _ in
            let end = Deadline(
                after: isLong ? .seconds(30) : .seconds(2),
                from: SystemClock().now()
            )
            var writers: [Session] = []
            for name in 1...4 {
                writers.append(try await test.process("writer-\(name)").session("alice"))
            }
            let app = try await test.process("host")
            let count = try await withThrowingTaskGroup(of: Int.self) { group in
                for writer in writers {
                    group.addTask {
                        var count = 0
                        while !end.hasPassed(at: SystemClock().now()) {
                            try await writer.note("row")
                            count += 1
                        }
                        return count
                    }
                }
                while !end.hasPassed(at: SystemClock().now()) {
                    let host = try await app.serve()
                    // The interval is what the test is about: no event could be awaited instead.
                    try await Task.sleep(for: .milliseconds(200))
                    await host.close()
                }
                return try await group.reduce(0, +)
            }
            // One more, which everybody hears of: what was lost before it is a gap that they would see.
            try await writers[0].note("last")
            for listener in listeners { try await listener.hears(count + 1) }
        }
    }
}

/// A process with a feed that checks what it is told.
private final class Listener: Sendable {
    let name: String
    let workspace: Workspace
    private let told: Told

    /// What a feed has told so far.
    private actor Told {
        var count = 0
        var failure: String?
        private var position: CommitNumber
        private var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        init(after position: CommitNumber) { self.position = position }

        func take(_ range: ChangeRange) {
            if range.predecessor != position { failure = "\(range.predecessor) after \(position)" }
            count += Int(range.last.rawValue - range.first.rawValue) + 1
            position = range.last
            wake()
        }

        func end(_ error: any Error) {
            failure = "\(error)"
            wake()
        }

        func reach(_ count: Int) async {
            if self.count >= count || failure != nil { return }
            await withCheckedContinuation { waiting.append((count, $0)) }
        }

        private func wake() {
            let isEnded = failure != nil
            for entry in waiting where entry.count <= count || isEnded {
                entry.continuation.resume()
            }
            waiting.removeAll { $0.count <= count || isEnded }
        }
    }

    init(_ test: TestWorkspace, _ name: String) async throws {
        self.name = name
        workspace = try await test.process(name)
        let session = try await workspace.session("alice")
        let start = try await session.database.head()
        let told = Told(after: start.commit)
        self.told = told
        Task {
            do {
                for try await range in session.changes(after: start) { await told.take(range) }
            } catch {
                await told.end(error)
            }
        }
    }

    /// Waits until so many commits were told since the beginning, in order and without a hole.
    func hears(_ count: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        await told.reach(count)
        #expect(await told.count == count, sourceLocation: sourceLocation)
        #expect(await told.failure == nil, sourceLocation: sourceLocation)
    }
}

extension [Listener] {
    /// The names of those who keep the hub.
    fileprivate var serving: [String] {
        filter { $0.workspace.hubSeat.isServing }.map(\.name)
    }

    /// Waits until one of them keeps the hub.
    fileprivate func keeper(sourceLocation: SourceLocation = #_sourceLocation) async throws
        -> Listener
    {
        let kept = try await becomesTrue { self.contains { $0.workspace.hubSeat.isServing } }
        try #require(kept, sourceLocation: sourceLocation)
        return try #require(
            first { $0.workspace.hubSeat.isServing },
            sourceLocation: sourceLocation
        )
    }
}

/// Runs a test with processes that listen and one that writes, where nothing is found by a slow poll.
private func withListeners(
    _ count: Int,
    _ body: (_ test: TestWorkspace, _ listeners: [Listener], _ writer: Session) async throws -> Void
) async throws {
    try await withNotes(limits: .withoutSlowPoll) { test, app, alice in
        let listeners = try await withThrowingTaskGroup(of: Listener.self) { group in
            for number in 1...count {
                group.addTask { try await Listener(test, "listener-\(number)") }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        try await body(test, listeners, alice)
    }
}
