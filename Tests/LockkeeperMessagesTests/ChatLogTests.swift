import Lockkeeper
import LockkeeperCrypto
import LockkeeperDomain
import Testing

@testable import LockkeeperMessages

/// Real chat, as published and as a phone gets it: overlapping pages, redeliveries, edits that come
/// before their messages. Whoever delivers it, the end is the one that the data's authors state.
@Suite("Real chat logs end in the published state (I-4, I-5)")
struct ChatLogTests {
    /// How the lines reach the account.
    enum Way: CaseIterable {
        /// One process takes all of them.
        case alone
        /// Four processes take every fourth line each, at the same time.
        case shared
        /// Four processes take all of them each, at the same time.
        case repeated
    }

    @Test(
        "the published logs, and the feed of pages made of them, in three ways of delivery",
        arguments: ["irc-small", "irc-small-feed"],
        Way.allCases
    )
    func endsInPublishedState(name: String, way: Way) async throws {
        guard let events = try ChatData.events(of: "\(name).ndjson"),
            let expected = try ChatData.expected(of: name)
        else { return }
        try await withAccount { account in
            let total = try await deliver(events, way, account)
            let copies = way == .repeated ? 4 : 1
            #expect(total.total == events.count * copies)
            #expect(total.inserted == 1_300 && total.quarantined == 0)
            #expect(try await stateDigest(account) == expected.stateDigest)
            let cursors = try await account.messages.cursors()
            #expect(cursors.values.map(\.description) == [expected.cursor].compactMap { $0 })
            #expect(try await account.messages.waitingPages().isEmpty)
            if way == .alone { try await expectRoundTrip(account) }
        }
    }

    @Test("a timeline's page is found by the index alone, without sorting")
    func plan() async throws {
        try await withAccount { account in
            let query = "\(MessageStore.timelineQuery)"
            let plan = try await account.session.database.read { transaction in
                try transaction.query("EXPLAIN QUERY PLAN \(query)", 1, 9, "m", 50, 0) {
                    $0.text(3)
                }
            }
            #expect(plan.count == 1, "\(plan)")
            #expect(plan.first?.hasPrefix("SEARCH lk_message USING INDEX lk_message_place") == true)
            #expect(!plan.joined().contains("TEMP B-TREE"))
        }
    }

    private func deliver(
        _ events: [Event],
        _ way: Way,
        _ account: TestAccount
    ) async throws -> OutcomeCounts {
        let shares: [[Event]] =
            switch way {
            case .alone: [events]
            case .repeated: Array(repeating: events, count: 4)
            case .shared:
                (0..<4).map { first in
                    stride(from: first, to: events.count, by: 4).map { events[$0] }
                }
            }
        return try await withThrowingTaskGroup(of: OutcomeCounts.self) { group in
            for (number, share) in shares.enumerated() {
                let store = try await account.process("helper-\(number)")
                group.addTask { try await store.ingest(share, durability: .committed).outcomes }
            }
            var total = OutcomeCounts()
            for try await outcomes in group { total.add(outcomes) }
            return total
        }
    }

    /// The digest that the data's README describes: `conversation TAB seq TAB id TAB version TAB
    /// sha256(body) LF` for each message, by (conversation, seq).
    private func stateDigest(_ account: TestAccount) async throws -> String {
        let rows = try await account.session.database.read { transaction in
            try transaction.query(
                """
                SELECT c.conversation_id, m.seq, m.message_id, m.version, m.body
                FROM lk_message m JOIN lk_conversation c ON c.id = m.conversation
                ORDER BY c.conversation_id, m.seq
                """
            ) { row in (0..<row.count).map { row[$0] } }
        }
        var digest = SHA256()
        for row in rows {
            guard case .text(let body) = row[4] else { continue }
            let fields = [
                row[0].text ?? "", "\(row[1].integer ?? 0)", row[2].text ?? "",
                "\(row[3].integer ?? 0)", SHA256.digest(of: body).hexadecimal,
            ]
            digest.update(Array((fields.joined(separator: "\t") + "\n").utf8))
        }
        return digest.finalize().hexadecimal
    }

    private func expectRoundTrip(_ account: TestAccount) async throws {
        let lines = try await account.messages.exported(includingCursors: true)
        let copy = try await account.another("copy")
        try await copy.importing(lines)
        #expect(try await copy.exported(includingCursors: true) == lines)
    }
}
