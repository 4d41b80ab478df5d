public import LockkeeperDomain
package import LockkeeperSQLite
package import LockkeeperStorage

/// A write transaction, borrowed by the closure that runs inside it.
///
/// It cannot be copied or kept: nothing can be awaited inside it, and it ends with the closure. The
/// fencing token was compared with the store's fence before the closure began (I-2).
public struct Transaction: ~Copyable {
    package let connection: Connection
    package let topics: TopicCollector

    /// Collects topics for a transaction whose storage wants them at its end.
    package final class TopicCollector {
        package var topics: TopicSet

        package init(_ topics: TopicSet) { self.topics = topics }
    }

    package init(connection: Connection, topics: TopicCollector) {
        self.connection = connection
        self.topics = topics
    }

    /// Runs one statement. Values are bound, never spliced into the text.
    ///
    /// - Throws: ``LockkeeperError`` with the code `statement` where SQLite refuses it. Transaction
    ///   control, ATTACH and pragmas that change modes are refused.
    public func execute(
        _ sql: String,
        _ values: SQLValue...,
        file: StaticString = #fileID,
        line: Int = #line
    ) throws {
        try ErrorMapping.statement { try connection.run(sql, values, file, line) }
    }

    /// Reads rows. Each row is handed to the closure in turn.
    ///
    /// - Throws: ``LockkeeperError`` with the code `statement` where SQLite refuses it, and what the
    ///   closure throws.
    public func query<Row>(
        _ sql: String,
        _ values: SQLValue...,
        file: StaticString = #fileID,
        line: Int = #line,
        row: (borrowing SQLRow) throws -> Row
    ) throws -> [Row] {
        try ErrorMapping.statement { try connection.rows(sql, values, file, line, row) }
    }

    /// A statement for the products, with the errors of the app's own.
    package func statement<Value>(
        _ sql: String,
        file: StaticString = #fileID,
        line: Int = #line,
        _ body: (Statement) throws -> Value
    ) throws -> Value {
        try ErrorMapping.statement {
            try body(try connection.userStatement(sql, file: file, line: line))
        }
    }

    /// The rows that the last INSERT, UPDATE or DELETE changed.
    public var changes: Int { connection.changes }

    /// Names a topic that the range of this commit will carry, a conversation for example.
    public func touch(topic: [UInt8]) { topics.topics.insert(topic) }
}

/// A read transaction, borrowed by the closure that runs inside it: one consistent snapshot.
public struct ReadTransaction: ~Copyable {
    package let connection: Connection

    package init(connection: Connection) { self.connection = connection }

    /// A statement for the products, with the errors of the app's own.
    package func statement<Value>(
        _ sql: String,
        file: StaticString = #fileID,
        line: Int = #line,
        _ body: (Statement) throws -> Value
    ) throws -> Value {
        try ErrorMapping.statement {
            try body(try connection.userStatement(sql, file: file, line: line))
        }
    }

    /// Reads rows. Each row is handed to the closure in turn.
    ///
    /// - Throws: ``LockkeeperError`` with the code `statement` where SQLite refuses it, and what the
    ///   closure throws.
    public func query<Row>(
        _ sql: String,
        _ values: SQLValue...,
        file: StaticString = #fileID,
        line: Int = #line,
        row: (borrowing SQLRow) throws -> Row
    ) throws -> [Row] {
        try ErrorMapping.statement { try connection.rows(sql, values, file, line, row) }
    }
}

/// One row that a query gives, valid while its closure runs. Columns count from 0.
public struct SQLRow: ~Copyable {
    private let statement: Statement

    init(_ statement: Statement) { self.statement = statement }

    /// How many columns there are.
    public var count: Int { statement.columnCount }

    /// A column's value.
    public subscript(column: Int) -> SQLValue {
        precondition(column >= 0 && column < count, "the row has \(count) columns")
        return statement.value(column)
    }

    /// A column as an integer: 0 where it is none.
    public func integer(_ column: Int) -> Int64 { statement.int64(column) }

    /// A column as text; bytes that are not UTF-8 become replacement characters.
    public func text(_ column: Int) -> String { statement.string(column) }
}

extension Connection {
    /// Runs a statement of the app's.
    fileprivate func run(
        _ sql: String,
        _ values: [SQLValue],
        _ file: StaticString,
        _ line: Int
    ) throws {
        let statement = try userStatement(sql, file: file, line: line)
        try statement.bind(values)
        try statement.run()
    }

    /// Collects what a query of the app's gives. The statement is reset however this ends, so that a
    /// row closure that throws pins no snapshot.
    fileprivate func rows<Row>(
        _ sql: String,
        _ values: [SQLValue],
        _ file: StaticString,
        _ line: Int,
        _ row: (borrowing SQLRow) throws -> Row
    ) throws -> [Row] {
        let statement = try userStatement(sql, file: file, line: line)
        defer { statement.reset() }
        try statement.bind(values)
        var rows: [Row] = []
        while try statement.step() { rows.append(try row(SQLRow(statement))) }
        return rows
    }
}
