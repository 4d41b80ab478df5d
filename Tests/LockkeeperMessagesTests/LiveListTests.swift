import Lockkeeper
import LockkeeperDomain
import Synchronization
import Testing

@testable import LockkeeperMessages

/// Lists of messages that stay live across processes (5.6). The slow poll stands at an hour.
@Suite("Live lists of messages", .serialized, .timeLimit(.minutes(10))) struct LiveListTests {
    @Test("a list of conversations kept live beside four writers ends as a fresh read, in few runs")
    func fourWriters() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("live list: seed \(seed)")
        try await withAccount(limits: Self.limits) { account in
            let counter = Counter()
            let read = account.messages.conversationList(limit: 12)
            let list = LiveList(
                account.session.database.observeConnection { connection in
                    counter.add()
                    return try read(connection)
                }
            ).makeAsyncIterator()
            var shown = try #require(try await list.next()).items
            #expect(shown.isEmpty)
            let start = try await account.session.database.head()
            let writing = Task { try await Self.write(account, seed: seed) }
            // The last commit of all makes a conversation that no other one does.
            while shown.first?.id != "last" {
                let update = try #require(try await list.next())
                #expect(Self.apply(update, to: shown) == update.items, "seed \(seed)")
                #expect(!update.difference.isEmpty)
                shown = update.items
            }
            try await writing.value
            #expect(try await account.messages.conversations(limit: 12) == shown, "seed \(seed)")
            let commits =
                try await account.session.database.head().commit.rawValue
                - start.commit.rawValue
            #expect(counter.count <= commits + 1)
        }
    }

    @Test("a timeline follows its own conversation, and other conversations cost it no reading")
    func timeline() async throws {
        try await withAccount(limits: Self.limits) { account in
            let other = try await account.process("other")
            let window = account.messages.observeTimeline("c", limit: 2).makeAsyncIterator()
            #expect(try await window.next()?.items.isEmpty == true)
            try await other.ingest([message("x", seq: 1, in: "elsewhere")])
            try await other.ingest([message("m1", seq: 1), message("m2", seq: 2)])
            #expect(try await window.next()?.items.map(\.id) == ["m2", "m1"])
            try await other.ingest([message("m3", seq: 3)])
            let third = try #require(try await window.next())
            #expect(third.items.map(\.id) == ["m3", "m2"])
            #expect(third.difference.inserted == [0] && third.difference.removed == [1])
            try await other.ingest([edit("m2", version: 2, "other")])
            let edited = try #require(try await window.next())
            #expect(edited.difference.changed == [1] && edited.items[1].body == "other")
            try await other.ingest([recall("m3", version: 2)])
            let recalled = try #require(try await window.next()?.items)
            #expect(!recalled.contains { $0.id == "m3" && $0.body != nil })
        }
    }

    @Test("a list's first state is there when the call returns, and differences begin with it")
    func firstState() async throws {
        try await withAccount(limits: Self.limits) { account in
            let other = try await account.process("other")
            try await other.ingest([message("m1", seq: 1)])
            let (first, rest) = try account.messages.observeTimeline("c", limit: 5).startBlocking()
            #expect(first.items.map(\.id) == ["m1"] && first.difference.inserted == [0])
            try await other.ingest([message("m2", seq: 2)])
            let update = try #require(try await rest.next())
            #expect(update.items.map(\.id) == ["m2", "m1"] && update.difference.inserted == [0])
        }
    }

    @Test(
        "ranges of one message, a batch of 500 and a recall cover them, and lead to the rows (B38)"
    )
    func rangesOfMessages() async throws {
        try await withAccount(limits: Self.limits) { account in
            let helper = try await account.process("helper")
            let start = try await account.session.database.head()
            let feed = account.session.changes(after: start).makeAsyncIterator()
            let batches = [
                [message("m1", seq: 1)],
                try (Int64(2)...501).map { (seq: Int64) in
                    try message(MessageID("m\(seq)"), seq: seq)
                },
                [recall("m1", version: 2)],
            ]
            for batch in batches { try await helper.ingest(batch, durability: .committed) }
            let head = try await account.session.database.head()
            var last = start.commit
            var rows = RowRanges()
            while last < head.commit, let range = try await feed.next() {
                #expect(range.predecessor == last && range.origins == ["helper"])
                #expect(range.topics == [Array("c".utf8)])
                last = range.last
                let change = try #require(range.tables.first { $0.name == "lk_message" })
                rows.formUnion(try #require(change.rows))
            }
            #expect(last == head.commit)
            let stored = try await account.session.database.read { transaction in
                try transaction.query("SELECT id FROM lk_message ORDER BY id") { $0.integer(0) }
            }
            #expect(stored.count == 501)
            #expect(rows.ranges.flatMap { Array($0) } == stored)
            #expect(try await account.messages.message("m1", in: "c")?.body == nil)
        }
    }

    // B42
    @Test(
        "a read position that one process sets is what a running one uses and shows at once (B42)"
    )
    func readPosition() async throws {
        try await withAccount(limits: Self.limits) { account in
            let helper = try await account.process("helper")
            try await helper.ingest([read(upTo: 0), message("m1", seq: 1), message("m2", seq: 2)])
            let list = helper.observeConversations().makeAsyncIterator()
            #expect(try await list.next()?.items.first?.unread == 2)
            try await account.messages.ingest([read(upTo: 2)])
            let update = try #require(try await list.next())
            #expect(update.items.first?.unread == 0 && update.difference.changed == [0])
            try await helper.ingest([message("m3", seq: 3)])
            #expect(try await helper.unread() == 1)
        }
    }

    // B40
    @Test(
        "a cursor that another process moved is the one that is told, and is not moved back (B40)"
    )
    func cursor() async throws {
        try await withAccount(limits: Self.limits) { account in
            let helper = try await account.process("helper")
            let pages = [(nil, "100"), ("100", "120"), ("100", "110")] as [(Cursor?, Cursor)]
            let (first, moved, stale) = (pages[0], pages[1], pages[2])
            try await account.messages.ingest([], closing: syncPage(first))
            #expect(try await account.messages.cursors()["inbox"] == "100")
            try await helper.ingest([], closing: syncPage(moved))
            #expect(try await account.messages.cursors()["inbox"] == "120")
            let receipt = try await account.messages.ingest([], closing: syncPage(stale))
            #expect(receipt.cursors["inbox"] == .some("120"))
            #expect(try await helper.cursors()["inbox"] == "120")
        }
    }

    private func syncPage(_ edge: (after: Cursor?, next: Cursor)) -> SyncPage {
        SyncPage(stream: "inbox", after: edge.after, next: edge.next)
    }

    private static let limits = {
        var limits = Limits()
        limits.slowPollInterval = .seconds(3600)
        return limits
    }()

    /// Four processes that write into twenty conversations, then one message into a last one.
    private static func write(_ account: TestAccount, seed: UInt64) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                let store = try await account.process("writer-\(writer)")
                group.addTask {
                    var generator = SeededGenerator(seed: seed &+ UInt64(writer))
                    for number in 1...60 {
                        let conversation = Int.random(in: 1...20, using: &generator)
                        try await store.ingest(
                            [
                                message(
                                    MessageID("w\(writer)-\(number)"),
                                    seq: Int64(writer * 1000 + number),
                                    in: ConversationID("c\(conversation)"),
                                    sentAt: Int64.random(in: 1...1_000_000, using: &generator)
                                )
                            ],
                            durability: .committed
                        )
                    }
                }
            }
            try await group.waitForAll()
        }
        let last = message("end", seq: 1, in: "last", sentAt: 2_000_000)
        try await account.messages.ingest([last], durability: .committed)
    }

    private static func apply(
        _ update: ListUpdate<ConversationInfo>,
        to old: [ConversationInfo]
    ) -> [ConversationInfo] {
        let difference = update.difference
        let leaving = Set(difference.removed + difference.moved.map(\.from))
        var list = old.enumerated().filter { !leaving.contains($0.offset) }.map(\.element)
        let moves = Dictionary(uniqueKeysWithValues: difference.moved.map { ($0.to, $0.from) })
        for index in (difference.inserted + difference.moved.map(\.to)).sorted() {
            list.insert(moves[index].map { old[$0] } ?? update.items[index], at: index)
        }
        for index in difference.changed { list[index] = update.items[index] }
        return list
    }

    private final class Counter: Sendable {
        private let value = Atomic<Int>(0)

        var count: Int64 { Int64(value.load(ordering: .acquiring)) }

        func add() { value.add(1, ordering: .acquiringAndReleasing) }
    }
}
