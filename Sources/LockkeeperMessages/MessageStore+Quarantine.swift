import Lockkeeper
import LockkeeperDomain
import LockkeeperSQLite

extension MessageStore {
    /// Merges again what was put aside, under the same rules: for what had no room, or was in the way
    /// of something that is not there any more.
    ///
    /// - Parameter number: the item's number, as ``quarantine()`` lists it.
    /// - Returns: what became of it; `quarantined` where it is put aside again. `nil` where there is no
    ///   such item.
    /// - Throws: ``LockkeeperError`` with the code `invalidInput` for what is no event, and what
    ///   ``AccountDatabase/write(_:)`` throws.
    public func retryQuarantined(_ number: Int64) async throws -> EventOutcome? {
        try await settle(number) { merge, item in try merge.retry(item) }
    }

    /// Merges what was put aside although the rules refuse it: a person decided so.
    ///
    /// A message on a taken seq is shown beside the other. An edit or recall of somebody else is done. A
    /// value that lost a conflict takes the place of the one that stands, at the version at which both
    /// came, until another event says otherwise. It is an act on this device: others are not told.
    ///
    /// - Returns: what became of it; `nil` where there is no such item.
    /// - Throws: ``LockkeeperError`` with the code `invalidInput` for what cannot be accepted: lines that
    ///   are no event or of a type that is not known, and pages that contradict others.
    public func acceptQuarantined(_ number: Int64) async throws -> EventOutcome? {
        try await settle(number) { merge, item in try merge.accept(item) }
    }

    /// Forgets what was put aside.
    ///
    /// - Returns: whether there was such an item.
    @discardableResult
    public func dropQuarantined(_ number: Int64) async throws -> Bool {
        try await settle(number) { _, _ in .updated } != nil
    }

    /// Takes an item out and does something with it, in one transaction.
    private func settle(
        _ number: Int64,
        _ act: @escaping @Sendable (inout BatchMerge, QuarantineTable.Kept) throws -> EventOutcome
    ) async throws -> EventOutcome? {
        try await session.database.submit(durability: .durable, waitMax: nil) {
            [self] connection, topics in
            var outcome: EventOutcome?
            _ = try merge(closing: nil, onGap: .wait, on: connection, topics: &topics) { merge in
                guard let item = try merge.quarantine.take(number) else { return }
                outcome = try act(&merge, item)
            }
            return outcome
        }.value
    }
}

extension BatchMerge {
    /// Merges an item again.
    mutating func retry(_ item: QuarantineTable.Kept) throws -> EventOutcome {
        try apply(try event(of: item))
    }

    /// Merges an item against the rules.
    mutating func accept(_ item: QuarantineTable.Kept) throws -> EventOutcome {
        switch item.reason {
        case .conflict: return try acceptLoser(item)
        case .seqTaken: rules.seqIsUnique = false
        case .unauthorised: rules.authority = .server
        case .tooManyWaitingMessages: rules.limits.waitingMessageCountMax = .max
        case .tooManyWaitingPages, .unreadable, .later, .pageContradicts:
            throw LockkeeperError.notAcceptable(item.number, item.reason.sentence)
        }
        return try apply(try event(of: item))
    }

    private func event(of item: QuarantineTable.Kept) throws -> Event {
        var decoder = EventDecoder(limits: rules.limits)
        if item.reason == .conflict {
            throw LockkeeperError.notRetriable(item.number)
        }
        guard let event = try? decoder.decode(line: item.content) else {
            throw LockkeeperError.notAcceptable(item.number, "it is no event")
        }
        return event
    }

    /// Puts a value that lost a conflict where the other one stands.
    private mutating func acceptLoser(_ item: QuarantineTable.Kept) throws -> EventOutcome {
        guard let loser = Loser(item.content) else {
            throw LockkeeperError.notAcceptable(item.number, "it cannot be read")
        }
        let index = try conversation(loser.conversation)
        guard
            let stored = try table.find(loser.message.bytes, in: conversations[index].row),
            !stored.row.isWithoutContent
        else { return .stale }
        var row = stored.row
        guard row.replace(loser.field, by: loser.value, at: loser.version) else { return .stale }
        try put(row, over: stored, at: index)
        return .updated
    }
}

/// A value that lost a conflict, as `BatchMerge` puts it aside.
private struct Loser {
    let conversation: ConversationID
    let message: MessageID
    let version: Int64
    let field: MessageField
    let value: FieldValue

    /// Reads an object; `nil` for what is none.
    init?(_ content: [UInt8]) {
        var fields = EventFields(nestingDepthMax: Limits().nestingDepthMax)
        let read = content.withUnsafeBytes { bytes -> Loser? in
            do throws(EventError) {
                try fields.begin(bytes)
                defer { fields.end() }
                return try Loser(fields)
            } catch {
                return nil
            }
        }
        guard let read else { return nil }
        self = read
    }

    private init?(_ fields: EventFields) throws(EventError) {
        conversation = try fields.identifier(.conversation)
        message = try fields.identifier(.id)
        version = try fields.integer(.version)
        let texts: [(EventField, MessageField)] = [(.body, .body), (.sender, .sender)]
        for (name, field) in texts {
            guard let text = try fields.stringIfPresent(name) else { continue }
            self.field = field
            value = .text(Array(text.utf8))
            return
        }
        for (name, field) in [(EventField.sequence, MessageField.seq), (.incoming, .incoming)] {
            // Stored flags are numbers.
            guard let number = try fields.integerIfPresent(name) else { continue }
            self.field = field
            value = .integer(number)
            return
        }
        guard let attachments = try fields.attachmentsIfPresent() else { return nil }
        field = .attachments
        value = .text(attachments.bytes)
    }
}
