import LockkeeperDomain
package import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

/// A query that stays live: its value now, and a new one whenever a commit of any process touched
/// what it read.
///
/// The first value comes from one read and waits for no writer, hub or commit. What the query reads
/// is taken from SQLite as it runs, each time anew; where that cannot be told (virtual tables, the
/// schema) every commit counts. Each value is one consistent snapshot. The query runs when the
/// consumer asks for the next value: while it is slow, any number of commits become one run. For a
/// consumer that waits it runs on the thread that hears of the commit.
///
/// It outlives suspension, exclusive work and a hub's death, and goes on by itself where the log was
/// pruned. It ends with a ``LockkeeperError``, `superseded` when the generation is no longer
/// current; with what the query throws; and quietly when its task is cancelled or the session
/// closed. Each iterator is a query of its own.
public struct LiveQuery<Value: Sendable>: AsyncSequence, Sendable {
    /// The values.
    public typealias Element = Value

    let database: AccountDatabase
    let topics: Set<[UInt8]>?
    let query: @Sendable (Connection) throws -> Value
    /// Whether a value says nothing new after another one.
    var isRepeated: (@Sendable (_ last: Value, _ next: Value) -> Bool)?

    /// Starts the query.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Starts the query with its first value already there, for a view that draws its first frame:
    /// nothing is awaited. The calling thread waits for one read, which waits for no writer, hub or
    /// commit; so that it should be the main thread or one of the caller's own.
    ///
    /// - Returns: the value, and what gives those that follow it.
    /// - Throws: ``LockkeeperError``, `suspended` among them; and what the query throws.
    public func startBlocking() throws -> (first: Value, rest: Iterator) {
        let iterator = Iterator(self)
        return (try iterator.readFirst(), iterator)
    }

    /// Whether a range may have changed what was read.
    private func concerns(_ range: ChangeRange, _ last: Reading) -> Bool {
        // What the last read has seen already is behind it.
        guard range.last > last.position.commit, last.footprint.isTouched(by: range) else {
            return false
        }
        guard let wanted = topics, let named = range.topics else { return true }
        return named.contains { wanted.contains($0) }
    }

    /// What a read showed.
    private struct Reading: Sendable {
        var position: Position
        var footprint: ReadFootprint
        var value: Value

        init(_ observed: StoreReader.Observed<Value>) {
            position = observed.position
            footprint = observed.footprint
            value = observed.value
        }
    }

    /// The read that a feed's thread makes for a consumer that waits.
    private final class ReadForWaiting: Sendable {
        private let live: LiveQuery
        private let last: Reading
        private let outcome = Mutex<Result<Reading, any Error>?>(nil)

        init(_ live: LiveQuery, _ last: Reading) {
            self.live = live
            self.last = last
        }

        /// Reads where the range concerns the query. Returns whether it did.
        func visit(_ range: ChangeRange, with reader: StoreReader) -> Bool {
            guard live.concerns(range, last) else { return false }
            let read = Result { Reading(try live.database.observed(with: reader, live.query)) }
            outcome.withLock { $0 = read }
            return true
        }

        /// What came of it; `nil` where it was not made.
        func takeOutcome() -> Result<Reading, any Error>? { outcome.withLock { $0.take() } }
    }

    /// The consumer's side of one live query.
    ///
    /// ```
    /// fresh ──first read──▶ following ──range that touches, newer than the last read──▶ read
    ///                          ▲   │                                                     │
    ///                          │   └──the log was pruned: read, follow from there        │
    ///                          └─────────────────────────────────────────────────────────┘
    /// any ──error, cancelled, session closed──▶ ended
    /// ```
    public final class Iterator: AsyncIteratorProtocol {
        private enum State {
            case fresh
            case following(ChangeFeed.Iterator, Reading)
            case ended
        }

        private let live: LiveQuery
        private var state = State.fresh

        init(_ live: LiveQuery) { self.live = live }

        /// The next value; `nil` once the task was cancelled or the session closed.
        public func next() async throws -> Value? {
            do {
                let value = try await nextValue()
                if value == nil { state = .ended }
                return value
            } catch {
                state = .ended
                throw error
            }
        }

        /// Reads the first value on the calling thread.
        fileprivate func readFirst() throws -> Value {
            let reading = Reading(try live.database.observedBlocking(live.query))
            follow(reading)
            return reading.value
        }

        private func nextValue() async throws -> Value? {
            while true {
                switch state {
                case .ended: return nil
                case .fresh:
                    guard let reading = try await read() else { return nil }
                    follow(reading)
                    return reading.value
                case .following(let feed, let last):
                    guard let reading = try await reading(after: last, feed) else { return nil }
                    if live.isRepeated?(last.value, reading.value) != true { return reading.value }
                }
            }
        }

        private func follow(_ reading: Reading) {
            let feed = live.database.feed(after: reading.position)
            state = .following(feed.makeAsyncIterator(), reading)
        }

        /// Waits for a commit that concerns the query, and reads.
        private func reading(
            after last: Reading,
            _ feed: ChangeFeed.Iterator
        ) async throws -> Reading? {
            let waiting = ReadForWaiting(live, last)
            do {
                while let range = try await feed.next(visiting: { waiting.visit($0, with: $1) }) {
                    let reading: Reading
                    if let outcome = waiting.takeOutcome() {
                        reading = try outcome.get()
                    } else {
                        // It came while nobody waited for it.
                        guard live.concerns(range, last) else { continue }
                        guard let made = try await read() else { return nil }
                        reading = made
                    }
                    state = .following(feed, reading)
                    return reading
                }
                return nil
            } catch let error as LockkeeperError where error.code == .resync {
                // The log does not reach back, or the store is another one: a read says it all.
                guard let reading = try await read() else { return nil }
                follow(reading)
                return reading
            }
        }

        /// Reads, as soon as the process is at the account again where it has left it.
        private func read() async throws -> Reading? {
            while !Task.isCancelled {
                do {
                    return Reading(try await live.database.observed(live.query))
                } catch let error as LockkeeperError where error.code == .suspended {
                    guard try await live.database.isHereAgain() else { return nil }
                }
            }
            return nil
        }
    }
}

extension LiveQuery where Value: Equatable {
    /// The same query without values that equal the one before.
    public func withoutRepeats() -> LiveQuery {
        var live = self
        live.isRepeated = { $0 == $1 }
        return live
    }
}

extension AccountDatabase {
    /// A query that stays live across processes.
    ///
    /// - Parameters:
    ///   - topics: leaves out commits whose writers named other topics only
    ///     (``Transaction/touch(topic:)``); `nil` for none. One that named none counts.
    ///   - query: reads what is wanted. It runs again for each value.
    public func observe<Value: Sendable>(
        topics: Set<[UInt8]>? = nil,
        _ query: @escaping @Sendable (borrowing ReadTransaction) throws -> Value
    ) -> LiveQuery<Value> {
        observeConnection(topics: topics) { try query(ReadTransaction(connection: $0)) }
    }

    /// The same for the products, which know the connection.
    package func observeConnection<Value: Sendable>(
        topics: Set<[UInt8]>? = nil,
        _ query: @escaping @Sendable (Connection) throws -> Value
    ) -> LiveQuery<Value> {
        LiveQuery(database: self, topics: topics, query: query)
    }
}
