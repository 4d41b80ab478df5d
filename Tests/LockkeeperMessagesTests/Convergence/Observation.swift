import LockkeeperSQLite

@testable import LockkeeperMessages

/// What can be seen of a store: the export with its cursors, byte for byte, and what the list of
/// conversations shows.
struct Observation: Hashable, CustomStringConvertible {
    let export: [UInt8]
    let conversations: [String]

    var description: String {
        String(decoding: export, as: UTF8.self) + conversations.joined(separator: "\n")
    }

    /// Looks on a connection that is inside a transaction.
    init(_ connection: Connection, _ rules: MergeRules) throws {
        let chunks = Collector<[UInt8]>()
        var export = MessageExport(
            connection: connection,
            authorDecides: rules.authorDecides,
            write: chunks.append
        )
        try export.run(includingCursors: true)
        self.export = Array(chunks.values.joined())
        var rows: [String] = []
        let select = try connection.prepare(
            """
            SELECT c.conversation_id, c.read_seq, c.unread, c.unread_mentions, m.message_id,
                c.last_place, c.last_at
            FROM lk_conversation c LEFT JOIN lk_message m ON m.id = c.last_message
            ORDER BY c.conversation_id
            """
        )
        while try select.step() {
            rows.append(
                (0..<select.columnCount).map { "\(select.value($0))" }.joined(separator: " ")
            )
        }
        conversations = rows
    }
}
