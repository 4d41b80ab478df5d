public import Lockkeeper
@_exported public import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// The messages of one account: ingest, merge, cursors, timelines.
///
/// It is a view on a session and lives as long. Any number of processes may have one on the same
/// account; what they store together does not depend on who stored it, or in which order (I-5).
public final class MessageStore: Sendable {
    /// The session that the store writes through.
    public let session: Session

    let rules: MergeRules
    let wallClock: any WallClockSource

    /// Makes a store on a session.
    ///
    /// - Throws: ``LockkeeperError`` with the code `invalidInput` where the workspace was opened
    ///   without ``Schema/messages``.
    public init(_ session: Session) throws {
        guard session.declares(.messages) else {
            throw LockkeeperError(
                .invalidInput,
                subject: "account \(session.token.account)",
                explanation: "the workspace was opened without the schema of messages",
                answer: .fixProgram,
                remedy: "Open it with Workspace.open(at:name:schemas: [.messages])."
            )
        }
        self.session = session
        wallClock = session.wallClock
        rules = MergeRules(
            contract: session.account.contract,
            ownID: session.account.ownID,
            limits: session.database.limits
        )
    }

    /// What to do with a page that does not begin at its stream's cursor.
    public enum GapPolicy: Sendable, Hashable {
        /// Its events are stored, its cursor waits for the pages before it (M-12).
        case wait
        /// The page is refused whole, and the error says what was expected and found.
        case refuse
    }

    /// Stores events, and moves a stream's cursor over the page that they make up.
    ///
    /// Many events are stored in several short transactions; the cursor moves with the last.
    /// Where the gap policy is ``GapPolicy/refuse`` they are stored in one.
    ///
    /// - Parameters:
    ///   - events: what to store, in any order.
    ///   - page: the page that the events make up, if they make up one.
    ///   - onGap: what to do when the page does not begin at the stream's cursor.
    ///   - durability: what the receipt promises.
    ///   - admission: whether somebody waits for it. Pages are backfill where nothing else is said:
    ///     live writes of this process go before them, and they slow down first while the log is
    ///     degraded.
    ///   - effects: whether the messages may notify; what was declared of the page's stream, and yes
    ///     where nothing was, by default.
    ///   - waitMax: how long each batch may stand in line.
    /// - Returns: one receipt for all of them.
    /// - Throws: ``LockkeeperError`` — `gap` under ``GapPolicy/refuse``, `contract` when the server's
    ///   contract needs a stronger durability, and what ``AccountDatabase/write(durability:waitMax:usesReserve:_:)`` throws. Events of
    ///   earlier transactions of this call may be stored then; storing them again does no harm.
    @discardableResult
    public func ingest(
        _ events: [Event],
        closing page: SyncPage? = nil,
        onGap: GapPolicy = .wait,
        durability: Durability = .durable,
        admission: AdmissionClass? = nil,
        effects: EffectPolicy? = nil,
        waitMax: Duration? = nil
    ) async throws -> Receipt {
        try check(durability, events, closing: page)
        let chunks = onGap == .refuse ? [events[...]] : Self.chunks(of: events, rules.limits)
        var receipt: Receipt?
        for (index, chunk) in chunks.enumerated() {
            let isLast = index == chunks.count - 1
            let next = try await store(
                Array(chunk),
                closing: isLast ? page : nil,
                onGap: onGap,
                // The sync of the last transaction covers those before it.
                durability: isLast ? durability : .committed,
                class: admission ?? (page == nil ? .live : .backfill),
                effects: effects,
                of: page?.stream,
                waitMax: waitMax
            )
            receipt = receipt?.followed(by: next) ?? next
        }
        guard let receipt else { preconditionFailure("there is at least one chunk") }
        return receipt
    }

    /// Merges events inside a transaction of the app's own, so that its rows and the messages commit
    /// together or not at all.
    ///
    /// - Parameters:
    ///   - events: what is merged.
    ///   - effects: whether the messages may notify.
    ///   - transaction: the transaction that it becomes a part of.
    /// - Returns: what became of the events.
    @discardableResult
    public func apply(
        _ events: [Event],
        effects: EffectPolicy = .decide,
        in transaction: borrowing Transaction
    ) throws -> OutcomeCounts {
        try merge(
            closing: nil,
            onGap: .wait,
            effects: effects,
            on: transaction.connection,
            topics: &transaction.topics.topics
        ) { merge in
            for event in events { try merge.take(event) }
        }.outcomes
    }

    /// Merges what `give` gives to the merge, on a connection that is inside a transaction.
    ///
    /// - Parameters:
    ///   - effects: whether messages may notify; what was declared of the stream by default.
    ///   - stream: the stream of whose page this is a part.
    ///   - isOwnAct: whether the account itself does what is merged.
    func merge(
        closing page: SyncPage?,
        onGap: GapPolicy,
        effects: EffectPolicy? = nil,
        of stream: StreamID? = nil,
        isOwnAct: Bool = false,
        on connection: Connection,
        topics: inout TopicSet,
        _ give: (inout BatchMerge) throws -> Void
    ) throws -> BatchResult {
        var merge = BatchMerge(
            connection: connection,
            rules: rules,
            now: wallClock.milliseconds(),
            effects: try effects ?? EffectTable(connection: connection).policy(of: stream),
            isOwnAct: isOwnAct
        )
        try merge.begin()
        try give(&merge)
        if let page {
            // What the events brought may lead up to it.
            if onGap == .refuse { try check(page, on: connection) }
            try merge.take(.page(page))
        }
        let result = try merge.finish()
        if onGap == .refuse, let gap = result.gaps.first { throw LockkeeperError.gap(gap) }
        for topic in result.topics { topics.insert(topic) }
        return result
    }

    /// Refuses a page that does not begin at its stream's cursor and was not passed before.
    private func check(_ page: SyncPage, on connection: Connection) throws {
        let edges = CursorEdges(connection: connection, edgeCountMax: rules.limits.edgeCountMax)
        guard try !edges.accepts(page) else { return }
        throw LockkeeperError.gap(
            PageGap(
                stream: page.stream,
                expected: try edges.cursor(of: page.stream.bytes).map(Cursor.init(unchecked:)),
                found: page.after
            )
        )
    }

    private func store(
        _ events: [Event],
        closing page: SyncPage?,
        onGap: GapPolicy,
        durability: Durability,
        class admissionClass: AdmissionClass,
        effects: EffectPolicy?,
        of stream: StreamID?,
        waitMax: Duration?
    ) async throws -> Receipt {
        let (result, commit) = try await session.database.submit(
            durability: durability,
            class: admissionClass,
            waitMax: waitMax
        ) { [self] connection, topics in
            try merge(
                closing: page,
                onGap: onGap,
                effects: effects,
                of: stream,
                on: connection,
                topics: &topics
            ) { merge in
                for event in events { try merge.take(event) }
            }
        }
        return Receipt(result, commit)
    }

    /// Cuts events into batches by count and bytes. There is at least one, so that a page without
    /// events moves its cursor too.
    private static func chunks(of events: [Event], _ limits: Limits) -> [ArraySlice<Event>] {
        var chunks: [ArraySlice<Event>] = []
        var start = 0
        var byteCount = 0
        for (index, event) in events.enumerated() {
            let size = event.approximateByteCount
            let isFull =
                index - start >= limits.batchEventCountMax
                || byteCount + size > limits.batchByteCountMax
            if isFull, index > start {
                chunks.append(events[start..<index])
                (start, byteCount) = (index, 0)
            }
            byteCount += size
        }
        chunks.append(events[start...])
        return chunks
    }
}

extension LockkeeperError {
    static func newerRules(_ stored: Int64, _ known: Int64) -> LockkeeperError {
        LockkeeperError(
            .newerSchema,
            subject: "the messages",
            explanation: "merge rules \(stored) were at work here, this program knows \(known)",
            answer: .fixEnvironment,
            remedy: "Use the newer program; this one can read."
        )
    }

    static func quarantineFull(count: Int64, byteCount: Int64) -> LockkeeperError {
        LockkeeperError(
            .quarantineFull,
            subject: "quarantine",
            explanation:
                "as much is put aside as may be: \(counted(Int(count), "item")) of \(byteCount) bytes",
            answer: .fixEnvironment,
            remedy: "Look at what was put aside, drop what nobody needs, and ingest again."
        )
    }

    static func notAcceptable(_ number: Int64, _ reason: String) -> LockkeeperError {
        LockkeeperError(
            .invalidInput,
            subject: "item \(number) of the quarantine",
            explanation: reason,
            answer: .fixProgram,
            remedy: "Drop it, or keep it for a newer program."
        )
    }

    static func notAcceptableYet(_ number: Int64) -> LockkeeperError {
        LockkeeperError(
            .invalidInput,
            subject: "item \(number) of the quarantine",
            explanation: "the message that it changes is not known yet",
            answer: .fixProgram,
            remedy: "Accept it once the message is there."
        )
    }

    static func notRetriable(_ number: Int64) -> LockkeeperError {
        LockkeeperError(
            .invalidInput,
            subject: "item \(number) of the quarantine",
            explanation: "it is a value that lost to another one, and would lose again",
            answer: .fixProgram,
            remedy:
                "Put it where the other one stands with 'lockkeeper quarantine accept \(number)', or"
                + " leave it where it is."
        )
    }

    static func gap(_ gap: PageGap) -> LockkeeperError {
        func name(_ cursor: Cursor?) -> String { cursor.map { "'\($0)'" } ?? "no cursor" }
        return LockkeeperError(
            .gap,
            subject: "stream \(gap.stream)",
            explanation:
                "expected a page after \(name(gap.expected)), found one after \(name(gap.found))",
            answer: .askAgain,
            remedy: "Ask the server again from \(name(gap.expected))."
        )
    }
}

extension Receipt {
    init(_ result: BatchResult, _ commit: CommitReceipt) {
        self.init(
            account: commit.token.account,
            generation: commit.token.generation,
            commit: commit.commit,
            outcomes: result.outcomes,
            cursors: result.cursors,
            gaps: result.gaps,
            durability: commit.durability,
            waits: [commit.waited]
        )
    }

    /// This receipt and that of the next transaction as one.
    func followed(by next: Receipt) -> Receipt {
        var outcomes = outcomes
        outcomes.add(next.outcomes)
        return Receipt(
            account: account,
            generation: next.generation,
            commit: next.commit ?? commit,
            outcomes: outcomes,
            cursors: cursors.merging(next.cursors) { $1 },
            gaps: gaps + next.gaps,
            durability: next.durability,
            waits: waits + next.waits
        )
    }
}
