import LockkeeperDomain
import LockkeeperSQLite
import Testing

@Suite("Statements keep values byte for byte")
struct StatementTests {
    private let database = TemporaryDatabase()

    @Test("text with NUL, NFD, invalid UTF-8 and nothing in it comes back as it went in")
    func text() throws {
        let connection = try database.open()
        let texts: [[UInt8]] = [
            [], [0], Array("a\0b".utf8), Array("e\u{301}".utf8), Array("é".utf8), [0xff, 0x41],
        ]
        let statement = try connection.prepare("SELECT ?1, typeof(?1), length(CAST(?1 AS BLOB))")
        for bytes in texts {
            try statement.bind(1, text: bytes)
            #expect(try statement.step())
            #expect(statement.bytes(0) == bytes)
            #expect(statement.string(1) == "text")
            #expect(statement.int64(2) == Int64(bytes.count))
            try statement.finish()
        }
        try statement.bind(1, text: [0xff, 0x41])
        #expect(try statement.step())
        #expect(statement.string(0) == "\u{fffd}A", "invalid UTF-8 is replaced and never a crash")
    }

    @Test("every kind of value comes back as itself, empty blobs and texts among them")
    func kinds() throws {
        let connection = try database.open()
        let values: [SQLValue] = [
            nil, 7, 1.5, "text", "", true, .blob([]), .blob([0, 255]), SQLValue(Int64.min),
        ]
        let marks = values.indices.map { "?\($0 + 1)" }.joined(separator: ",")
        let statement = try connection.userStatement("SELECT \(marks)")
        try statement.bind(values)
        #expect(try statement.step())
        #expect(values.indices.map { statement.value($0) } == values)
        statement.reset()
    }

    @Test("too few or too many values are refused, since the rest would be NULL")
    func wrongCount() throws {
        let connection = try database.open()
        let statement = try connection.prepare("SELECT ?1, ?2")
        for values: [SQLValue] in [[], [1], [1, 2, 3]] {
            let error = #expect(throws: SQLiteError.self) { try statement.bind(values) }
            #expect(error?.code == .range)
        }
    }

    @Test("a finished execution forgets its values and holds no snapshot")
    func resets() throws {
        let connection = try database.open()
        let statement = try connection.statement("SELECT ?1")
        try statement.bind(1, "secret")
        #expect(try statement.step())
        #expect(try !statement.step())
        let again = try connection.statement("SELECT ?1")
        #expect(try again.step())
        #expect(again.isNull(0))
        again.reset()
        try database.open().execute("CREATE TABLE t(a)")
        #expect(try connection.checkpoint(.passive).isComplete, "nothing pins the log")
    }

    @Test("the same text inside a loop over its rows gives a statement of its own")
    func nestedUse() throws {
        let connection = try database.open()
        var pairs: [Int64] = []
        let outer = try connection.statement("VALUES (1), (2)")
        while try outer.step() {
            let inner = try connection.statement("VALUES (1), (2)")
            while try inner.step() { pairs.append(outer.int64(0) * 10 + inner.int64(0)) }
        }
        #expect(pairs == [11, 12, 21, 22])
    }

    @Test("canonically equivalent texts are different statements")
    func cacheKeys() throws {
        let connection = try database.open()
        for text in ["e\u{301}", "\u{e9}"] {
            let statement = try connection.userStatement("SELECT '\(text)'")
            #expect(try statement.step())
            #expect(statement.bytes(0) == Array(text.utf8))
            statement.reset()
        }
    }

    @Test("more texts than the cache holds still run, the first one again among them")
    func cacheBound() throws {
        let connection = try database.open()
        for number in (0..<200).map({ $0 }) + [0] {
            let statement = try connection.userStatement("SELECT \(number)")
            #expect(try statement.step())
            #expect(statement.int64(0) == Int64(number))
            statement.reset()
        }
        try connection.close()
    }

    @Test(
        "no statement, two statements and NUL are refused",
        arguments: ["", " -- nothing", "SELECT 1; SELECT 2", "SELECT 1\0; DROP TABLE t"]
    )
    func notOneStatement(sql: String) throws {
        let connection = try database.open()
        let error = #expect(throws: SQLiteError.self) { try connection.prepare(sql) }
        #expect(error?.code == .misuse)
    }

    @Test("white space and comments may follow a statement")
    func trailingComment() throws {
        _ = try database.open().prepare("SELECT 1; -- the answer\n /* or not */ ")
    }

    @Test("an error tells its statement's text and not its values")
    func errors() throws {
        let connection = try database.open()
        try connection.execute("CREATE TABLE t(a UNIQUE)")
        let insert = try connection.statement("INSERT INTO t VALUES (?1)")
        try insert.bind(1, "secret")
        try insert.run()
        try insert.bind(1, "secret")
        let error = #expect(throws: SQLiteError.self) { try insert.run() }
        #expect(error?.code == .constraintUnique)
        #expect(error?.sql == "INSERT INTO t VALUES (?1)")
        #expect(error?.description.contains("secret") == false)
        try insert.bind(1, "other")
        try insert.run()
    }
}
