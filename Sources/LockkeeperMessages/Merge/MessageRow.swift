import LockkeeperDomain
import LockkeeperSQLite

/// One row of `lk_message` as the merge works on it.
///
/// ```
///           seq and sender known           recall                    delete, clear, expiry
/// waiting ───────────────────────▶ shown ──────────▶ recalled ───┐
///    │                                                ▲          ├──▶ gone
///    └──────────────── recall ──────▶ recalledWaiting ┘ ─────────┘    (from everywhere)
/// ```
///
/// ``take(_:claimsSender:)`` writes fields; ``recall(_:)`` and ``leave()`` take the content out, for
/// good. Nothing leads back: that is why a message that was recalled, deleted or cleared never
/// returns, whatever comes late.
struct MessageRow: Equatable {
    /// What the column `state` says.
    enum State: Int64 {
        /// It waits for its seq and sender (M-1).
        case waiting = 0
        /// It is shown.
        case shown = 1
        /// It was recalled: it is shown at its place without text (M-6).
        case recalled = 2
        /// It was recalled, and waits for its seq and sender.
        case recalledWaiting = 3
        /// It was deleted, lies below a clear, or has expired: id and seq stay (M-7).
        case gone = 4
    }

    /// The largest recall by (version, by).
    struct Recall: Equatable {
        var version: Int64
        var by: [UInt8]?

        func isLess(than other: Recall) -> Bool {
            if version != other.version { return version < other.version }
            return (by ?? []).lexicographicallyPrecedes(other.by ?? [])
        }
    }

    let conversation: Int64
    let messageID: [UInt8]
    private(set) var registers: Registers<MessageField>
    private(set) var recall: Recall?
    private(set) var isGone = false
    /// The smallest and largest seq that any event gave the message. Both only grow apart, so that
    /// what was decided by one of them stays decided, whichever comes first. Once the message is gone
    /// the smallest has no more to say.
    private(set) var leastSeq: Int64?
    private(set) var mostSeq: Int64?
    /// Senders that messages named beside the one that stands, sorted (M-5).
    private(set) var otherSenders: [[UInt8]] = []

    /// The largest place: where provisional messages stand (M-1).
    static let lastPlace = Int64.max

    init(conversation: Int64, messageID: [UInt8]) {
        self.conversation = conversation
        self.messageID = messageID
        registers = Registers()
    }

    var seq: Int64? { registers.integer(.seq) }

    var place: Int64 { seq ?? Self.lastPlace }

    /// A message is shown once seq and sender are known; one whose sender came at version 0 is
    /// provisional and needs no seq.
    var state: State {
        if isGone { return .gone }
        let hasSender = registers[.sender] != nil
        if recall != nil { return hasSender && seq != nil ? .recalled : .recalledWaiting }
        guard hasSender else { return .waiting }
        let isProvisional = registers.version(of: .sender) == 0
        return seq != nil || isProvisional ? .shown : .waiting
    }

    /// Whether it was recalled, deleted, cleared or has expired: it has no content and takes none.
    var isWithoutContent: Bool { isGone || recall != nil }

    /// The version that people see: the largest that wrote something.
    var version: Int64 { max(registers.version, recall?.version ?? 0) }

    /// Whether somebody is an author of the message: an event of type message named the person as its
    /// sender (M-5).
    func isAuthor(_ person: [UInt8]) -> Bool {
        registers.bytes(.sender) == person || otherSenders.contains(person)
    }

    // MARK: - What events do to it

    /// Writes fields, as far as the message still takes them.
    ///
    /// - Parameter keepsSenders: whether every sender is remembered, which only the contract *author*
    ///   needs.
    /// - Returns: what became of the registers, and whether the message took less than was offered.
    mutating func take(
        _ writes: RegisterWrites<MessageField>,
        keepsSenders: Bool
    ) -> (outcome: Registers<MessageField>.Outcome, wasCut: Bool) {
        let kept =
            isGone
            ? writes.only(MessageField.keptWhenGone)
            : recall != nil ? writes.only(MessageField.keptAfterRecall) : writes
        let senderBefore = registers.bytes(.sender)
        let outcome = registers.write(kept)
        if case .integer(let seq) = kept[.seq] {
            // What is gone cannot be cleared.
            leastSeq = isGone ? nil : min(leastSeq ?? seq, seq)
            mostSeq = max(mostSeq ?? seq, seq)
        }
        if keepsSenders, case .text(let said) = kept[.sender] {
            let stands = registers.bytes(.sender)
            for sender in [senderBefore, said].compactMap({ $0 })
            where sender != stands && !otherSenders.contains(sender) {
                otherSenders.append(sender)
            }
            // The one that stands may have been among the others.
            otherSenders.removeAll { $0 == stands }
            otherSenders.sort { $0.lexicographicallyPrecedes($1) }
        }
        return (outcome, kept.fields.count < writes.fields.count)
    }

    /// Puts another value where one stands at a version.
    ///
    /// - Returns: what stood; `nil` where the field does not stand at that version.
    mutating func replace(
        _ field: MessageField,
        by value: FieldValue,
        at version: Int64
    ) -> FieldValue? {
        guard let stood = registers.replace(field, by: value, at: version) else { return nil }
        if field == .seq, case .integer(let seq) = value {
            leastSeq = min(leastSeq ?? seq, seq)
            mostSeq = max(mostSeq ?? seq, seq)
        }
        if field == .sender, case .text(let sender) = value, case .text(let before) = stood,
            let index = otherSenders.firstIndex(of: sender)
        {
            otherSenders[index] = before
            otherSenders.sort { $0.lexicographicallyPrecedes($1) }
        }
        return stood
    }

    /// Recalls it (M-6).
    ///
    /// - Parameter keepsSenders: whether another recall is judged by who its author is.
    mutating func recall(_ said: Recall, keepsSenders: Bool) {
        guard !isGone else { return }
        if !keepsSenders { otherSenders = [] }
        recall = recall.map { $0.isLess(than: said) ? said : $0 } ?? said
        registers.keep(only: MessageField.keptAfterRecall)
    }

    /// Takes its place away, which it has from a confirmation, and which is another message's.
    mutating func forgetPlace() {
        registers.keep(only: MessageField.allCases.filter { $0 != .seq })
        leastSeq = nil
        mostSeq = nil
    }

    /// Takes it out for good: it was deleted, cleared, or has expired (M-7).
    mutating func leave() {
        isGone = true
        recall = nil
        registers.keep(only: MessageField.keptWhenGone)
        leastSeq = nil
        otherSenders = []
    }
}

// MARK: - What the store derives from it

extension MessageRow {
    /// Whether it counts as unread while it stands above the read position (M-9).
    func counts(ownID: [UInt8]?) -> Bool {
        state == .shown && registers.flag(.counts) ?? true && isIncoming(ownID: ownID)
    }

    /// Whether somebody else sent it.
    func isIncoming(ownID: [UInt8]?) -> Bool {
        if let flag = registers.flag(.incoming) { return flag }
        guard let ownID, let sender = registers.bytes(.sender) else { return true }
        return sender != ownID
    }

    var mentionsMe: Bool { registers.flag(.mentionsMe) ?? false }

    /// When the server took it, by which conversations are listed (M-14).
    var serverAt: Int64? { registers.integer(.serverAt) ?? registers.integer(.sentAt) }
}

// MARK: - The row in the table

extension MessageRow {
    private static let firstRegister = 6
    private static let afterRegisters = firstRegister + MessageField.allCases.count

    /// Reads a row; its statement selects `lk_message.*`, which begins with the row's number.
    ///
    /// - Throws: ``DamagedRegisters``.
    init(reading row: Statement) throws(DamagedRegisters) {
        conversation = row.int64(1)
        messageID = row.bytes(2)
        isGone = row.int64(3) == State.gone.rawValue
        registers = try Registers(
            reading: row,
            from: Self.firstRegister,
            version: row.int64(4),
            exceptions: row.optionalBytes(5)
        )
        let next = Self.afterRegisters
        recall = row.optionalInt64(next).map {
            Recall(version: $0, by: row.optionalBytes(next + 1))
        }
        leastSeq = isGone ? nil : row.optionalInt64(next + 2) ?? registers.integer(.seq)
        mostSeq = row.optionalInt64(next + 3) ?? registers.integer(.seq)
        if let others = row.optionalBytes(next + 4) {
            otherSenders = try FieldValue.people(others).map(\.bytes)
        }
    }

    /// Binds everything but the row's number: parameter n is column n, as ``init(reading:)`` counts
    /// them.
    func bind(to statement: Statement) throws(SQLiteError) {
        try statement.bind(1, conversation)
        try statement.bind(2, text: messageID)
        try statement.bind(3, state.rawValue)
        try statement.bind(4, registers.version)
        try statement.bind(5, text: registers.exceptions)
        try registers.bind(to: statement, from: Self.firstRegister)
        let next = Self.afterRegisters
        try statement.bind(next, recall?.version)
        try statement.bind(next + 1, text: recall?.by)
        try statement.bind(next + 2, leastSeq == seq ? nil : leastSeq)
        try statement.bind(next + 3, mostSeq == seq ? nil : mostSeq)
        let others = otherSenders.map(PersonID.init(unchecked:))
        try statement.bind(
            next + 4,
            text: others.isEmpty ? nil : FieldValue.canonical(mentions: others)
        )
    }
}
