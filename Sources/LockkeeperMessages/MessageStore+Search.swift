public import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite

extension MessageStore {
    /// Looks for messages by their text, the newest first (see ``SearchPlace``).
    ///
    /// The answer is complete and true at any moment, also while the index of texts is behind: what is
    /// not in it yet is looked through, and each hit is held against its message. Upper and lower case,
    /// wide and narrow forms, composed and decomposed ones are the same; accents are not left out.
    /// Pages are cut by keys, so that messages which arrive meanwhile shift nothing.
    ///
    /// - Parameters:
    ///   - query: what to look for.
    ///   - place: where the page before ended; `nil` begins with the newest.
    ///   - limit: the largest number of hits.
    /// - Throws: what ``AccountDatabase/read(_:)`` throws.
    public func search(
        _ query: SearchQuery,
        after place: SearchPlace? = nil,
        limit: Int
    ) async throws -> [SearchHit] {
        precondition(limit > 0, "a page has at least one hit")
        let (ownID, wallClock) = (rules.ownID, session.wallClock)
        return try await session.database.readConnection { connection in
            var run = SearchRun(
                query,
                after: place,
                limit: limit,
                now: wallClock.milliseconds(),
                on: connection
            )
            let needles = SearchNeedles(query.text, match: query.match)
            let pending = try PendingActs(on: connection)
            return try run.run().map { key in
                try Self.hit(key, needles, ownID, pending, on: connection)
            }
        }
    }

    private static func hit(
        _ key: SearchKey,
        _ needles: SearchNeedles,
        _ ownID: [UInt8]?,
        _ pending: PendingActs,
        on connection: Connection
    ) throws -> SearchHit {
        let select = try connection.statement(
            """
            SELECT message_id, seq, sender, sent_at, server_at, body, version, kind, incoming, state,
                edited_at, reply_to, client_id, attachments, extra, recall_version, expires_at
            FROM lk_message WHERE id = ?1
            """
        )
        try select.bind(1, key.row)
        guard try select.step() else {
            preconditionFailure("a hit's row is in the snapshot in which it was found")
        }
        defer { select.reset() }
        let conversation = ConversationID(unchecked: key.conversation)
        let message = pending.marked(
            StoredMessage(conversation: conversation, ownID: ownID, reading: select)
        )
        return SearchHit(
            message: message,
            snippet: SearchSnippet(of: message.body ?? "", needles),
            place: SearchPlace(
                serverAt: Timestamp(stored: key.instant),
                conversation: conversation,
                place: message.place
            )
        )
    }

    /// Supplies text for finding a message: what is not folded alike, such as its reading in Latin
    /// letters or its text in another script. It is looked through like the message's own text, is not
    /// shown, and goes with the text that it was supplied for: an edit or a recall takes it away.
    ///
    /// It is this store's alone, and not exported: whoever reads an export supplies it again.
    ///
    /// - Parameters:
    ///   - text: the text; `nil` takes it away.
    ///   - id: the message.
    ///   - conversation: its conversation.
    /// - Returns: whether the message is shown, and so took it.
    /// - Throws: what ``AccountDatabase/write(durability:waitMax:usesReserve:_:)`` throws.
    @discardableResult
    public func supplySearchText(
        _ text: String?,
        for id: MessageID,
        in conversation: ConversationID
    ) async throws -> Bool {
        try await session.database.write { transaction in
            try self.supplySearchText(text, for: id, in: conversation, transaction)
        }.value
    }

    /// The same inside a transaction of the app's own, such as that in which it applies the message.
    @discardableResult
    public func supplySearchText(
        _ text: String?,
        for id: MessageID,
        in conversation: ConversationID,
        _ transaction: borrowing Transaction
    ) throws -> Bool {
        let connection = transaction.connection
        guard let conversation = try ConversationRow.find(conversation, in: connection) else {
            return false
        }
        let select = try connection.statement(
            "SELECT id FROM lk_message WHERE conversation = ?1 AND message_id = ?2 AND state = 1"
        )
        try select.bind(1, conversation)
        try select.bind(2, text: id.bytes)
        guard try select.step() else { return false }
        let row = select.int64(0)
        select.reset()
        var search = SearchChanges(connection: connection)
        try search.supplied(text, for: row)
        return true
    }

    /// How far the index of texts is behind the messages.
    public func searchStatus() async throws -> SearchStatus {
        try await session.database.readConnection { try SearchStatus(reading: $0) }
    }

    /// Brings the index of texts up to the messages. A host does it by itself, and every process when
    /// nobody writes; this is for who wants to wait for it.
    ///
    /// It works in small transactions, which go behind everything else.
    ///
    /// - Parameter progress: told after each of them.
    /// - Throws: what ``AccountDatabase/write(durability:waitMax:usesReserve:_:)`` throws. What was indexed until
    ///   then stays.
    public func catchUpSearch(
        progress: @Sendable (SearchStatus) -> Void = { _ in }
    ) async throws {
        let wallClock = session.wallClock
        var step = SearchIndexer.Step.more
        while step == .more {
            let status: SearchStatus
            ((step, status), _) = try await session.database.submit(
                durability: .committed,
                class: .upkeep,
                waitMax: nil
            ) { connection, _ in
                let step = try SearchIndexer(
                    connection: connection,
                    now: wallClock.milliseconds()
                ).step()
                return (step, try SearchStatus(reading: connection))
            }
            progress(status)
        }
    }

    /// Makes the index of texts anew: what to do when a check says that it is out of step.
    ///
    /// Searching goes on meanwhile, and reads what is not indexed yet.
    ///
    /// - Parameter progress: told after each of the small transactions in which it is done.
    /// - Throws: what ``AccountDatabase/write(durability:waitMax:usesReserve:_:)`` throws. What is not done then is
    ///   done by whoever indexes next.
    public func rebuildSearch(
        progress: @Sendable (SearchStatus) -> Void = { _ in }
    ) async throws {
        _ = try await session.database.submit(
            durability: .committed,
            class: .upkeep,
            waitMax: nil
        ) { connection, _ in
            try SearchState().write(to: connection)
        }
        try await catchUpSearch(progress: progress)
    }
}

extension MessageStore {
    /// The index's part of a schema's upkeep.
    static let searchUpkeep: UpkeepStep = { _, connection, _, now in
        try SearchIndexer(connection: connection, now: now).step() == .more
    }
}

extension SearchStatus {
    /// What people should know of it.
    var notes: [String] {
        if let shortcoming {
            return ["search is not available as an index: \(shortcoming); every message is read"]
        }
        if isBeingMade, waitingCount > 1000 {
            return ["the search index is being made: \(waitingCount) rows wait"]
        }
        return waitingCount > 1000 ? ["the search index is \(waitingCount) rows behind"] : []
    }

    /// Reads how far the index is.
    init(reading connection: Connection) throws(SQLiteError) {
        let state = try SearchState.read(from: connection)
        let select = try connection.statement(
            """
            SELECT (SELECT ifnull(max(id), 0) FROM lk_message),
                (SELECT count(*) FROM lk_search_dirty)
            """
        )
        defer { select.reset() }
        _ = try select.step()
        let newest = select.int64(0)
        let through = state.isUsable ? min(state.through, newest) : 0
        let dirtyCount = state.isUsable ? select.int64(1) : 0
        self.init(
            shortcoming: SearchLibrary.shortcoming,
            isBeingMade: !state.isUsable && SearchLibrary.shortcoming == nil,
            indexedCount: Int(through - dirtyCount),
            waitingCount: Int(newest - through + dirtyCount)
        )
    }
}
