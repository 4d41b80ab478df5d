import Lockkeeper
import LockkeeperDomain
import LockkeeperSQLite

extension MessageStore {
    /// Removes the rows of a conversation that lie at or below its clear (M-7, R-16). Their content left
    /// when it was cleared; what goes now is their ids and places. A digest of each id stays, so that what
    /// comes of such a message later brings nothing back. Late history below the clear makes rows
    /// without content again.
    ///
    /// The rows go in small transactions, so that nobody waits long; what was removed when it is
    /// cancelled stays removed.
    ///
    /// - Returns: how many rows were removed.
    @discardableResult
    public func purge(_ conversation: ConversationID) async throws -> Int {
        var total = 0
        while true {
            try Task.checkCancellation()
            let count = try await session.database.submit(
                durability: .committed,
                class: .backfill,
                waitMax: nil,
                usesReserve: true
            ) { [self] connection, topics in
                var count = 0
                _ = try merge(closing: nil, onGap: .wait, on: connection, topics: &topics) {
                    count = try $0.purge(conversation, limit: Self.purgedRowCount)
                }
                return count
            }.value
            total += count
            if count < Self.purgedRowCount { return total }
        }
    }

    /// A few milliseconds of work.
    private static let purgedRowCount = 256
}

extension BatchMerge {
    /// Removes some rows below a conversation's clear. Returns how many.
    mutating func purge(_ id: ConversationID, limit: Int) throws -> Int {
        guard try ConversationRow.find(id, in: connection) != nil else { return 0 }
        let index = try conversation(id)
        guard let clearSeq = conversations[index].clearSeq else { return 0 }
        let rows = try table.gone(upTo: clearSeq, in: conversations[index].row, limit: limit)
        for stored in rows {
            try table.remove(stored.id)
            try PurgedTable(connection: connection)
                .insert(stored.row.messageID, in: conversations[index].row)
            try rowChanged(RowChange(stored.id, of: index, before: stored.row, after: nil))
        }
        return rows.count
    }
}
