import LockkeeperDomain
import LockkeeperSQLite

// What cannot be merged.
extension BatchMerge {
    func putAside(_ later: LaterEvent) throws -> EventOutcome {
        let isNew = try quarantine.put(
            QuarantineTable.Item(
                reason: .later,
                explanation: "events of type \(later.type) are merged later",
                content: later.line
            )
        )
        return isNew ? .quarantined : .duplicate
    }

    /// Merges what was kept for later rules, as far as these know it. What is not an event any more to
    /// stricter rules stays where it is.
    mutating func offerLaterEvents() throws {
        var decoder = EventDecoder(limits: rules.limits)
        for (number, line) in try quarantine.content(of: .later) {
            guard let event = try? decoder.decode(line: line) else { continue }
            if case .later = event { continue }
            try quarantine.remove(number)
            _ = try apply(event)
        }
    }

    func putAside(
        _ event: Event,
        _ reason: QuarantineTable.Reason,
        conversation: [UInt8]? = nil,
        message: [UInt8]? = nil,
        seq: Int64? = nil
    ) throws {
        try quarantine.put(
            QuarantineTable.Item(
                reason: reason,
                explanation: reason.sentence,
                conversation: conversation,
                message: message,
                seq: seq,
                content: EventEncoder.line(event)
            )
        )
    }

    /// No room is left for what waits.
    func refuseWaiting(
        _ event: Event,
        conversation index: Int,
        message: [UInt8]
    ) throws -> EventOutcome {
        try putAside(
            event,
            .tooManyWaitingMessages,
            conversation: conversations[index].id,
            message: message
        )
        return .quarantined
    }

    /// Somebody else than the author edits or recalls (M-5).
    func refuseUnauthorised(
        _ event: Event,
        conversation index: Int,
        message: [UInt8]
    ) throws -> EventOutcome {
        try putAside(
            event,
            .unauthorised,
            conversation: conversations[index].id,
            message: message
        )
        return .quarantined
    }

    /// Another message holds the seq: the event is put aside whole. Of a message without content
    /// nothing is kept (`nil`), because it might be text; its end has overtaken it.
    func refuseTakenSeq(
        _ event: Event?,
        conversation index: Int,
        message: [UInt8],
        seq: Int64
    ) throws -> EventOutcome {
        guard let event else { return .stale }
        try putAside(
            event,
            .seqTaken,
            conversation: conversations[index].id,
            message: message,
            seq: seq
        )
        return .quarantined
    }

    /// Puts the losers of a conflict aside, one row per field and content, so that every order of
    /// arrival leaves the same rows (M-3).
    func putAside<Field: RegisterField>(
        _ losers: [Registers<Field>.Loser],
        of subject: LoserSubject
    ) throws {
        for loser in losers {
            try quarantine.put(
                QuarantineTable.Item(
                    reason: .conflict,
                    explanation: loser.explanation,
                    conversation: subject.conversation,
                    message: subject.message,
                    content: subject.line(of: loser),
                    yieldsRoom: loser.field == .extra
                )
            )
        }
    }
}
