import CLockkeeperBaseline
import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform

/// Measures how long a page of a conversation takes in a store of many messages, beside the same page
/// read in plain C from the same file. The caller's thread may block.
package struct PageRun: Sendable {
    private let messageCount: Int
    private let pageCount: Int
    private let repeatCount: Int
    private let site: BenchSite
    private let clock = SystemClock()

    /// How many messages a page has.
    package static let limit = 50

    /// A place to read a page at.
    private struct Place {
        let conversation: String
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

    /// The times of each round.
    private struct Rounds {
        var baseline: [BenchDelays] = []
        var onThread: [BenchDelays] = []
        var awaited: [BenchDelays] = []
    }

    /// Measures.
    ///
    /// - Throws: ``SimulationError/lost(acknowledged:stored:)`` where the two sides do not read the
    ///   same number of messages; what the stores throw.
    package func run() async throws -> BenchReport {
        let rounds = try await site.withFolder("page") { folder in
            try await BenchWorker.makeAccount(in: folder)
            return try await BenchWorker.withStore(in: folder) { store in
                try await fill(store)
                let path = "\(folder)/accounts/\(BenchWorker.account)/messages-1.db"
                return try await measure(store, path)
            }
        }
        return BenchReport(
            "page",
            "\(Self.limit) of \(messageCount) messages, \(pageCount) pages each,"
                + " \(repeatCount) rounds, beside C on the same file",
            BenchDelays.figures(
                "on the reader's thread",
                rounds.onThread,
                against: rounds.baseline,
                budget: .atMost(2)
            )
                + BenchDelays.figures(
                    "awaited",
                    rounds.awaited,
                    against: rounds.baseline,
                    budget: .atMost(3.5)
                )
        )
    }

    private func measure(_ store: MessageStore, _ path: String) async throws -> Rounds {
        var rounds = Rounds()
        for round in 0..<repeatCount {
            // The same places for each side, other ones in each round.
            let places = places(seed: UInt64(round))
            // The one that goes first does not always go first.
            let isFirst = round.isMultiple(of: 2)
            if isFirst { rounds.baseline.append(BenchDelays(try readInC(path, places))) }
            rounds.onThread.append(BenchDelays(try await readOnThread(store, places)))
            rounds.awaited.append(BenchDelays(try await readAwaited(store, places)))
            if !isFirst { rounds.baseline.append(BenchDelays(try readInC(path, places))) }
            site.note(
                "in C \(rounds.baseline[round].sentence); on the reader's thread"
                    + " \(rounds.onThread[round].sentence); awaited"
                    + " \(rounds.awaited[round].sentence)"
            )
        }
        return rounds
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
            let conversation = sequence % Int64(LK_BASELINE_CONVERSATIONS)
            return Place(conversation: "c0-\(conversation)", sequence: sequence)
        }
    }

    private func readInC(_ path: String, _ places: [Place]) throws -> [Duration] {
        let pages = try PagesBaseline(path)
        return try places.map { place in
            let start = clock.now()
            let count = try pages.read(
                place.conversation,
                before: place.sequence,
                limit: Self.limit
            )
            let time = clock.now().duration(since: start)
            try check(count, place)
            return time
        }
    }

    /// The times of pages as the reader's thread sees them.
    private func readOnThread(
        _ store: MessageStore,
        _ places: [Place]
    ) async throws -> [Duration] {
        var times: [Duration] = []
        for place in places {
            let page = store.page(
                of: ConversationID(unchecked: Array(place.conversation.utf8)),
                before: MessagePlace(sequence: place.sequence),
                limit: Self.limit
            )
            let clock = clock
            let (count, time) = try await store.session.database.readConnection {
                connection -> (Int, Duration) in
                let start = clock.now()
                let count = try page(connection).count
                return (count, clock.now().duration(since: start))
            }
            try check(count, place)
            times.append(time)
        }
        return times
    }

    /// The times of pages as who awaits them sees them.
    private func readAwaited(_ store: MessageStore, _ places: [Place]) async throws -> [Duration] {
        var times: [Duration] = []
        for place in places {
            let start = clock.now()
            let page = try await store.timeline(
                ConversationID(unchecked: Array(place.conversation.utf8)),
                before: MessagePlace(sequence: place.sequence),
                limit: Self.limit
            )
            times.append(clock.now().duration(since: start))
            try check(page.count, place)
        }
        return times
    }

    /// Checks that a page has what stands before its place in its conversation.
    private func check(_ count: Int, _ place: Place) throws(SimulationError) {
        // Conversations take turns, and the message at the place is none of the page.
        let before = Int(place.sequence - 1) / Int(LK_BASELINE_CONVERSATIONS)
        let expected = min(before, Self.limit)
        guard count == expected else { throw .lost(acknowledged: expected, stored: count) }
    }
}
