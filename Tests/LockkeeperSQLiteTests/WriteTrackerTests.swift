import LockkeeperDomain
import LockkeeperSQLite
import Testing

/// Each case is a schema, rows that stand in it, a statement, and the tables with the rows that the
/// tracker must name: at least what changed (I-7), and here exactly what is expected.
@Suite("The tracker names every table and row that a transaction writes")
struct WriteTrackerTests {
    private let database = TemporaryDatabase()

    struct Case: Sendable, CustomStringConvertible {
        let description: String
        let schema: String
        let sql: String
        let expected: [TableChange]
    }

    private static func rows(_ name: String, _ ranges: ClosedRange<Int64>...) -> TableChange {
        TableChange(name: name, rows: RowRanges(ranges))
    }

    private static func any(_ name: String) -> TableChange { TableChange(name: name, rows: nil) }

    private static let plain = "CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE); "

    static let cases: [Case] = [
        Case(
            description: "inserts with row ids",
            schema: plain,
            sql: "INSERT INTO t(a) VALUES (1), (2), (3); INSERT INTO t(id) VALUES (9)",
            expected: [rows("t", 1...3, 9...9)]
        ),
        Case(
            description: "an insert that meets a conflict and does nothing",
            schema: plain + "INSERT INTO t VALUES (1, 1)",
            sql: "INSERT INTO t VALUES (2, 1) ON CONFLICT DO NOTHING",
            expected: []
        ),
        Case(
            description: "an update of no row",
            schema: plain,
            sql: "UPDATE t SET a = 5",
            expected: []
        ),
        Case(
            description: "a table without row ids",
            schema: "CREATE TABLE w(k PRIMARY KEY, rowid) WITHOUT /* no */ ROWID",
            sql: "INSERT INTO w VALUES (1, 1)",
            expected: [any("w")]
        ),
        Case(
            description: "a statement that changes nothing in a table without row ids",
            schema: "CREATE TABLE w(k PRIMARY KEY) WITHOUT ROWID",
            sql: "DELETE FROM w WHERE k = 1",
            expected: []
        ),
        Case(
            description: "DELETE without WHERE",
            schema: plain + "INSERT INTO t(a) VALUES (1), (2), (3)",
            sql: "DELETE FROM t",
            expected: [rows("t", 1...3)]
        ),
        Case(
            description: "REPLACE, which removes a row in silence",
            schema: plain + "INSERT INTO t VALUES (1, 1)",
            sql: "REPLACE INTO t VALUES (2, 1)",
            expected: [any("t")]
        ),
        Case(
            description: "a constraint that replaces by itself",
            schema: "CREATE TABLE r(a UNIQUE ON CONFLICT REPLACE); INSERT INTO r VALUES (1)",
            sql: "INSERT INTO r VALUES (1)",
            expected: [any("r")]
        ),
        Case(
            description: "a trigger that writes another table",
            schema: plain + """
                CREATE TABLE log(a);
                CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.a); END
                """,
            sql: "INSERT INTO t VALUES (5, 1)",
            expected: [rows("log", 1...1), rows("t", 5...5)]
        ),
        Case(
            description: "a trigger that writes a table without row ids",
            schema: plain + """
                CREATE TABLE w(k PRIMARY KEY) WITHOUT ROWID;
                CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO w VALUES (new.a); END
                """,
            sql: "INSERT INTO t VALUES (5, 1)",
            expected: [rows("t", 5...5), any("w")]
        ),
        Case(
            description: "a trigger that replaces",
            schema: plain + """
                CREATE TABLE latest(k UNIQUE); INSERT INTO latest VALUES (1);
                CREATE TRIGGER g AFTER INSERT ON t BEGIN
                  INSERT OR REPLACE INTO latest VALUES (1); END
                """,
            sql: "INSERT INTO t VALUES (5, 1)",
            expected: [any("latest"), any("t")]
        ),
        Case(
            description: "foreign keys that delete and update what refers to a row",
            schema: plain + """
                CREATE TABLE child(t INTEGER REFERENCES t ON DELETE CASCADE);
                CREATE TABLE other(t INTEGER REFERENCES t ON DELETE SET NULL);
                INSERT INTO t(a) VALUES (1), (2);
                INSERT INTO child VALUES (1), (2), (1); INSERT INTO other VALUES (1)
                """,
            sql: "DELETE FROM t WHERE id = 1",
            expected: [rows("child", 1...1, 3...3), rows("other", 1...1), rows("t", 1...1)]
        ),
        Case(
            description: "an update of the row id, whose old value nobody names",
            schema: plain + "INSERT INTO t VALUES (1, 1)",
            sql: "UPDATE t SET id = 7",
            expected: [any("t")]
        ),
        Case(
            description: "full-text search, whose shadow tables are folded into it",
            schema: "CREATE VIRTUAL TABLE f USING fts5(body)",
            sql: "INSERT INTO f VALUES ('text')",
            expected: [any("f")]
        ),
        Case(
            description: "bookkeeping and temporary tables, which are nobody's news",
            schema: "CREATE TABLE lk_commit(a)",
            sql:
                "CREATE TEMP TABLE x(a); INSERT INTO x VALUES (1); INSERT INTO lk_commit VALUES (1)",
            expected: []
        ),
        Case(
            description: "a table that is made, filled and dropped",
            schema: plain,
            sql: "CREATE TABLE n(a); INSERT INTO n VALUES (1); DROP TABLE t",
            expected: [any("n"), any("t")]
        ),
        Case(
            description: "a table that becomes one without row ids under a prepared statement",
            schema: plain,
            sql: """
                INSERT INTO t VALUES (1, 1); DROP TABLE t;
                CREATE TABLE t(id PRIMARY KEY, a) WITHOUT ROWID; INSERT INTO t VALUES (1, 1)
                """,
            expected: [any("t")]
        ),
    ]

    private func open() throws -> Connection {
        let tracker = WriteTracker(isBookkeeping: { $0 == "lk_commit" })
        let connection = try database.open(tracker: tracker)
        try connection.enable(.foreignKeys)
        return connection
    }

    @Test("what is written is named", arguments: cases)
    func table(_ example: Case) throws {
        let connection = try open()
        try connection.execute(example.schema)
        _ = connection.takeChanges()
        try connection.withTransaction(.immediate) { connection in
            try connection.execute(example.sql)
            #expect(connection.takeChanges() == example.expected)
        }
        try connection.begin(.immediate)
        #expect(connection.takeChanges() == [], "nothing is told twice")
        connection.rollBack()
    }

    @Test("what is written through the same prepared statements is named each time")
    func again() throws {
        let connection = try open()
        try connection.execute(Self.plain + "CREATE TABLE w(k PRIMARY KEY) WITHOUT ROWID")
        for number in 1...3 as ClosedRange<Int64> {
            _ = connection.takeChanges()
            let insert = try connection.statement("INSERT INTO t VALUES (?1, ?1)")
            try insert.bind(1, number)
            try insert.run()
            let other = try connection.statement("INSERT INTO w VALUES (?1)")
            try other.bind(1, number)
            try other.run()
            #expect(connection.takeChanges() == [Self.rows("t", number...number), Self.any("w")])
        }
    }

    @Test("a table changed by another connection under a prepared statement is looked at anew")
    func schemaChangedElsewhere() throws {
        let connection = try open()
        try connection.execute("CREATE TABLE t(a PRIMARY KEY)")
        let insert = try connection.statement("INSERT INTO t VALUES (?1)")
        try insert.bind(1, 1)
        try insert.run()
        _ = connection.takeChanges()
        try database.open().execute(
            "DROP TABLE t; CREATE TABLE t(a PRIMARY KEY) WITHOUT ROWID"
        )
        try insert.bind(1, 2)
        try insert.run()
        #expect(connection.takeChanges() == [Self.any("t")])
    }

    @Test("a statement that gives the rows it writes counts although nobody reads on")
    func returning() throws {
        let connection = try open()
        try connection.execute("CREATE TABLE w(k PRIMARY KEY) WITHOUT ROWID")
        _ = connection.takeChanges()
        try connection.withTransaction(.immediate) { connection in
            let insert = try connection.statement("INSERT INTO w VALUES (1), (2) RETURNING k")
            #expect(try insert.step())
            #expect(connection.takeChanges() == [Self.any("w")])
        }
    }

    @Test("tables whose names are canonically equivalent are two tables, as they are for SQLite")
    func equivalentNames() throws {
        let connection = try open()
        let names = ["e\u{301}", "\u{e9}"]
        for name in names { try connection.execute("CREATE TABLE \"\(name)\"(a)") }
        _ = connection.takeChanges()
        for name in names { try connection.execute("INSERT INTO \"\(name)\" VALUES (1)") }
        #expect(
            connection.takeChanges().map { Array($0.name.utf8) } == names.map { Array($0.utf8) }
        )
    }

    @Test("what was rolled back is forgotten")
    func rolledBack() throws {
        struct Stop: Error {}
        let connection = try open()
        try connection.execute(Self.plain)
        _ = connection.takeChanges()
        #expect(throws: Stop.self) {
            try connection.withTransaction(.immediate) { connection in
                try connection.execute("INSERT INTO t VALUES (1, 1)")
                throw Stop()
            }
        }
        #expect(connection.takeChanges() == [])
    }

    @Test("dropping a table drops it, although deletes are made to go row by row")
    func dropWorks() throws {
        let connection = try open()
        try connection.execute(Self.plain + "CREATE VIEW v AS SELECT 1; CREATE INDEX i ON t(a)")
        try connection.execute("DROP VIEW v; DROP INDEX i; DROP TABLE t")
        #expect(try connection.value("SELECT count(*) FROM sqlite_schema")?.integer == 0)
        try connection.execute("CREATE VIRTUAL TABLE f USING fts5(body); DROP TABLE f")
        #expect(try connection.value("SELECT count(*) FROM sqlite_schema")?.integer == 0)
    }
}
