import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform

/// The times of reads of a store, round by round: in plain C from the same file, as the reader's
/// thread sees them, and as who awaits them does.
struct ReadRounds<Place: Sendable>: Sendable {
    /// A read and how many rows it should find.
    struct Reading: Sendable {
        /// What is read in plain C; how many rows it has.
        let inC: @Sendable (borrowing PagesBaseline, Place) throws -> Int
        /// The same on a connection of the store's, and how long it took there: ``timed(_:)``.
        let onThread:
            @Sendable (MessageStore, Place) async throws -> (rowCount: Int, time: Duration)
        /// The same for who awaits it.
        let awaited: @Sendable (MessageStore, Place) async throws -> Int
        /// How many rows there are.
        let rowCount: @Sendable (Place) -> Int
    }

    /// Reads, and tells how many rows there were and how long that took.
    static func timed(_ read: () throws -> Int) rethrows -> (rowCount: Int, time: Duration) {
        let clock = SystemClock()
        let start = clock.now()
        let count = try read()
        return (count, clock.now().duration(since: start))
    }

    private let store: MessageStore
    private let path: String
    private let reading: Reading
    private let clock = SystemClock()
    private var baseline: [BenchDelays] = []
    private var onThread: [BenchDelays] = []
    private var awaited: [BenchDelays] = []

    /// No round yet.
    ///
    /// - Parameter path: the database that C reads, which is the store's.
    init(_ store: MessageStore, at path: String, _ reading: Reading) {
        self.store = store
        self.path = path
        self.reading = reading
    }

    /// Reads at each place on all three ways. The one that goes first does not always go first.
    ///
    /// - Returns: what came out, for people.
    /// - Throws: ``SimulationError/lost(acknowledged:stored:)`` where a read finds another number of
    ///   rows than there are; what the store throws.
    mutating func measure(_ places: [Place]) async throws -> String {
        let isFirst = baseline.count.isMultiple(of: 2)
        if isFirst { baseline.append(try readInC(places)) }
        onThread.append(try await readOnThread(places))
        awaited.append(try await readAwaited(places))
        if !isFirst { baseline.append(try readInC(places)) }
        let last = baseline.count - 1
        return "in C \(baseline[last].sentence); on the reader's thread \(onThread[last].sentence);"
            + " awaited \(awaited[last].sentence)"
    }

    /// The figures of all rounds, each against C in the same round.
    ///
    /// - Parameter name: what stands before the names of the figures.
    func figures(_ name: String = "") -> [BenchFigure] {
        BenchDelays.figures(
            "\(name)on the reader's thread",
            onThread,
            against: baseline,
            budget: .atMost(2)
        )
            + BenchDelays.figures(
                "\(name)awaited",
                awaited,
                against: baseline,
                budget: .atMost(3.5)
            )
    }

    private func readInC(_ places: [Place]) throws -> BenchDelays {
        let pages = try PagesBaseline(path)
        return BenchDelays(
            try places.map { place in
                let (count, time) = try Self.timed { try reading.inC(pages, place) }
                try check(count, place)
                return time
            }
        )
    }

    private func readOnThread(_ places: [Place]) async throws -> BenchDelays {
        var times: [Duration] = []
        for place in places {
            let (count, time) = try await reading.onThread(store, place)
            try check(count, place)
            times.append(time)
        }
        return BenchDelays(times)
    }

    private func readAwaited(_ places: [Place]) async throws -> BenchDelays {
        var times: [Duration] = []
        for place in places {
            let start = clock.now()
            let count = try await reading.awaited(store, place)
            times.append(clock.now().duration(since: start))
            try check(count, place)
        }
        return BenchDelays(times)
    }

    private func check(_ count: Int, _ place: Place) throws(SimulationError) {
        let expected = reading.rowCount(place)
        guard count == expected else { throw .lost(acknowledged: expected, stored: count) }
    }
}
