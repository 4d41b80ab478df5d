public import LockkeeperDomain
import LockkeeperPlatform

/// The ranges of all commits of an account after a position, of every process, in order and without
/// a hole (I-7).
///
/// A range is a hint that carries no content; what it speaks of is read from the database. Ranges
/// that come while the consumer is slow are merged. The feed needs no other process: where a hub
/// serves it hears of commits at once, otherwise it looks at the log itself.
///
/// It ends with a ``LockkeeperError``: `superseded` when the generation is no longer current, and
/// `resync` when the log does not reach back to the position; then read a snapshot and start again
/// from ``AccountDatabase/head()``. Each iterator is a feed of its own; ending its task ends it.
public struct ChangeFeed: AsyncSequence, Sendable {
    /// The ranges.
    public typealias Element = ChangeRange

    /// Kept open for as long as the feed is used.
    let database: AccountDatabase
    let make: @Sendable () -> FeedReader

    /// Starts a feed.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: make(), database: database) }

    /// The consumer's side of one feed.
    public final class Iterator: AsyncIteratorProtocol {
        private let reader: FeedReader
        private let database: AccountDatabase

        init(reader: FeedReader, database: AccountDatabase) {
            self.reader = reader
            self.database = database
        }

        deinit { reader.stop() }

        /// The next range; `nil` once the task was cancelled or the session closed.
        public func next() async throws -> ChangeRange? { try await next(visiting: nil) }

        /// The same; a range for which it has to wait is first looked at on the feed's thread.
        func next(visiting visit: FeedChannel.Visit?) async throws -> ChangeRange? {
            try await withTaskCancellationHandler {
                try await reader.channel.next(visiting: visit)
            } onCancel: { [reader] in
                reader.stop()
            }
        }
    }
}
