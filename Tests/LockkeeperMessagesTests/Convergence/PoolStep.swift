import Lockkeeper
import LockkeeperDomain
import LockkeeperSQLite

@testable import LockkeeperMessages

/// One thing that comes to a store: an event of the server's, or what the account itself does.
enum PoolStep: Equatable, CustomStringConvertible {
    /// An event.
    case event(Event)
    /// A change of the account's own that the server has confirmed, at a version that it says or not. It
    /// may have told of newer ones meanwhile.
    case confirmation(Event, version: Int64?)
    /// A change of the account's own that the server has refused.
    case refusal(Event)
    /// A person accepts what was put aside, as soon as it is there.
    case acceptance(reason: String, content: [UInt8])

    /// The event; `nil` where it is something else.
    var event: Event? { if case .event(let event) = self { event } else { nil } }

    var description: String {
        func line(_ event: Event) -> String {
            String(decoding: EventEncoder.line(event), as: UTF8.self)
        }
        return switch self {
        case .event(let event): line(event)
        case .confirmation(let event, let version):
            "confirmed at \(version.map(String.init) ?? "its version"): \(line(event))"
        case .refusal(let event): "refused: \(line(event))"
        case .acceptance(let reason, let content):
            "accepted, \(reason): \(String(decoding: content, as: UTF8.self))"
        }
    }
}

extension PoolStep {
    /// A change of the account's own that has ended: mostly confirmed, often at an old version.
    static func act(_ generator: inout SeededGenerator) -> PoolStep {
        let event = EventPool.ownChange(&generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: return .refusal(event)
        case 1: return .confirmation(event, version: .random(in: 2...4, using: &generator))
        default: return .confirmation(event, version: nil)
        }
    }

    /// Does it, where it is nothing of the server's, as a transaction of its own.
    ///
    /// - Returns: whether it is done; not while nothing is there to accept or to change.
    func perform(_ connection: Connection, _ rules: MergeRules) throws -> Bool {
        switch self {
        case .event: return false
        case .confirmation(let event, let version):
            // The account changes only what is there.
            guard try Self.mayChange(event, connection, rules) else { return false }
            var merge = BatchMerge(connection: connection, rules: rules, now: 0, isOwnAct: true)
            _ = try merge.takeConfirmed(event, version: version)
            _ = try merge.finish()
        case .refusal(let event):
            let outbox = OutboxTable(connection: connection)
            let number = try outbox.insert(
                OutboxTable.Entry(
                    act: event.outboxAct,
                    conversation: Array("c".utf8),
                    message: event.subject,
                    content: EventEncoder.line(event),
                    createdAt: 0
                )
            )
            guard let row = try outbox.row(number) else { return true }
            try outbox.end(row)
        case .acceptance(let reason, let content):
            let select = try connection.prepare(
                "SELECT id FROM lk_quarantine WHERE reason = ?1 AND content = ?2 AND accepted = 0"
            )
            try select.bind(1, reason)
            try select.bind(2, blob: content)
            guard try select.step() else { return false }
            let number = select.int64(0)
            select.reset()
            return try Self.accept(number, connection, rules)
        }
        return true
    }

    /// Whether the message that an event changes is there, and the account may change it.
    private static func mayChange(
        _ event: Event,
        _ connection: Connection,
        _ rules: MergeRules
    ) throws -> Bool {
        guard let id = event.subject,
            let conversation = try ConversationRow.find("c", in: connection),
            let row = try MessageTable(connection: connection).find(id, in: conversation)?.row
        else { return false }
        let needsAuthor =
            switch event {
            case .edit: rules.authority.editsNeedAuthor
            case .recall: rules.authority.recallsNeedAuthor
            default: false
            }
        guard needsAuthor else { return row.registers[.sender] != nil }
        return rules.ownID.map(row.isAuthor) ?? false
    }

    /// Accepts an item, unless it cannot be yet: then it stays, as when a transaction is rolled back.
    private static func accept(
        _ number: Int64,
        _ connection: Connection,
        _ rules: MergeRules
    ) throws -> Bool {
        try connection.withPolicy(.open) { try $0.execute("SAVEPOINT acceptance") }
        var isDone = true
        do {
            var merge = BatchMerge(connection: connection, rules: rules, now: 0)
            if let item = try merge.quarantine.take(number) { _ = try merge.accept(item) }
            _ = try merge.finish()
        } catch let error as LockkeeperError {
            guard error.code == .invalidInput else { throw error }
            isDone = false
        }
        try connection.withPolicy(.open) {
            if !isDone { try $0.execute("ROLLBACK TO acceptance") }
            try $0.execute("RELEASE acceptance")
        }
        return isDone
    }
}

extension Event {
    fileprivate var outboxAct: OutboxAct {
        switch self {
        case .recall: .recall
        case .reaction: .reaction
        default: .edit
        }
    }

    fileprivate var subject: [UInt8]? {
        switch self {
        case .edit(let edit): edit.id.bytes
        case .recall(let recall): recall.id.bytes
        case .reaction(let reaction): reaction.id.bytes
        default: nil
        }
    }
}
