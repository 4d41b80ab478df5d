import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages

/// A claimed item of the outbox, as a program is told of it.
struct RelayedItem: ~Copyable, RelayedThing {
    private let claim: OutboxClaim

    init(_ claim: consuming OutboxClaim) { self.claim = claim }

    var hold: HeldClaim { claim.hold }

    var title: String { "item \(claim.item.id)" }

    func write(into writer: inout JSONWriter) {
        writer.member("item", claim.item.id)
        writer.member("act", claim.item.act.rawValue)
        writer.member("conversation", claim.item.conversation)
        writer.member("key", claim.item.key)
    }

    var line: [UInt8] {
        var writer = JSONWriter()
        writer.beginVersionedObject()
        OutboxOutput.write(claim.item, into: &writer)
        writer.member("repeated", claim.isRepeated)
        writer.endObject()
        writer.endLine()
        return writer.bytes
    }

    consuming func take(_ answer: RelayAnswer) async throws -> RelayOutcome {
        switch answer {
        case .confirmed(let id, let sequence, let serverAt, let version):
            guard claim.item.act != .send || id != nil else {
                // Whatever it did, it does not say under which id: that is no answer.
                let reason = "the answer names no id for the message"
                try await claim.leaveUnanswered(because: reason)
                return RelayOutcome("unanswered", reason)
            }
            if let version, version < claim.item.act.versionMin {
                let reason = "the answer names version \(version), which it cannot have"
                try await claim.leaveUnanswered(because: reason)
                return RelayOutcome("unanswered", reason)
            }
            let confirmation = try await claim.confirm(
                as: id,
                sequence: sequence,
                serverAt: serverAt,
                version: version
            )
            switch confirmation {
            case .taken: return RelayOutcome("confirmed")
            case .contradicted(let reason): return RelayOutcome("contradicted", reason)
            case .overtaken(let reason): return RelayOutcome("overtaken", reason)
            }
        case .failed(let reason, let retryAfter):
            try await claim.fail(because: reason, retryAfter: retryAfter)
            return RelayOutcome("failed", reason)
        case .refused(let reason):
            try await claim.park(because: reason)
            return RelayOutcome("refused", reason)
        case .none(let reason):
            try await claim.leaveUnanswered(because: reason)
            return RelayOutcome("unanswered", reason)
        case .notStarted(let reason):
            try await claim.leaveUnstarted(because: reason)
            return RelayOutcome("unanswered", reason)
        }
    }

    consuming func giveBack() async throws { try await claim.giveBack() }
}

/// A claimed effect, as a program is told of it.
struct RelayedEffect: ~Copyable, RelayedThing {
    private let claim: EffectClaim

    init(_ claim: consuming EffectClaim) { self.claim = claim }

    var hold: HeldClaim { claim.hold }

    var title: String {
        let names = [claim.effect.conversation.description, claim.effect.message.description]
        return "\(claim.effect.kind.rawValue) \(names.map(terminalID).joined(separator: " "))"
    }

    func write(into writer: inout JSONWriter) {
        writer.member("effect", claim.effect.kind.rawValue)
        writer.member("conversation", claim.effect.conversation)
        writer.member("id", claim.effect.message)
        writer.member("key", claim.effect.key)
    }

    var line: [UInt8] {
        var writer = JSONWriter()
        writer.beginVersionedObject()
        EffectOutput.write(claim.effect, into: &writer)
        writer.member("repeated", claim.isRepeated)
        writer.endObject()
        writer.endLine()
        return writer.bytes
    }

    consuming func take(_ answer: RelayAnswer) async throws -> RelayOutcome {
        switch answer {
        case .confirmed:
            try await claim.confirm()
            return RelayOutcome("confirmed")
        case .failed(let reason, let retryAfter):
            try await claim.fail(because: reason, retryAfter: retryAfter)
            return RelayOutcome("failed", reason)
        case .refused(let reason):
            try await claim.park(because: reason)
            return RelayOutcome("refused", reason)
        case .none(let reason):
            try await claim.leaveUnanswered(because: reason)
            return RelayOutcome("unanswered", reason)
        case .notStarted(let reason):
            // Shown twice it is one notification still.
            try await claim.giveBack()
            return RelayOutcome("unanswered", reason)
        }
    }

    consuming func giveBack() async throws { try await claim.giveBack() }
}

/// How an item of the outbox is printed.
enum OutboxOutput {
    /// Writes an item's members.
    static func write(_ item: OutboxItem, into writer: inout JSONWriter) {
        writer.member("item", item.id)
        writer.member("act", item.act.rawValue)
        writer.member("conversation", item.conversation)
        writer.member("key", item.key)
        if let clientID = item.clientID { writer.member("client_id", clientID) }
        if let message = item.message { writer.member("message", message) }
        writer.member("created_at", item.createdAt)
        writer.member("attempt", item.attempt)
        writer.key("event")
        writer.raw(EventEncoder.line(item.event))
    }

    /// What is left and why.
    static func remains(_ messages: MessageStore) async throws -> RelayRemains {
        let retries = try await messages.outboxRetries()
        let items = try await messages.outbox()
        let sentences = try items.prefix(RelayRemains.namedCount).map { item in
            let claimers =
                item.state == .sending ? try messages.claimers(ofOutboxItem: item.id) : []
            let why = remarks(item, claimers: claimers, retryIn: retries[item.id])
            let advice =
                item.state.isOnItsWay
                ? "" : "; 'outbox retry \(item.id)' or 'outbox cancel \(item.id)' decide"
            return "item \(item.id) (\(item.act.rawValue) in"
                + " \(terminalID(item.conversation.description))) is left, \(item.state.rawValue): "
                + (why.isEmpty ? "it waits for its turn" : why.joined(separator: "; ")) + advice
        }
        return RelayRemains(count: items.count, sentences: sentences)
    }

    private static func remarks(
        _ item: OutboxItem,
        claimers: [String],
        retryIn: Duration?
    ) -> [String] {
        [item.reason.map(terminalText), retryIn.map(RetryText.init)?.text].compactMap(\.self)
            + claimers
    }

    /// An item as one line for people.
    static func line(_ item: OutboxItem, claimers: [String], retryIn: Duration?) -> String {
        var text =
            "\(item.id)\t\(item.act.rawValue)\t\(terminalID(item.conversation.description))"
            + "\t\(item.state.rawValue)\t\(item.attempt)"
        let remarks = remarks(item, claimers: claimers, retryIn: retryIn)
        if !remarks.isEmpty { text += "\t\(remarks.joined(separator: "; "))" }
        return text
    }
}

/// When something is tried again, for people.
struct RetryText {
    /// "next attempt in 12 s", rounded up.
    let text: String

    init(_ wait: Duration) {
        text = "next attempt in \(wait.components.seconds + 1) s"
    }
}

/// How an effect is printed.
enum EffectOutput {
    /// What is left and why.
    static func remains(_ messages: MessageStore) async throws -> RelayRemains {
        let retries = try await messages.effectRetries()
        let effects = try await messages.effects(limit: RelayRemains.namedCount)
        let sentences = try effects.map { effect in
            let claimers =
                effect.state == .attempting ? try messages.claimers(ofEffect: effect.id) : []
            let why = remarks(effect, claimers: claimers, retryIn: retries[effect.id])
            let advice =
                effect.state == .parked
                ? "; 'effects retry \(effect.id)' or 'effects drop \(effect.id)' decide" : ""
            return "effect \(effect.id) (\(effect.kind.rawValue) in"
                + " \(terminalID(effect.conversation.description))) is left,"
                + " \(effect.state.rawValue): "
                + (why.isEmpty ? "it waits for its turn" : why.joined(separator: "; ")) + advice
        }
        return RelayRemains(count: try await messages.effectCount(), sentences: sentences)
    }

    /// Why an effect is where it is, when it is tried again, and who has it.
    static func remarks(_ effect: Effect, claimers: [String], retryIn: Duration?) -> [String] {
        [effect.reason.map(terminalText), retryIn.map(RetryText.init)?.text].compactMap(\.self)
            + claimers
    }

    /// Writes an effect's members.
    static func write(_ effect: Effect, into writer: inout JSONWriter) {
        writer.member("number", effect.id)
        writer.member("effect", effect.kind.rawValue)
        writer.member("key", effect.key)
        writer.member("tag", effect.tag)
        writer.member("conversation", effect.conversation)
        writer.member("id", effect.message)
        writer.member("attempt", effect.attempt)
        guard let content = effect.content else { return }
        writer.key("message")
        writer.beginObject()
        MessageOutput.write(content, into: &writer)
        writer.endObject()
    }
}
