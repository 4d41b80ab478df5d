import Lockkeeper
import LockkeeperDomain
import LockkeeperTesting

@testable import LockkeeperMessages

/// How far the index is when a question is asked. What is found may not depend on it.
enum IndexState: CaseIterable {
    /// Nothing was ever indexed.
    case none
    /// A part is indexed, what came or changed later is not.
    case behind
    /// Everything is.
    case caughtUp
}

extension TestAccount {
    /// Stores events, and brings the index to a state.
    func store(_ events: [Event], index: IndexState) async throws {
        switch index {
        case .none: try await messages.ingest(events)
        case .behind:
            try await messages.ingest(Array(events.prefix(events.count / 2)))
            try await messages.catchUpSearch()
            try await messages.ingest(Array(events.dropFirst(events.count / 2)))
        case .caughtUp:
            try await messages.ingest(events)
            try await messages.catchUpSearch()
            let status = try await messages.searchStatus()
            precondition(status.isCaughtUp, "catching up ends caught up: \(status)")
        }
    }

    /// The ids of what is found, in order.
    func found(_ query: SearchQuery) async throws -> [String] {
        try await messages.search(query, limit: 1_000).map(\.message.id.description)
    }

    /// The ids of what is found for a text, in order.
    func found(_ text: String, _ match: SearchQuery.Match = .words) async throws -> [String] {
        try await found(SearchQuery(text, match: match))
    }

    /// Runs SQL on the account's database past the merge, as a defect or another program would.
    func damage(_ sql: String) async throws {
        try await session.database.write { transaction in _ = try transaction.execute(sql) }
    }
}

/// Messages "m1", "m2", … of some texts, each a second after the one before.
func messages(_ bodies: [String]) throws -> [Event] {
    try bodies.enumerated().map { index, body in
        try message(
            MessageID("m\(index + 1)"),
            seq: Int64(index + 1),
            body,
            sentAt: Int64(index + 1) * 1_000
        )
    }
}
