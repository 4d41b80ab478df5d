import CLockkeeperBaseline
import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// Measures how long a page of a conversation takes in a store of many messages, beside the same page
/// read in plain C from the same file. The caller's thread may block.
package struct PageRun: Sendable {
    private let messageCount: Int
    private let pageCount: Int
    private let repeatCount: Int
    private let site: BenchSite

    /// How many messages a page has.
    package static let limit = 50

    /// A place to read a page at.
    private struct Place: Sendable {
        let conversation: ConversationID
        let sequence: Int64
    }

    /// A run that has not begun.
    ///
    /// - Parameters:
    ///   - messageCount: how many messages the store gets.
    ///   - pageCount: pages of each measurement, at places drawn by chance.
    ///   - repeatCount: how often each side is measured, in turn.
    package init(messageCount: Int, pageCount: Int, repeatCount: Int, at site: BenchSite) {
        precondition(messageCount > 0 && pageCount > 0 && repeatCount > 0, "something is measured")
        self.messageCount = messageCount
        self.pageCount = pageCount
        self.repeatCount = repeatCount
        self.site = site
    }

    /// Measures.
    ///
    /// - Throws: ``SimulationError/lost(acknowledged:stored:)`` where the two sides do not read the
    ///   same number of messages; what the stores throw.
    package func run() async throws -> BenchReport {
        let figures = try await site.withFolder("page") { folder in
            try await BenchWorker.makeAccount(in: folder)
            return try await BenchWorker.withStore(in: folder) { store in
                try await fill(store)
                var rounds = ReadRounds(store, at: BenchWorker.databasePath(in: folder), reading)
                for round in 0..<repeatCount {
                    site.note(try await rounds.measure(places(seed: UInt64(round))))
                }
                return rounds.figures()
            }
        }
        return BenchReport(
            "page",
            "\(Self.limit) of \(messageCount) messages, \(pageCount) pages each,"
                + " \(repeatCount) rounds, beside C on the same file",
            figures
        )
    }

    /// A page of messages before a place.
    private var reading: ReadRounds<Place>.Reading {
        ReadRounds.Reading(
            inC: { pages, place in
                try pages.read("\(place.conversation)", before: place.sequence, limit: Self.limit)
            },
            onThread: { store, place in
                let page = store.page(
                    of: place.conversation,
                    before: MessagePlace(sequence: place.sequence),
                    limit: Self.limit
                )
                return try await store.session.database.readConnection { connection in
                    try ReadRounds<Place>.timed { try page(connection).count }
                }
            },
            awaited: { store, place in
                try await store.timeline(
                    place.conversation,
                    before: MessagePlace(sequence: place.sequence),
                    limit: Self.limit
                ).count
            },
            // Conversations take turns, and the message at the place is none of the page.
            rowCount: { place in
                min(Int(place.sequence - 1) / Int(LK_BASELINE_CONVERSATIONS), Self.limit)
            }
        )
    }

    /// Stores the messages, which is not measured.
    private func fill(_ store: MessageStore) async throws {
        var messages = BenchMessages(number: 0)
        var left = messageCount
        while left > 0 {
            let count = min(left, 1000)
            try await store.ingest(messages.next(count), durability: .committed)
            left -= count
            if left % 100_000 == 0 { site.note("\(left) messages to store") }
        }
    }

    private func places(seed: UInt64) -> [Place] {
        var generator = SeededGenerator(seed: seed)
        return (0..<pageCount).map { _ in
            let sequence = Int64.random(in: 1...Int64(messageCount) + 1, using: &generator)
            let index = Int(sequence % Int64(LK_BASELINE_CONVERSATIONS))
            return Place(
                conversation: BenchMessages.conversation(index, of: 0),
                sequence: sequence
            )
        }
    }
}
