import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

extension MessageStore {
    // MARK: - Looking

    /// The effects that nobody has confirmed, oldest message first.
    ///
    /// - Parameter limit: at most so many.
    public func effects(limit: Int? = nil) async throws -> [Effect] {
        try await session.database.readConnection { [self] connection in
            try EffectTable(connection: connection).rows(limit: limit ?? Int.max)
                .compactMap { try effect($0, on: connection) }
        }
    }

    /// How many effects nobody has confirmed.
    public func effectCount() async throws -> Int {
        try await session.database.readConnection { connection in
            let select = try connection.statement("SELECT count(*) FROM lk_effect")
            defer { select.reset() }
            return try select.step() ? Int(select.int64(0)) : 0
        }
    }

    /// How long it is until effects that failed may be tried again, by number.
    public func effectRetries() async throws -> [Int64: Duration] {
        let now = moment()
        return try await session.database.readConnection { [self] connection in
            var waits: [Int64: Duration] = [:]
            try eachEffect(on: connection) { row in
                if row.state.phase == .waiting {
                    waits[row.message] = row.state.retry?.wait(at: now, max: attemptRules.waitMax)
                }
                return true
            }
            return waits
        }
    }

    /// Who has claimed an effect, a sentence each, for people.
    public func claimers(ofEffect number: Int64) throws -> [String] {
        try session.claimers(of: .effect, number)
    }

    // MARK: - Handing out

    /// Claims the next effect that nobody acts on.
    ///
    /// Effects of different messages have no order. A withdraw is handed out only after its notify was
    /// let go. An effect is handed out once its attempt is durable, and with it the commit that decided
    /// it, so that nobody is told of a message that a power cut takes away.
    ///
    /// - Returns: the claim; `nil` where nothing is to be done now: ``effectWait()`` says when.
    public func claimNextEffect() async throws -> EffectClaim? {
        guard try await effectWait() == .zero else { return nil }
        let taken = Mutex<HeldClaim?>(nil)
        let (effect, _) = try await session.database.submit(
            durability: .durable,
            waitMax: nil
        ) { [self] connection, topics in
            taken.withLock { $0 = nil }
            guard let claimed = try claimEffect(on: connection) else { return Effect?.none }
            taken.withLock { $0 = claimed.hold }
            Failpoint.effectClaimed.reach()
            topics.insert(claimed.effect.conversation.bytes)
            return claimed.effect
        }
        guard let effect, let hold = taken.withLock({ $0 }) else { return nil }
        Failpoint.effectBegun.reach()
        return EffectClaim(effect, store: self, hold: hold)
    }

    /// How long it is until ``claimNextEffect()`` may have something to give: zero for at once, `nil`
    /// where that takes a commit first. What somebody else has claimed is looked at each second, and what
    /// disappears by the time of day at least each minute.
    public func effectWait() async throws -> Duration? {
        let now = moment()
        let wall = session.wallClock.milliseconds()
        return try await session.database.readConnection { [self] connection in
            let expired = try EffectTable(connection: connection).expired(at: wall)
            guard expired.messages.isEmpty else { return .zero }
            // A time of day that is set is seen soon.
            var wait = expired.next.map { min(.milliseconds($0 - wall), Self.expiryLookInterval) }
            try eachEffect(on: connection) { row in
                guard row.state.phase != .parked else { return true }
                let turn: Duration =
                    if try session.isClaimed(.effect, row.message) {
                        .seconds(1)
                    } else if row.state.phase == .waiting {
                        row.state.retry?.wait(at: now, max: attemptRules.waitMax) ?? .zero
                    } else {
                        .zero
                    }
                wait = min(wait ?? turn, turn)
                return wait != .zero
            }
            return wait
        }
    }

    private static let expiryLookInterval = Duration.seconds(60)

    private func claimEffect(
        on connection: Connection
    ) throws -> (effect: Effect, hold: HeldClaim)? {
        let table = EffectTable(connection: connection)
        // Removing them waits until the time of day is believed. A notification that is withdrawn too
        // early takes nothing away.
        let expired = try table.expired(at: session.wallClock.milliseconds())
        for message in expired.messages { try table.takeBack(message) }
        let now = moment()
        var claimed: (effect: Effect, hold: HeldClaim)?
        var isWithdrawn = false
        try eachEffect(on: connection) { row in
            guard row.state.phase != .parked,
                row.state.retry?.wait(at: now, max: attemptRules.waitMax) == nil,
                let hold = try session.tryClaim(.effect, row.message)
            else { return true }
            var row = row
            let answer = row.state.claim(at: now, repeats: true, rules: attemptRules)
            guard let effect = try effect(row, on: connection) else {
                // The message has expired: there is nothing to show, and what was shown goes.
                guard row.kind == .notify else {
                    try table.remove(row.message)
                    return true
                }
                try table.takeBack(row.message)
                isWithdrawn = true
                return true
            }
            try table.write(row.state, to: row.message)
            guard answer == .begun else { return true }
            claimed = (effect, hold)
            return false
        }
        // What became a withdraw on the way is one for now.
        return isWithdrawn && claimed == nil ? try claimEffect(on: connection) : claimed
    }

    /// Goes through the effects, a few at a time, until the closure says no.
    private func eachEffect(
        on connection: Connection,
        _ body: (EffectTable.Row) throws -> Bool
    ) throws {
        let table = EffectTable(connection: connection)
        let chunk = 64
        var last = Int64.min
        while true {
            let rows = try table.rows(after: last, limit: chunk)
            for row in rows where try !body(row) { return }
            guard rows.count == chunk, let end = rows.last else { return }
            last = end.message
        }
    }

    /// An effect with what is to be told; `nil` where there is nothing to tell any more.
    private func effect(_ row: EffectTable.Row, on connection: Connection) throws -> Effect? {
        let select = try connection.statement(
            """
            SELECT m.message_id, m.seq, m.sender, m.sent_at, m.server_at, m.body, m.version, m.kind,
                m.incoming, m.state, m.edited_at, m.reply_to, m.client_id, m.attachments, m.extra,
                m.recall_version, m.expires_at, c.conversation_id
            FROM lk_message m JOIN lk_conversation c ON c.id = m.conversation WHERE m.id = ?1
            """
        )
        try select.bind(1, row.message)
        guard try select.step() else { return nil }
        defer { select.reset() }
        let conversation = ConversationID(unchecked: select.bytes(17))
        let isShown = select.int64(9) == MessageRow.State.shown.rawValue
        let hasExpired =
            select.optionalInt64(16).map { $0 <= session.wallClock.milliseconds() } ?? false
        if row.kind == .notify, !isShown || hasExpired { return nil }
        return Effect(
            id: row.message,
            kind: row.kind,
            conversation: conversation,
            message: MessageID(unchecked: select.bytes(0)),
            content: row.kind == .notify
                ? StoredMessage(conversation: conversation, ownID: rules.ownID, reading: select)
                : nil,
            state: row.state.phase == .parked
                ? .parked : row.state.phase == .attempting ? .attempting : .waiting,
            attempt: Int(row.state.attempt),
            reason: row.state.reason
        )
    }

    // MARK: - Answers

    /// Writes what the answer to an attempt makes of its effect. An answer to an attempt that was
    /// overtaken changes nothing.
    func settle(
        _ effect: Effect,
        _ answered: AttemptAnswer
    ) async throws {
        try await answer(effect) { [self] table, row in
            var row = row
            let attempt = Int64(effect.attempt)
            if answered.settle(&row.state, attempt, at: moment(), rules: attemptRules) {
                try table.write(row.state, to: row.message)
            }
        }
    }

    /// Ends an effect.
    func finish(_ effect: Effect) async throws {
        try await answer(effect) { table, row in
            if row.state.isCurrent(Int64(effect.attempt)) { try table.confirm(row) }
        }
    }

    private func answer(
        _ effect: Effect,
        _ body: @escaping @Sendable (EffectTable, EffectTable.Row) throws -> Void
    ) async throws {
        _ = try await session.database.submit(
            durability: .durable,
            waitMax: nil
        ) { connection, topics in
            let table = EffectTable(connection: connection)
            // Of a notify that was taken back meanwhile the withdraw is another's to claim.
            guard let row = try table.row(effect.id), row.kind == effect.kind else { return }
            try body(table, row)
            topics.insert(effect.conversation.bytes)
        }
        Failpoint.effectAnswered.reach()
    }

    /// Lets an effect be handed out again at once, whatever held it up.
    ///
    /// - Returns: whether there is such an effect, and nobody acts on it just now.
    public func retryEffect(_ number: Int64) async throws -> Bool {
        try await session.database.submit(
            durability: .durable,
            waitMax: nil
        ) { [self] connection, _ in
            let table = EffectTable(connection: connection)
            guard number > 0, var row = try table.row(number) else { return false }
            let hold = try session.tryClaim(.effect, number)
            defer { hold?.release() }
            guard row.state.retry(isClaimed: hold == nil) else { return false }
            try table.write(row.state, to: number)
            return true
        }.value
    }

    /// Gives an effect up: it is not handed out any more. A notify that may have been shown is withdrawn
    /// later as if it had been confirmed.
    ///
    /// - Returns: whether there was such an effect, and nobody acts on it just now.
    public func dropEffect(_ number: Int64) async throws -> Bool {
        try await session.database.submit(
            durability: .durable,
            waitMax: nil
        ) { [self] connection, _ in
            let table = EffectTable(connection: connection)
            guard number > 0, let row = try table.row(number) else { return false }
            let hold = try session.tryClaim(.effect, number)
            defer { hold?.release() }
            guard row.state.mayCancel(isClaimed: hold == nil) else { return false }
            if row.mayBeShown { try table.confirm(row) } else { try table.remove(number) }
            return true
        }.value
    }

    // MARK: - Where nothing is told

    /// Says up to where a conversation notifies of nothing: messages at or below the place are known to
    /// the person from elsewhere. It only grows, and takes nothing back that was decided.
    public func setNotifyAfter(_ conversation: ConversationID, _ sequence: Int64) async throws {
        precondition(sequence >= 0, "a place is not negative")
        _ = try await session.database.submit(
            durability: .durable,
            waitMax: nil
        ) { connection, topics in
            let state = try ConversationState(conversation.bytes, in: connection)
            try EffectTable(connection: connection).raiseNotifyAfter(state.row, to: sequence)
            topics.insert(conversation.bytes)
        }
    }

    /// Says whether the messages of a stream's pages notify: not those of an import, or of history that
    /// the account has seen on another device. It is stored with the account, for every process.
    public func declare(_ stream: StreamID, effects: EffectPolicy) async throws {
        _ = try await session.database.submit(
            durability: .durable,
            waitMax: nil
        ) { connection, _ in
            try EffectTable(connection: connection).setQuiet(stream.bytes, effects == .suppress)
        }
    }
}
