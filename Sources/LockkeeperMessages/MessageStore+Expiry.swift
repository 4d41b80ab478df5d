import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite

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
        guard try await hasExpired() else { return 0 }
        return try await session.database.submit(
            durability: .committed,
            class: .backfill,
            waitMax: nil
        ) { [self] connection, topics in
            var count = 0
            _ = try merge(closing: nil, onGap: .wait, on: connection, topics: &topics) {
                count = try $0.removeExpired(wall: wallClock.milliseconds(), clock.now())
            }
            return count
        }.value
    }

    /// Whether anything has expired by the time of day: most stores never have to write for it.
    private func hasExpired() async throws -> Bool {
        let wallClock = wallClock
        return try await session.database.readConnection { connection in
            try !MessageTable(connection: connection)
                .expired(at: wallClock.milliseconds(), limit: 1).isEmpty
        }
    }

    private var clock: any MonotonicClock { session.database.clock }
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
