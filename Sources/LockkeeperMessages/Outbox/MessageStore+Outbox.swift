public import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage
import Synchronization

extension MessageStore {
    // MARK: - Looking

    /// Everything that the server must be told and has not confirmed, in order.
    ///
    /// - Parameter conversation: that of one conversation; `nil` for all.
    public func outbox(in conversation: ConversationID? = nil) async throws -> [OutboxItem] {
        try await session.database.readConnection(outboxItems(in: conversation, only: nil))
    }

    /// The messages of a conversation that were not confirmed yet, in their order: they stand behind
    /// all others (M-10).
    public func pendingMessages(in conversation: ConversationID) async throws -> [OutboxItem] {
        try await session.database.readConnection(outboxItems(in: conversation, only: .send))
    }

    /// The end of a conversation as people see it.
    public struct TimelineEnd: Sendable, Hashable {
        /// The newest messages, newest first.
        public let messages: [StoredMessage]
        /// Those of the account's own that stand behind them, in the order in which they were sent.
        public let pending: [OutboxItem]
    }

    /// The newest messages of a conversation and those that were not confirmed yet, in one snapshot: a
    /// message that is confirmed meanwhile is in one of the two.
    public func timelineEnd(
        _ conversation: ConversationID,
        limit: Int
    ) async throws -> TimelineEnd {
        try await session.database.readConnection(end(of: conversation, limit: limit))
    }

    /// The end of a conversation, kept live.
    public func observeTimelineEnd(
        _ conversation: ConversationID,
        limit: Int
    ) -> LiveQuery<TimelineEnd> {
        session.database.observeConnection(
            topics: [conversation.bytes],
            end(of: conversation, limit: limit)
        )
    }

    private func end(
        of conversation: ConversationID,
        limit: Int
    ) -> @Sendable (Connection) throws -> TimelineEnd {
        let page = page(of: conversation, before: nil, limit: limit)
        let pending = outboxItems(in: conversation, only: .send)
        return { TimelineEnd(messages: try page($0), pending: try pending($0)) }
    }

    /// Everything that the server must be told, kept live: any process's commit is followed.
    ///
    /// - Parameter conversation: that of one conversation; `nil` for all.
    public func observeOutbox(in conversation: ConversationID? = nil) -> LiveList<OutboxItem> {
        LiveList(
            session.database.observeConnection(
                topics: conversation.map { [$0.bytes] },
                outboxItems(in: conversation, only: nil)
            )
        )
    }

    func outboxItems(
        in conversation: ConversationID?,
        only act: OutboxAct?
    ) -> @Sendable (Connection) throws -> [OutboxItem] {
        { connection in
            let table = OutboxTable(connection: connection)
            return try table.all(in: conversation?.bytes, only: act).compactMap { row in
                var row = row
                if row.state.phase == .waiting, try table.isHeld(row) {
                    row.state.reason = "a recall of the message goes before it"
                }
                return try table.content(row.number).flatMap { OutboxItem(row, content: $0) }
            }
        }
    }

    /// Who has claimed an item, a sentence each, for people; a claimer that is stopped is named as
    /// stopped.
    public func claimers(ofOutboxItem number: Int64) throws -> [String] {
        try session.claimers(of: .outboxItem, number)
    }

    // MARK: - Claiming

    /// Claims the next item whose turn it is.
    ///
    /// Items of one conversation are claimed one after the other, in order. An item that is parked or
    /// of unknown outcome holds up nobody; one that waits for its next attempt, or that somebody has
    /// claimed, holds up those behind it. A recall goes before the edits and reactions of its message
    /// that wait. An item is handed out once its attempt is durable, and with
    /// it the commit that wrote the item.
    ///
    /// - Returns: the claim; `nil` where nothing is to be done now: ``outboxWait()`` says when.
    /// - Throws: what ``AccountDatabase/write(durability:waitMax:usesReserve:_:)`` throws.
    public func claimNextOutboxItem() async throws -> OutboxClaim? {
        let now = moment()
        let mayBe = try await session.database.readConnection { [self] connection in
            try OutboxTable(connection: connection).heads().contains { row in
                try turn(of: row, at: now) == .zero
            }
        }
        guard mayBe else { return nil }
        // The claim is taken inside of the transaction, which may run again and then gives back what
        // it took; outside of it the item could be another's before it is this one's.
        let taken = Mutex<HeldClaim?>(nil)
        let (item, _) = try await session.database.submit(
            durability: .durable,
            waitMax: nil
        ) { [self] connection, topics in
            taken.withLock { $0 = nil }
            let claimed = try claim(on: connection, at: moment())
            guard let claimed else { return OutboxItem?.none }
            taken.withLock { $0 = claimed.hold }
            Failpoint.outboxClaimed.reach()
            topics.insert(claimed.item.conversation.bytes)
            return claimed.item
        }
        guard let item, let hold = taken.withLock({ $0 }) else { return nil }
        Failpoint.outboxBegun.reach()
        return OutboxClaim(item, store: self, hold: hold)
    }

    /// How long it is until ``claimNextOutboxItem()`` may have something to give: zero for at once,
    /// `nil` where that takes a commit first. What somebody else has claimed is looked at each second.
    public func outboxWait() async throws -> Duration? {
        let now = moment()
        return try await session.database.readConnection { [self] connection in
            try OutboxTable(connection: connection).heads()
                .map { try turn(of: $0, at: now) }.min()
        }
    }

    /// How long it is until items that failed may be tried again, by number; what nothing holds up but
    /// its turn is not among them.
    public func outboxRetries() async throws -> [Int64: Duration] {
        let now = moment()
        return try await session.database.readConnection { [self] connection in
            var waits: [Int64: Duration] = [:]
            for row in try OutboxTable(connection: connection).all()
            where row.state.phase == .waiting {
                waits[row.number] = row.state.retry?.wait(at: now, max: attemptRules.waitMax)
            }
            return waits
        }
    }

    /// How long it is until an item that is the first of its conversation may be claimed, as far as can
    /// be seen without claiming it.
    private func turn(of row: OutboxTable.Row, at now: Moment) throws -> Duration {
        switch row.state.phase {
        case .attempting:
            // The kernel tells nobody when a claim ends.
            return try session.isClaimed(.outboxItem, row.number) ? .seconds(1) : .zero
        default: return row.state.retry?.wait(at: now, max: attemptRules.waitMax) ?? .zero
        }
    }

    private func claim(
        on connection: Connection,
        at now: Moment
    ) throws -> (item: OutboxItem, hold: HeldClaim)? {
        let table = OutboxTable(connection: connection)
        for head in try table.heads() {
            var next: OutboxTable.Row? = head
            while let row = next {
                guard let hold = try session.tryClaim(.outboxItem, row.number) else { break }
                switch try begin(row, in: table, at: now) {
                case .begun(let item): return (item, hold)
                case .waits: next = nil
                case .settled: next = try table.next(in: row.conversation, after: row.number)
                }
            }
        }
        return nil
    }

    private enum Beginning {
        case begun(OutboxItem)
        case waits
        case settled
    }

    /// Begins an attempt at a row whose claim is held, or settles it.
    private func begin(
        _ row: OutboxTable.Row,
        in table: OutboxTable,
        at now: Moment
    ) throws -> Beginning {
        if try table.isSuperseded(row) {
            try table.end(row)
            return .settled
        }
        var row = row
        if row.state.phase == .attempting, try table.isHeld(row) {
            // Its claimer has gone, and meanwhile the message is being recalled.
            let answered = AttemptAnswer.unanswered(nil, repeats: true)
            _ = answered.settle(&row.state, row.state.attempt, at: now, rules: attemptRules)
            try table.write(row.state, to: row.number)
            return .settled
        }
        let answer = row.state.claim(at: now, repeats: repeats(row.act), rules: attemptRules)
        if case .waits = answer { return .waits }
        if answer == .begun {
            guard let content = try table.currentContent(of: row),
                let item = OutboxItem(row, content: content)
            else {
                // Damaged, or put in by a program with other rules: it must not stop the others.
                _ = row.state.park(row.state.attempt, because: "the item cannot be read")
                try table.write(row.state, to: row.number)
                return .settled
            }
            try table.write(row.state, to: row.number)
            return .begun(item)
        }
        try table.write(row.state, to: row.number)
        return .settled
    }

    // MARK: - Answers

    /// Whether an attempt at an act may be repeated when its outcome is unknown.
    func repeats(_ act: OutboxAct) -> Bool {
        act.repeatsSafely || session.account.contract.refusesDoubles
    }

    /// Writes what the answer to an attempt makes of its item. An answer to an attempt that was
    /// overtaken, or of an item that has ended, changes nothing.
    func settle(
        _ item: OutboxItem,
        _ answered: AttemptAnswer
    ) async throws {
        _ = try await session.database.submit(
            durability: .durable,
            waitMax: nil
        ) { [self] connection, topics in
            let table = OutboxTable(connection: connection)
            let attempt = Int64(item.attempt)
            guard var row = try table.row(item.id),
                answered.settle(&row.state, attempt, at: moment(), rules: attemptRules)
            else { return }
            if row.state.phase == .waiting, try table.isSuperseded(row) {
                try table.end(row)
            } else {
                try table.write(row.state, to: row.number)
            }
            topics.insert(row.conversation)
        }
        Failpoint.outboxAnswered.reach()
    }

    /// Ends an item that is no message, and merges a change that the server has confirmed, unless the
    /// confirmation cannot be true.
    ///
    /// - Parameters:
    ///   - id: of which message the answer speaks, where it says so.
    ///   - sequence: which place it names.
    ///   - version: the version at which the server has the change, where it says so.
    func finish(
        _ item: OutboxItem,
        as id: MessageID?,
        sequence: Int64?,
        version: Int64?
    ) async throws -> OutboxClaim.Confirmation {
        let confirmation: OutboxClaim.Confirmation = try await session.database.submit(
            durability: .durable,
            waitMax: nil,
            usesReserve: item.act == .recall
        ) { [self] connection, topics in
            let table = OutboxTable(connection: connection)
            topics.insert(item.conversation.bytes)
            var row = try table.row(item.id)
            let reason = try table.contradiction(
                of: item,
                as: id,
                sequence: sequence,
                version: version
            )
            if let reason {
                row?.state.contradict(Int64(item.attempt), because: reason)
                if let row { try table.write(row.state, to: row.number) }
                return .contradicted(reason)
            }
            if let row { try table.end(row) }
            guard item.act.isMergedWhenConfirmed else { return .taken }
            // Also where the item has gone meanwhile: the server has it.
            var overtaken: String?
            _ = try merge(
                closing: nil,
                onGap: .wait,
                isOwnAct: true,
                on: connection,
                topics: &topics
            ) { merge in
                overtaken = try merge.takeConfirmed(item.event, version: version)
            }
            return overtaken.map { .overtaken($0) } ?? .taken
        }.value
        Failpoint.outboxAnswered.reach()
        return confirmation
    }

    /// Stores a message that the server has confirmed, at version 0; its item ends with it, unless the
    /// confirmation cannot be true.
    ///
    /// - Parameter attempt: which attempt's answer it is.
    func confirm(
        _ message: MessageEvent,
        attempt: Int
    ) async throws -> OutboxClaim.Confirmation {
        do throws(EventError) {
            try Event.message(message).validate(limits: rules.limits)
        } catch {
            throw LockkeeperError.unusable(
                "the confirmation of a message",
                "\(error)",
                remedy: "Give what the server says."
            )
        }
        do {
            let (result, _) = try await session.database.submit(
                durability: .durable,
                waitMax: nil
            ) { [self] connection, topics in
                try merge(closing: nil, onGap: .wait, on: connection, topics: &topics) { merge in
                    merge.answeredAttempt = Int64(attempt)
                    try merge.take(.message(message))
                }
            }
            Failpoint.outboxAnswered.reach()
            return result.contradictions.first.map { .contradicted($0) } ?? .taken
        } catch let error as CancellationError {
            throw error
        } catch {
            // The answer will not come again. As a packet it is applied once the database can take it,
            // under whichever generation, and ends the item then as an echo does.
            _ = try await session.workspace.deliver(
                [.message(message)],
                to: session.token.account
            )
            return .taken
        }
    }

    // MARK: - By hand

    /// What became of a request about an item.
    public enum OutboxRequest: Sendable, Hashable {
        /// It was done.
        case done
        /// There is no such item, or no more.
        case unknownItem
        /// Somebody tells the server just now; see ``claimers(ofOutboxItem:)``.
        case isClaimed
    }

    /// Lets an item be tried again at once, whatever held it up; of one whose outcome is unknown that
    /// may make a second message.
    public func retryOutboxItem(_ number: Int64) async throws -> OutboxRequest {
        try await request(number) { table, row, isClaimed in
            var row = row
            guard row.state.retry(isClaimed: isClaimed) else { return false }
            try table.write(row.state, to: row.number)
            return true
        }
    }

    /// Takes an item out: the server is not told. A message is not sent, and an edit, a recall or a
    /// reaction not done, unless an attempt has done it already. What the account has read, deleted or
    /// cleared for itself stays so here.
    public func cancelOutboxItem(_ number: Int64) async throws -> OutboxRequest {
        try await request(number) { table, row, isClaimed in
            guard row.state.mayCancel(isClaimed: isClaimed) else { return false }
            try table.end(row)
            try ConversationState.removeUnlessUsed(row.conversation, on: table.connection)
            return true
        }
    }

    private func request(
        _ number: Int64,
        _ change: @escaping @Sendable (OutboxTable, OutboxTable.Row, Bool) throws -> Bool
    ) async throws -> OutboxRequest {
        try await session.database.submit(
            durability: .durable,
            waitMax: nil
        ) { [self] connection, topics in
            let table = OutboxTable(connection: connection)
            guard number > 0, let row = try table.row(number) else {
                return OutboxRequest.unknownItem
            }
            // Held until the change is in the transaction, so that nobody claims it in between; who
            // claims it does so in a transaction of his own.
            let hold = try session.tryClaim(.outboxItem, number)
            defer { hold?.release() }
            guard try change(table, row, hold == nil) else { return .isClaimed }
            topics.insert(row.conversation)
            return .done
        }.value
    }

    // MARK: - Means

    var attemptRules: AttemptState.Rules { AttemptState.Rules(rules.limits) }

    /// The present instant, as rows say it.
    func moment() -> Moment {
        Moment(boot: session.bootID, instant: session.database.clock.now())
    }
}

extension OutboxItem {
    /// Reads an item; `nil` where its content is no event.
    init?(_ row: OutboxTable.Row, content: [UInt8]) {
        // What was put in was valid under the bounds of its time.
        var decoder = EventDecoder()
        guard let event = try? decoder.decode(line: content) else { return nil }
        id = row.number
        act = row.act
        conversation = ConversationID(unchecked: row.conversation)
        clientID = row.clientID.map(ClientID.init(unchecked:))
        message = row.message.map(MessageID.init(unchecked:))
        self.event = event
        createdAt = Timestamp(stored: row.createdAt)
        state = State(row.state.phase)
        attempt = Int(row.state.attempt)
        reason = row.state.reason
    }
}
