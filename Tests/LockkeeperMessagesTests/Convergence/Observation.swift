import LockkeeperSQLite

@testable import LockkeeperMessages

/// What can be seen of a store: the export with its cursors, byte for byte, what the list of
/// conversations shows, what was put aside, and what the inspection finds, which is nothing.
struct Observation: Hashable, CustomStringConvertible {
    let export: [UInt8]
    let conversations: [String]
    let quarantine: [String]
    let findings: [String]
    /// What each of some needles is found in.
    let found: [String]

    var description: String {
        ([String(decoding: export, as: UTF8.self)] + conversations + quarantine + found + findings)
            .joined(separator: "\n")
    }

    /// Looks on a connection that is inside a transaction.
    init(_ connection: Connection, _ rules: MergeRules) throws {
        let chunks = Collector<[UInt8]>()
        var export = MessageExport(
            connection: connection,
            authority: rules.authority,
            now: 0,
            write: chunks.append
        )
        try export.run(includingCursors: true)
        self.export = Array(chunks.values.joined())
        conversations = try Self.rows(
            of: """
                SELECT c.conversation_id, c.read_seq, c.unread, c.unread_mentions, c.top_seq,
                    m.message_id, c.last_place, c.last_at
                FROM lk_conversation c LEFT JOIN lk_message m ON m.id = c.last_message
                ORDER BY c.conversation_id
                """,
            connection
        )
        quarantine = try Self.rows(
            // A conflict at a version that another one overtook is only seen where it came before.
            of: """
                SELECT reason, CAST(content AS TEXT) FROM lk_quarantine WHERE reason <> 'conflict'
                ORDER BY reason, content
                """,
            connection
        )
        findings = try MessageInspection.findings(connection, ownID: rules.ownID)
        found = try EventPool.bodies.map { body in
            var run = SearchRun(SearchQuery(body), after: nil, limit: 99, now: 0, on: connection)
            return try run.run().map { "\(body): \($0.conversation) \($0.message)" }.joined()
        }
    }

    private static func rows(of query: String, _ connection: Connection) throws -> [String] {
        var rows: [String] = []
        let select = try connection.prepare(query)
        while try select.step() {
            rows.append(
                (0..<select.columnCount).map { "\(select.value($0))" }.joined(separator: " ")
            )
        }
        return rows
    }
}
