import Lockkeeper
import LockkeeperDomain
import LockkeeperSQLite

/// Merges a batch of events inside one transaction (section 6 of the design).
///
/// Each event is looked at once and gets one outcome. What events share, the conversations' rows and
/// the streams' cursors, is gathered and written at the end, in ``finish()``.
///
/// One file per subject: messages and who may change them, what follows from a changed row, reactions,
/// positions, conversations, pages, and what is put aside. Whatever derives from messages hangs on one
/// of two places: ``rowChanged(_:)`` and ``conversationChanged(_:at:)``.
struct BatchMerge {
    let connection: Connection
    var rules: MergeRules
    let table: MessageTable
    let edges: CursorEdges
    let quarantine: QuarantineTable
    var search: SearchChanges
    let outbox: OutboxTable
    var effects: EffectDecisions
    /// Whether the account itself does what is merged, so that it is no news of the server's.
    let isOwnAct: Bool
    /// Whether the version of what is merged is the account's own guess: the server has confirmed a change
    /// and not said at which version.
    var versionIsGuess = false
    /// The attempt whose answer is merged; `nil` where none is, or nobody knows which.
    var answeredAttempt: Int64?
    var conversations: [ConversationState] = []
    private var conversationIndex: [[UInt8]: Int] = [:]
    private var latest: Int?
    var waitingPages: [SyncPage] = []
    var result = BatchResult()

    /// A merge into the transaction that is open on a connection.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970, for quarantine's dates.
    ///   - effects: whether messages that are shown now notify (M-11).
    ///   - isOwnAct: whether the account itself does what is merged.
    init(
        connection: Connection,
        rules: MergeRules,
        now: Int64,
        effects: EffectPolicy = .decide,
        isOwnAct: Bool = false
    ) {
        self.connection = connection
        self.rules = rules
        table = MessageTable(connection: connection)
        edges = CursorEdges(connection: connection, edgeCountMax: rules.limits.edgeCountMax)
        quarantine = QuarantineTable(connection: connection, limits: rules.limits, now: now)
        search = SearchChanges(connection: connection)
        outbox = OutboxTable(connection: connection)
        self.effects = EffectDecisions(connection: connection, policy: effects)
        self.isOwnAct = isOwnAct
    }

    /// Looks whether these are the rules that merged what is stored. Those that have grown since are
    /// offered what was kept for later ones.
    ///
    /// - Throws: ``LockkeeperError`` with the code `newerSchema` where larger rules were at work.
    mutating func begin() throws {
        let select = try connection.statement("SELECT number FROM lk_merge_rules WHERE id = 1")
        let number = try select.step() ? select.int64(0) : 0
        select.reset()
        guard number != rules.number else { return }
        guard number < rules.number else { throw LockkeeperError.newerRules(number, rules.number) }
        try offerLaterEvents()
        let update = try connection.statement(
            "UPDATE lk_merge_rules SET number = ?1 WHERE id = 1"
        )
        try update.bind(1, rules.number)
        try update.run()
    }

    /// Merges one event.
    mutating func take(_ event: Event) throws {
        if !isOwnAct {
            if let contradiction = try contradiction(of: event) {
                result.contradictions.append(contradiction)
                return result.outcomes.count(.stale)
            }
            if try !isAnother(event) {
                try outbox.hear(event, ownID: rules.ownID, memory: rules.limits.sentMemoryCountMax)
            }
        }
        result.outcomes.count(try apply(event))
    }

    /// Merges one item.
    mutating func take(_ item: IngestItem) throws {
        switch item {
        case .event(let event): try take(event)
        case .unreadable(let line):
            try quarantine.put(line.quarantined)
            result.outcomes.count(.quarantined)
        }
    }

    /// Writes what the events share. The batch is complete afterwards.
    mutating func finish() throws -> BatchResult {
        for index in conversations.indices { try conversations[index].write(to: table) }
        for stream in result.streams {
            // A stream without a cursor is in the list as well, so the value is set as an optional:
            // assigning nil would leave the stream out.
            let cursor = try edges.cursor(of: stream.bytes).map(Cursor.init(unchecked:))
            result.cursors.updateValue(cursor, forKey: stream)
        }
        // A page for which the batch itself brought the missing one waits no more.
        for page in waitingPages where try edges.waits(page) {
            result.gaps.append(
                PageGap(
                    stream: page.stream,
                    expected: result.cursors[page.stream] ?? nil,
                    found: page.after
                )
            )
        }
        result.topics = conversations.map { $0.id }
        return result
    }

    /// Merges one event and says what became of it.
    mutating func apply(_ event: Event) throws -> EventOutcome {
        if try isOfPurged(event) { return .stale }
        return switch event {
        case .message(let message): try apply(message, event)
        case .edit(let edit): try apply(edit, event)
        case .recall(let recall): try apply(recall, event)
        case .delete(let delete): try apply(delete, event)
        case .reaction(let reaction): try apply(reaction, event)
        case .read(let read): try apply(read, event)
        case .conversation(let conversation): try apply(conversation)
        case .member(let member): try apply(member)
        case .clear(let clear): try apply(clear)
        case .history(let history): try apply(history)
        case .page(let page): try apply(page, event)
        case .reset(let reset): try apply(reset)
        case .later(let later): try putAside(later)
        }
    }

    /// The index of a conversation, which is found or made where the batch names it first.
    mutating func conversation(_ id: ConversationID) throws -> Int {
        if let latest, conversations[latest].id == id.bytes { return latest }
        if let index = conversationIndex[id.bytes] {
            latest = index
            return index
        }
        conversations.append(try ConversationState(id.bytes, in: connection))
        let index = conversations.count - 1
        conversationIndex[id.bytes] = index
        latest = index
        return index
    }
}
