import Lockkeeper
import LockkeeperPlatform

extension MessageStore {
    /// Writes everything that a fresh store needs to behave the same, as event lines.
    ///
    /// Conversations come in byte order: what is known of them, members, clear, messages with their
    /// edits by (seq, id), recalls, deletions, reactions, read positions, ranges of history, then what
    /// waits; after them events of types that these merge rules do not know.
    /// Exporting an import of it gives the same bytes. It is one consistent snapshot. Messages whose time
    /// is over are not in it, as in no other read.
    ///
    /// - Parameters:
    ///   - includingCursors: whether the pages that lead to the streams' cursors, and those that
    ///     wait, are written too.
    ///   - write: takes some whole lines, on a thread of the session's, where it may block. What it
    ///     throws ends the export.
    public func export(
        includingCursors: Bool = false,
        to write: @escaping @Sendable ([UInt8]) throws -> Void
    ) async throws {
        let authority = rules.authority
        let now = wallClock.milliseconds()
        try await session.database.readConnection(for: .export) { connection in
            var export = MessageExport(
                connection: connection,
                authority: authority,
                now: now,
                write: write
            )
            try export.run(includingCursors: includingCursors)
        }
    }
}
