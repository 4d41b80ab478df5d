import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import Testing

/// Looks through every column of every table of messages.
func expectNowhere(_ text: String, _ account: TestAccount) async throws {
    let found = try await account.session.database.read { transaction in
        let columns = try transaction.query(
            """
            SELECT m.name, p.name FROM sqlite_schema m, pragma_table_xinfo(m.name) p
            WHERE m.type = 'table' AND m.name LIKE 'lk\\_%' ESCAPE '\\'
            """
        ) { ($0.text(0), $0.text(1)) }
        return try columns.filter { table, column in
            try !transaction.query(
                "SELECT 1 FROM \(table) WHERE instr(CAST(\(column) AS BLOB), CAST(?1 AS BLOB))",
                SQLValue(text)
            ) { $0.integer(0) }.isEmpty
        }.map { "\($0).\($1)" }
    }
    #expect(found == [])
}
