import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

extension MessageStore {
    /// Removes some of the messages whose time is over, with all that derives from them.
    ///
    /// Reads hide them at their time by the time of day alone. Removing cannot be undone, so it waits
    /// until the time of day has gone on evenly beside the monotonic clock for
    /// ``Limits/expirySteadyAfter``, and takes ``Limits/expiredPerPassCountMax`` at a time.
    ///
    /// - Returns: how many were removed.
    @discardableResult
    public func removeExpired() async throws -> Int {
        try await session.database.submit(
            durability: .committed,
            class: .backfill,
            waitMax: nil
        ) { [self] connection, topics in
            try removeExpired(on: connection, &topics, now: wallClock.milliseconds())
        }.value
    }

    /// The same as a step of what is done while nobody writes: the host's tick and idle sessions call
    /// it.
    static let expiryUpkeep: UpkeepStep = { session, connection, topics, now in
        let store = try MessageStore(session)
        let count = try store.removeExpired(on: connection, &topics, now: now)
        return count == store.rules.limits.expiredPerPassCountMax
    }

    private func removeExpired(
        on connection: Connection,
        _ topics: inout TopicSet,
        now: Int64
    ) throws -> Int {
        // Most stores never have to write for it.
        let table = MessageTable(connection: connection)
        guard try table.hasExpired(at: now) else { return 0 }
        var count = 0
        _ = try merge(closing: nil, onGap: .wait, on: connection, topics: &topics) {
            count = try $0.removeExpired(wall: now, session.database.clock.now())
        }
        return count
    }
}

extension BatchMerge {
    /// Removes some of the messages whose time is over, if the time of day is believed. Returns how
    /// many.
    mutating func removeExpired(wall: Int64, _ now: MonotonicInstant) throws -> Int {
        let fence = try connection.statement("SELECT boot FROM lk_fence WHERE id = 1")
        guard try fence.step() else { return 0 }
        // A write transaction has put the present boot there.
        let reading = ExpiryClock.Reading(
            boot: fence.bytes(0),
            monotonic: now.nanoseconds / 1_000_000,
            wall: wall
        )
        fence.reset()
        let stored = try ExpiryClock(in: connection)
        var clock = stored ?? ExpiryClock(reading)
        let believed = clock.observe(
            reading,
            jumpMax: rules.limits.expiryJumpMax,
            steadyAfter: rules.limits.expirySteadyAfter
        )
        if clock.isNews(after: stored) { try clock.write(to: connection) }
        guard let believed else { return 0 }
        let expired = try table.expired(
            at: believed,
            limit: rules.limits.expiredPerPassCountMax
        )
        for stored in expired {
            let conversation = try conversationID(of: stored.row.conversation)
            let index = try self.conversation(conversation)
            var row = stored.row
            row.leave()
            try put(row, over: stored, at: index)
        }
        return expired.count
    }

    private func conversationID(of row: Int64) throws -> ConversationID {
        let select = try connection.statement(
            "SELECT conversation_id FROM lk_conversation WHERE id = ?1"
        )
        try select.bind(1, row)
        defer { select.reset() }
        // A message's conversation is there: the tables are bound to each other.
        guard try select.step() else { throw DamagedRegisters() }
        return ConversationID(unchecked: select.bytes(0))
    }
}
