import LockkeeperDomain
import LockkeeperTesting
import Testing

@testable import Lockkeeper

@Suite("The pieces of a feed: progress and channel (I-7, I-9)")
struct FeedTests {
    // The table at the head of FeedProgress.
    @Test(
        "a range is emitted, ignored, or a reason to read the log, by where it begins and ends",
        arguments: [
            (5, 6, 8, FeedProgress.Step.emit, 8),
            (5, 4_000, 4_001, .emit, 4_001),
            (3, 4, 5, .ignore, 5),
            (2, 3, 4, .ignore, 5),
            (6, 7, 8, .readLog, 5),
            (4, 5, 6, .readLog, 5),
            (3, 4, 6, .readLog, 5),
        ]
    )
    func progress(
        predecessor: Int64,
        first: Int64,
        last: Int64,
        step: FeedProgress.Step,
        position: Int64
    ) {
        var progress = FeedProgress(at: Position(store: Self.store, commit: CommitNumber(5)))
        #expect(progress.take(Self.range(predecessor, first...last)) == step)
        #expect(progress.position.commit.rawValue == position)
    }

    @Test("a range of another store means that the feed must begin anew")
    func otherStore() throws {
        let other = try #require(StoreIdentity(bytes: Array(repeating: 2, count: 16)))
        var progress = FeedProgress(at: Position(store: other, commit: CommitNumber(5)))
        #expect(progress.take(Self.range(5, 6...6)) == .resync)
        #expect(progress.position.commit.rawValue == 5)
    }

    @Test("what is told continues what was told before, over commits that were left out")
    func told() {
        var progress = FeedProgress(at: Position(store: Self.store, commit: CommitNumber(5)))
        #expect(progress.take(Self.range(5, 6...7)) == .emit)
        #expect(progress.take(Self.range(7, 8...9)) == .emit)
        let told = progress.tell(Self.range(7, 8...9))
        #expect(told.predecessor.rawValue == 5 && told.first.rawValue == 8)
        #expect(progress.tell(Self.range(9, 10...10)).predecessor.rawValue == 9)
    }

    @Test("ranges past the bound are merged into what waits, and nothing is left out")
    func channel() async throws {
        let channel = FeedChannel(rangeCountMax: 3)
        for number in Int64(1)...10 { channel.send(Self.range(number - 1, number...number)) }
        channel.finish(.success(()))
        var received: [ClosedRange<Int64>] = []
        while let range = try await channel.next() {
            received.append(range.first.rawValue...range.last.rawValue)
            #expect(range.isMerged == (range.first != range.last))
        }
        #expect(received == [1...1, 2...2, 3...10])
    }

    @Test("what was sent before the end is handed out before the error that ended it")
    func channelEnd() async throws {
        let channel = FeedChannel(rangeCountMax: 3)
        channel.send(Self.range(0, 1...1))
        channel.finish(.failure(LockkeeperError.closed("feed")))
        channel.send(Self.range(1, 2...2))
        #expect(try await channel.next()?.last.rawValue == 1)
        await expect(.closed) { _ = try await channel.next() }
    }

    // I-7, I-9: a consumer that reads nothing costs a bounded list and misses nothing.
    @Test("a consumer that comes late to its feed gets merged ranges that cover every commit")
    func slowConsumer() async throws {
        var limits = Limits()
        limits.subscriberBacklogMax = 4
        try await withNotes(limits: limits) { test, _, alice in
            let start = try await alice.database.head()
            let feed = alice.changes(after: start, without: "app").makeAsyncIterator()
            let helper = try await test.process("helper").session("alice")
            for number in 0..<40 {
                // Commits that are left out lie between those that are told.
                try await (number.isMultiple(of: 2) ? alice : helper).note("\(number)")
            }
            let head = try await alice.database.head()
            var last = start.commit
            while last < head.commit, let range = try await feed.next() {
                #expect(range.predecessor == last)
                // Where a hub joined them, a range may hold both.
                #expect(range.origins.contains("helper"))
                last = range.last
            }
            #expect(last == head.commit)
        }
    }

    // I-8
    @Test("a feed from a position of another store, or after the head, ends with resync")
    func resync() async throws {
        try await withNotes { _, _, alice in
            let head = try await alice.database.head()
            let foreign = Position(store: Self.store, commit: head.commit)
            let ahead = Position(store: head.store, commit: CommitNumber(head.commit.rawValue + 9))
            for position in [foreign, ahead] {
                let error = await expect(.resync) {
                    for try await _ in alice.changes(after: position) {}
                }
                // It says where to go on.
                #expect(error?.remedy.contains("\(head)") == true)
            }
        }
    }

    // 5.2, Docs/Decisions/announce-before-the-sync.md
    @Test(
        "a range is durable where who tells it has synced behind it, and unknown otherwise",
        arguments: [false, true]
    )
    func durable(isServed: Bool) async throws {
        try await withNotes { test, app, alice in
            let start = try await alice.database.head()
            let host = isServed ? try await app.serve() : nil
            try await alice.note("a", durability: .committed)
            // Its sync covers the one before as well.
            try await alice.note("b", durability: .durable)
            try await alice.note("c", durability: .committed)
            #expect(try await Self.marks(alice, after: start) == [true, true, false])
            let helper = try await test.process("helper").session("alice")
            // The host's hub reads them for it; without one, nobody whom it asks has synced.
            let heard = try await Self.marks(helper, after: start)
            #expect(heard == [isServed, isServed, false])
            await host?.close()
        }
    }

    /// Whether each of the next three commits is told as durable.
    private static func marks(_ session: Session, after start: Position) async throws -> [Bool] {
        var marks: [Bool] = []
        for try await range in session.changes(after: start) {
            for _ in range.first.rawValue...range.last.rawValue { marks.append(range.isDurable) }
            if marks.count >= 3 { break }
        }
        return marks
    }

    // I-13
    @Test(
        "a feed tells what was committed before a switch, then ends as superseded",
        arguments: [false, true]
    )
    func superseded(isServed: Bool) async throws {
        try await withNotes { test, app, alice in
            try await app.addAccount("bob")
            let host = isServed ? try await app.serve() : nil
            let helper = try await test.process("helper").session("alice")
            let start = try await helper.database.head()
            let feed = helper.changes(after: start).makeAsyncIterator()
            try await alice.note("before")
            _ = try await app.replaceAccount("alice", with: "bob")
            #expect(try await feed.next()?.first == start.commit.next)
            await expect(.superseded) { while try await feed.next() != nil {} }
            await host?.close()
        }
    }

    @Test("a feed ends quietly when its session is closed or its task is cancelled")
    func ends() async throws {
        try await withNotes { test, _, alice in
            let helper = try await test.process("helper").session("alice")
            let feed = helper.changes().makeAsyncIterator()
            let closing = Task { try await feed.next() }
            await helper.close()
            #expect(try await closing.value == nil)
            let cancelled = Task {
                for try await _ in alice.changes() {}
            }
            cancelled.cancel()
            try await cancelled.value
        }
    }

    private static let store = {
        guard let store = StoreIdentity(bytes: Array(repeating: 1, count: 16)) else {
            preconditionFailure("an identity has 16 bytes")
        }
        return store
    }()

    private static func range(_ predecessor: Int64, _ commits: ClosedRange<Int64>) -> ChangeRange {
        ChangeRange(
            account: "alice",
            store: store,
            generation: Generation(1),
            predecessor: CommitNumber(predecessor),
            commits: CommitNumber(commits.lowerBound)...CommitNumber(commits.upperBound),
            tables: [TableChange(name: "note", rows: nil)],
            topics: [],
            origins: ["app"],
            isDurable: false
        )
    }
}
