package import LockkeeperDomain

/// What the hub needs to know of an account's commit log, all of it from one read transaction.
package struct LogReading: Sendable, Hashable {
    /// Where the store stands.
    package var head: StoreHead
    /// The commits after the position that was asked for, in order, without a hole, as many as the
    /// source likes to give at once; it gives at least one where there is one. `nil` when the
    /// position is not one of this store's log any more, so that the reader must start from a
    /// snapshot. Empty when no position was given.
    package var ranges: [ChangeRange]?
    /// The file that moves with each commit, where there is one to watch.
    package var logPath: String?

    /// Joins them.
    package init(head: StoreHead, ranges: [ChangeRange]?, logPath: String? = nil) {
        self.head = head
        self.ranges = ranges
        self.logPath = logPath
    }
}

/// Where the hub reads accounts' commit logs; the floor above supplies it.
///
/// Only the hub's reading thread calls it, one call at a time, so that a slow disk holds up who
/// needs the log and nobody else. It opens files of accounts as it needs them and does not keep a
/// read transaction between calls: the log could not be checkpointed.
package protocol HubSource: Sendable {
    /// Reads the head, and the commits after a position where one is given.
    ///
    /// - Returns: `nil` when there is no such account.
    /// - Throws: Any error when the account cannot be read now; who asked is told so.
    func read(_ stream: StreamName, after position: Position?) throws -> LogReading?
}
