import Lockkeeper
import LockkeeperSQLite

extension Backlog {
    /// What the outbox and the effects hold, in a transaction that is open on a connection.
    ///
    /// - Throws: ``SQLiteError`` where the tables cannot be read.
    static func all(_ connection: Connection) throws -> [Backlog] {
        [
            // By the index of what has not ended: the table also remembers what was sent.
            try reading(
                "outbox",
                "SELECT phase, count(*) FROM lk_outbox WHERE phase < 4 GROUP BY phase",
                connection
            ),
            try reading(
                "effects",
                "SELECT phase, count(*) FROM lk_effect GROUP BY phase",
                connection
            ),
        ]
    }

    private static func reading(
        _ name: String,
        _ sql: StaticString,
        _ connection: Connection
    ) throws -> Backlog {
        let select = try connection.statement(sql)
        var counts: [Int64: Int] = [:]
        while try select.step() { counts[select.int64(0)] = Int(select.int64(1)) }
        return Backlog(
            name: name,
            waiting: counts[0] ?? 0,
            underway: counts[1] ?? 0,
            unanswered: counts[2] ?? 0,
            parked: counts[3] ?? 0
        )
    }
}
