import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// Measures how long a page of the list of conversations takes in an account of many, beside the same
/// page read in plain C from the same file. The caller's thread may block.
package struct ConversationsRun: Sendable {
    private let conversationCount: Int
    private let pageCount: Int
    private let repeatCount: Int
    private let site: BenchSite

    /// How many conversations a page has.
    private static let limit = 50
    /// Messages of each conversation.
    private static let messageCount = 3
    /// Messages of one batch.
    private static let batchCount = 1000
    /// When the first message was sent, in milliseconds since 1970.
    private static let begin: Int64 = 1_796_000_000_000

    /// A run that has not begun.
    ///
    /// - Parameters:
    ///   - conversationCount: how many conversations the account gets.
    ///   - pageCount: pages of each measurement, at places drawn by chance.
    ///   - repeatCount: how often each side is measured, in turn.
    package init(
        conversationCount: Int,
        pageCount: Int,
        repeatCount: Int,
        at site: BenchSite
    ) {
        precondition(
            conversationCount > 0 && pageCount > 0 && repeatCount > 0,
            "something is measured"
        )
        self.conversationCount = conversationCount
        self.pageCount = pageCount
        self.repeatCount = repeatCount
        self.site = site
    }

    /// Measures.
    ///
    /// - Throws: ``SimulationError/lost(acknowledged:stored:)`` where the two sides do not read the
    ///   same number of conversations; what the stores throw.
    package func run() async throws -> BenchReport {
        let figures = try await site.withFolder("conversations") { folder in
            try await BenchWorker.makeAccount(in: folder)
            return try await BenchWorker.withStore(in: folder) { store in
                try await fill(store)
                let path = BenchWorker.databasePath(in: folder)
                var first = ReadRounds(store, at: path, firstPage)
                var further = ReadRounds(store, at: path, furtherPage)
                for round in 0..<repeatCount {
                    site.note(
                        "the first page: "
                            + (try await first.measure(Array(repeating: 0, count: pageCount)))
                    )
                    site.note(
                        "a further page: "
                            + (try await further.measure(places(seed: UInt64(round))))
                    )
                }
                return first.figures("the first page, ") + further.figures("a further page, ")
            }
        }
        return BenchReport(
            "conversations",
            "\(Self.limit) of \(conversationCount) conversations, \(pageCount) pages each,"
                + " \(repeatCount) rounds, beside C on the same file",
            figures
        )
    }

    /// The first page; what is behind it is nothing to it.
    private var firstPage: ReadRounds<Int>.Reading {
        let count = conversationCount
        return ReadRounds.Reading(
            inC: { pages, _ in try pages.list(before: .max, limit: Self.limit) },
            onThread: { store, _ in
                let list = store.conversationList(limit: Self.limit)
                return try await store.session.database.readConnection { connection in
                    try ReadRounds<Int>.timed { try list(connection).count }
                }
            },
            awaited: { store, _ in try await store.conversations(limit: Self.limit).count },
            rowCount: { _ in min(count, Self.limit) }
        )
    }

    /// The page behind a conversation, which is told by its number.
    private var furtherPage: ReadRounds<Int>.Reading {
        ReadRounds.Reading(
            inC: { pages, number in
                try pages.list(before: self.lastAt(number), limit: Self.limit)
            },
            onThread: { store, number in
                let list = store.conversationList(after: self.place(number), limit: Self.limit)
                return try await store.session.database.readConnection { connection in
                    try ReadRounds<Int>.timed { try list(connection).count }
                }
            },
            awaited: { store, number in
                try await store.conversations(after: self.place(number), limit: Self.limit).count
            },
            // Those with lower numbers are older.
            rowCount: { min($0, Self.limit) }
        )
    }

    private func places(seed: UInt64) -> [Int] {
        var generator = SeededGenerator(seed: seed)
        return (0..<pageCount).map { _ in
            Int.random(in: 0..<conversationCount, using: &generator)
        }
    }

    private func place(_ number: Int) -> ConversationPlace {
        ConversationPlace(
            isPinned: false,
            lastAt: Timestamp(stored: lastAt(number)),
            id: Self.id(number)
        )
    }

    /// When the last message of a conversation came.
    private func lastAt(_ number: Int) -> Int64 {
        Self.begin + Int64((Self.messageCount - 1) * conversationCount + number)
    }

    private static func id(_ number: Int) -> ConversationID {
        ConversationID(unchecked: Array("c\(number)".utf8))
    }

    /// Stores the messages, which is not measured: conversations take turns.
    private func fill(_ store: MessageStore) async throws {
        let count = conversationCount * Self.messageCount
        for start in stride(from: 0, to: count, by: Self.batchCount) {
            let batch = (start..<min(start + Self.batchCount, count)).map { number in
                Event.message(
                    MessageEvent(
                        conversation: Self.id(number % conversationCount),
                        id: MessageID(unchecked: Array("m\(number)".utf8)),
                        sequence: Int64(number / conversationCount + 1),
                        sender: "u2",
                        sentAt: Timestamp(stored: Self.begin + Int64(number)),
                        body: "the last of them stands in the list of conversations, as its preview"
                    )
                )
            }
            try await store.ingest(batch, durability: .committed)
        }
    }
}
