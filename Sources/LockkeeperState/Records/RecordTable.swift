public import Lockkeeper
public import LockkeeperDomain
import LockkeeperSQLite

/// What saving does where a record of the same key is there. It is chosen with each save, because none
/// is right for everything: two processes that save the same key are no mistake.
public enum ConflictRule: Sendable, Hashable {
    /// Fails with `exists`.
    case refuse
    /// The one that is there stays.
    case keep
    /// The new one stands, in all columns.
    case replace
    /// The new one stands where it is larger in this column: a version, an instant. With an equal one
    /// the old one stays, so that the column must tell writers apart where both may happen.
    case newest(by: String)
}

/// A table of the app's whose rows are `Codable` values, by the names of columns.
///
///     struct Vote: Codable { var poll: String; var voter: String; var choice: Int; var at: Int64 }
///     let votes = RecordTable<Vote>("vote", key: ["poll", "voter"])
///     try await alice.database.write { transaction in
///         try votes.save(vote, onConflict: .newest(by: "at"), in: transaction)
///     }
///
/// It makes no table: that is the app's migration's, and the key's columns are its PRIMARY KEY, or UNIQUE
/// and NOT NULL. Properties without a column, and columns without a property, are errors of the
/// statement or left as their default. Texts, whole and floating-point numbers and bytes are stored as
/// SQLite's own; `Bool` as 0 and 1, ``DateValue`` as milliseconds, anything nested as the bytes of a
/// ``PropertyValue``; nil as NULL.
///
/// What is read are values: they cross tasks and processes, and nothing changes in them. Identities are
/// the key's, and permanent: saving never changes a key. What another process saved is read anew, or
/// followed with `observe`.
public struct RecordTable<Row: Codable & Sendable>: Sendable {
    private let name: String
    private let key: [String]

    /// A table of a name, with the columns by which its rows are known and ordered.
    public init(_ name: String, key: [String]) {
        precondition(!key.isEmpty, "a record is known by at least one column")
        self.name = name
        self.key = key
    }

    /// Saves a record.
    ///
    /// - Returns: whether a row was added or changed.
    /// - Throws: ``LockkeeperError``: `exists` under ``ConflictRule/refuse``; `statement` where SQLite
    ///   refuses it. `EncodingError` where the value is no row.
    @discardableResult
    public func save(
        _ row: Row,
        onConflict rule: ConflictRule,
        in transaction: borrowing Transaction
    ) throws -> Bool {
        let columns = try columns(of: row)
        let names = columns.map(\.name)
        let marks = (1...names.count).map { "?\($0)" }.joined(separator: ", ")
        try transaction.run(
            "INSERT INTO \(quoted(name)) (\(list(names))) VALUES (\(marks)) "
                + conflictClause(rule, names.filter { !key.contains($0) }),
            columns.map(\.value)
        )
        let isChanged = transaction.changes > 0
        if rule == .refuse, !isChanged {
            throw LockkeeperError(
                .exists,
                subject: "table \(name)",
                explanation: "there is a record of this key",
                answer: .fixProgram,
                remedy: "Choose the rule that says what becomes of it, or another key."
            )
        }
        return isChanged
    }

    /// The record of a key; `nil` where there is none.
    public func record(_ key: SQLValue..., in transaction: borrowing ReadTransaction) throws -> Row?
    {
        try transaction.rows(selection(recordOf: key), key).first.map(row)
    }

    /// The same within a write transaction.
    public func record(_ key: SQLValue..., in transaction: borrowing Transaction) throws -> Row? {
        try transaction.rows(selection(recordOf: key), key).first.map(row)
    }

    /// A page of records in the order of their keys, by where the last one ended and not by counting, so
    /// that what others save meanwhile neither repeats nor hides a record.
    ///
    /// - Parameters:
    ///   - after: the key of the last record before the page (``key(of:)``); `nil` for the first page.
    ///   - limit: the most records.
    ///   - transaction: the transaction that it is read in.
    public func page(
        after: [SQLValue]? = nil,
        limit: Int,
        in transaction: borrowing ReadTransaction
    ) throws -> [Row] {
        try transaction.rows(selection(after), (after ?? []) + [SQLValue(limit)]).map(row)
    }

    /// The same within a write transaction.
    public func page(
        after: [SQLValue]? = nil,
        limit: Int,
        in transaction: borrowing Transaction
    ) throws -> [Row] {
        try transaction.rows(selection(after), (after ?? []) + [SQLValue(limit)]).map(row)
    }

    /// Removes the record of a key.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    public func delete(_ key: SQLValue..., in transaction: borrowing Transaction) throws -> Bool {
        precondition(key.count == self.key.count, "a key has \(self.key.count) columns")
        try transaction.run("DELETE FROM \(quoted(name)) WHERE \(condition("="))", key)
        return transaction.changes > 0
    }

    /// The values of a record's key, in the order of the key's columns.
    ///
    /// - Throws: `EncodingError` where the value has none for one of them.
    public func key(of row: Row) throws -> [SQLValue] {
        let columns = try columns(of: row)
        return try key.map { name in
            guard let column = columns.first(where: { $0.name == name }), column.value != .null
            else {
                throw EncodingError.invalidValue(
                    name,
                    EncodingError.Context(
                        codingPath: [],
                        debugDescription: "a record has a value in each column of its key"
                    )
                )
            }
            return column.value
        }
    }

    // MARK: - Statements

    /// The columns are looked up each time: another process may have migrated the table.
    private func selection(recordOf key: [SQLValue]) -> String {
        precondition(key.count == self.key.count, "a key has \(self.key.count) columns")
        return "SELECT * FROM \(quoted(name)) WHERE \(condition("="))"
    }

    private func selection(_ after: [SQLValue]?) -> String {
        precondition(after == nil || after?.count == key.count, "a key has \(key.count) columns")
        let start = after == nil ? "" : "WHERE \(condition(">")) "
        return "SELECT * FROM \(quoted(name)) \(start)ORDER BY \(list(key))"
            + " LIMIT ?\(after == nil ? 1 : key.count + 1)"
    }

    private func condition(_ comparison: String) -> String {
        let marks = (1...key.count).map { "?\($0)" }.joined(separator: ", ")
        return "(\(list(key))) \(comparison) (\(marks))"
    }

    private func conflictClause(_ rule: ConflictRule, _ others: [String]) -> String {
        let target = "ON CONFLICT (\(list(key)))"
        let newer: String
        switch rule {
        case .refuse, .keep: return "\(target) DO NOTHING"
        // A row that says the same already is not written again, and no range tells of it.
        case .replace:
            newer = others.map { "\(quoted(name)).\(quoted($0)) IS NOT excluded.\(quoted($0))" }
                .joined(separator: " OR ")
        case .newest(let column):
            newer = "excluded.\(quoted(column)) > \(quoted(name)).\(quoted(column))"
        }
        guard !others.isEmpty else { return "\(target) DO NOTHING" }
        let assignments = others.map { "\(quoted($0)) = excluded.\(quoted($0))" }
        return "\(target) DO UPDATE SET \(assignments.joined(separator: ", ")) WHERE \(newer)"
    }

    private func list(_ names: [String]) -> String { names.map(quoted).joined(separator: ", ") }

    /// A name in a statement, whatever it holds.
    private func quoted(_ name: String) -> String {
        "\"" + name.replacing("\"", with: "\"\"") + "\""
    }

    // MARK: - Rows

    private func columns(of row: Row) throws -> [(name: String, value: SQLValue)] {
        let encoded = try PropertyValueEncoder(keepsNil: true).encodeMembers(row)
        guard !encoded.isEmpty else {
            throw EncodingError.invalidValue(
                row,
                EncodingError.Context(codingPath: [], debugDescription: "a record has columns")
            )
        }
        return try encoded.map { ($0.key, try SQLValue(column: $0.value)) }
    }

    private func row(_ columns: [String: PropertyValue]) throws -> Row {
        do {
            return try PropertyValueDecoder(readsColumns: true)
                .decode(Row.self, from: .dictionary(columns))
        } catch let error as DecodingError {
            throw LockkeeperError(
                .wrongType,
                subject: "table \(name)",
                explanation: "a row is no \(Row.self)",
                answer: .fixProgram,
                remedy: "Make the type say what the table's columns hold.",
                cause: error
            )
        }
    }
}

extension Transaction {
    fileprivate func run(_ sql: String, _ values: [SQLValue]) throws {
        try statement(sql) { statement in
            try statement.bind(values)
            try statement.run()
        }
    }

    fileprivate func rows(
        _ sql: String,
        _ values: [SQLValue]
    ) throws -> [[String: PropertyValue]] {
        try statement(sql) { try $0.members(values) }
    }
}

extension ReadTransaction {
    fileprivate func rows(
        _ sql: String,
        _ values: [SQLValue]
    ) throws -> [[String: PropertyValue]] {
        try statement(sql) { try $0.members(values) }
    }
}

extension Statement {
    /// Runs a query, and gives each row by the names of its columns, without those that are NULL.
    fileprivate func members(_ values: [SQLValue]) throws -> [[String: PropertyValue]] {
        defer { reset() }
        try bind(values)
        var rows: [[String: PropertyValue]] = []
        while try step() {
            var row: [String: PropertyValue] = [:]
            for column in 0..<columnCount {
                switch value(column) {
                case .null: continue
                case .integer(let number): row[columnName(column)] = .integer(number)
                case .real(let number): row[columnName(column)] = .real(number)
                case .text(let bytes):
                    row[columnName(column)] = .string(String(decoding: bytes, as: UTF8.self))
                case .blob(let bytes): row[columnName(column)] = .data(DataValue(bytes))
                }
            }
            rows.append(row)
        }
        return rows
    }
}

extension SQLValue {
    /// A member of an encoded record as a column's value.
    fileprivate init(column value: PropertyValue?) throws {
        switch value {
        case nil: self = .null
        case .string(let text): self.init(text)
        case .integer(let number): self.init(number)
        case .real(let number): self.init(number)
        case .bool(let flag): self.init(flag)
        case .date(let date): self.init(date.millisecondsSince1970)
        case .data(let data): self = .blob(data.bytes)
        case .array, .dictionary:
            self = .blob(try PropertyValueCodec.encode(value ?? .array([])))
        }
    }
}
