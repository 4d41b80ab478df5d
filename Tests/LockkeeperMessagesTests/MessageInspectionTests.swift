import Lockkeeper
import LockkeeperDomain
import LockkeeperSQLite
import Testing

@testable import LockkeeperMessages

/// The inspection is what every other test ends in: it must be able to fail (I-16).
@Suite("What the inspection finds in the tables of messages")
struct MessageInspectionTests {
    private struct RolledBack: Error {}

    private static let spoiled: [(sql: String, code: String)] = [
        ("UPDATE lk_conversation SET unread = unread + 1", "unread-counter"),
        ("UPDATE lk_conversation SET unread_mentions = 7", "unread-counter"),
        ("UPDATE lk_message SET counts = 0 WHERE message_id = 'm3'", "unread-counter"),
        ("UPDATE lk_conversation SET last_message = (SELECT min(id) FROM lk_message)", "summary"),
        ("UPDATE lk_conversation SET top_seq = 0", "summary"),
        ("UPDATE lk_conversation SET last_preview = 'tex'", "preview"),
        ("UPDATE lk_conversation SET last_is_cut = 1", "preview"),
        ("UPDATE lk_message SET body = 'other' WHERE message_id = 'm3'", "preview"),
        ("UPDATE lk_cursor SET value = 'elsewhere'", "cursor"),
        ("UPDATE lk_conversation SET clear_seq = 2", "cleared-content"),
        (
            """
            INSERT INTO lk_reaction (message, person, slot, version, removed, emoji)
            SELECT id, 'p', 's', 1, 0, 'e' FROM lk_message WHERE state > 1
            """, "recalled-content"
        ),
        (
            "INSERT INTO lk_history (conversation, from_seq, to_seq) SELECT id, 2, 3 FROM lk_conversation",
            "history"
        ),
    ]

    @Test("each thing that the merge promises is missed when it is spoiled")
    func spoiledTables() async throws {
        try await withAccount { account in
            let store = account.messages
            try await store.ingest(
                [
                    read(upTo: 1), message("m1", seq: 1), message("m2", seq: 2),
                    message("m3", seq: 3), recall("m2"), history(1...1),
                ],
                closing: page(nil, "k1")
            )
            let found = Collector<[String]>()
            do {
                _ = try await store.session.database.submit(durability: .committed, waitMax: nil) {
                    connection,
                    _ in
                    found.append(try MessageInspection.findings(connection, ownID: nil))
                    for (sql, _) in Self.spoiled {
                        try connection.withPolicy(.open) { try $0.execute("SAVEPOINT sound") }
                        try connection.withPolicy(.open) { try $0.execute(sql) }
                        found.append(try MessageInspection.findings(connection, ownID: nil))
                        try connection.withPolicy(.open) { try $0.execute("ROLLBACK TO sound") }
                    }
                    throw RolledBack()
                }
            } catch is RolledBack {}
            let findings = found.values
            #expect(findings.first == [])
            for (finding, (sql, code)) in zip(findings.dropFirst(), Self.spoiled) {
                #expect(finding.contains { $0.hasPrefix(code) }, "\(sql): \(finding)")
            }
            #expect(findings.count == Self.spoiled.count + 1)
        }
    }
}
