import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import Synchronization
import Testing

@testable import LockkeeperMessages

/// A list in one process, beside real processes that write (5.6).
@Suite("A live list beside processes that write", .serialized, .timeLimit(.minutes(10)))
struct LiveListProcessTests {
    @Test(
        "of conversations: at the end it is what a fresh read gives, and it ran once per range at most"
    )
    func fourProcesses() async throws {
        let folder = try await TestWorkspace()
        let workspace = try await Workspace.open(
            at: folder.root,
            name: "app",
            schemas: [.messages]
        )
        let store = try MessageStore(try await workspace.session("alice"))
        let database = store.session.database
        let read = store.conversationList(limit: 10)
        let start = try await database.head()
        let runs = Runs()
        let list = LiveList(
            database.observeConnection { connection in
                runs.add()
                return try read(connection)
            }
        ).makeAsyncIterator()
        var shown = try #require(try await list.next()).items
        #expect(shown.isEmpty)
        let writing = Task { try await Self.write(folder) }
        while shown.first?.id != "last" { shown = try #require(try await list.next()).items }
        try await writing.value
        #expect(try await store.conversations(limit: 10) == shown)
        let commits = try await database.head().commit.rawValue - start.commit.rawValue
        // Each range covers a commit at least, and the first value came before all of them.
        #expect(commits >= 81 && runs.count <= commits + 1)
        await workspace.close()
        try await folder.expectSound()
    }

    /// Four processes, each with twenty messages into five conversations, one commit each; then one
    /// message into a conversation that nobody else writes to.
    private static func write(_ workspace: TestWorkspace) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                let helper = try workspace.start(
                    ["ingest", "--account", "alice", "--name", "writer-\(writer)"]
                )
                group.addTask {
                    for number in 1...20 {
                        let seq = writer * 100 + number
                        helper.send(message("c\(seq % 20)", seq, at: number))
                        // The receipt: the next one is a commit of its own.
                        _ = await helper.nextLine()
                    }
                    helper.closeInput()
                    #expect(await helper.end().status == .exited(0))
                }
            }
            try await group.waitForAll()
        }
        let last = try await workspace.run(["ingest"], input: message("last", 1, at: 50))
        #expect(last.status == .exited(0))
    }

    private static func message(_ conversation: String, _ seq: Int, at second: Int) -> [UInt8] {
        let time = "2026-01-01T00:00:" + (second < 10 ? "0" : "") + "\(second)Z"
        return Array(
            (#"{"conversation":"\#(conversation)","id":"m\#(seq)","seq":\#(seq),"sender":"s","#
                + #""sent_at":"\#(time)","body":"b"}"# + "\n").utf8
        )
    }
}

/// Counts the runs of a query.
private final class Runs: Sendable {
    private let value = Atomic<Int>(0)

    var count: Int64 { Int64(value.load(ordering: .acquiring)) }

    func add() { value.add(1, ordering: .acquiringAndReleasing) }
}
