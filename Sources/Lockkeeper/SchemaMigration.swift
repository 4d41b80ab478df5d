import LockkeeperStorage

/// One numbered step of an app's schema.
///
/// The name is `<yyyymmddhhmm>_<what>`, in lower case. The date makes names sort in the order in which
/// they were written, and lets two branches add migrations without agreeing on a number: which were
/// applied is known by their names, and one that arrives late with a smaller name is applied too.
///
/// With the build plugin EmbedSQL the files `Migrations/*.sql` of a target become
/// `EmbeddedMigrations.all`:
///
/// ```swift
/// Schema(owner: "poll", migrations: EmbeddedMigrations.all.map { SchemaMigration($0.name, sql: $0.sql) })
/// ```
public struct SchemaMigration: Sendable {
    /// The step's name.
    public let name: String
    private let body: Body

    private enum Body: Sendable {
        case sql(String)
        case step(version: Int, @Sendable (borrowing Transaction) throws -> Void)
    }

    /// A step in SQL. It is recorded with a checksum of the text, white space and comments included.
    public init(_ name: String, sql: String) { self.init(name, .sql(sql)) }

    /// A step in Swift, for what SQL cannot say. It must do the same whenever it runs.
    ///
    /// - Parameters:
    ///   - name: its name: `<yyyymmddhhmm>_<what>`, in lower case.
    ///   - version: what stands for the step's text: a step that was applied is not changed, and its
    ///     version neither.
    ///   - step: what it does, in a transaction of its own. It may run more than once; what it did
    ///     before is rolled back then.
    public init(
        _ name: String,
        version: Int,
        step: @escaping @Sendable (borrowing Transaction) throws -> Void
    ) {
        self.init(name, .step(version: version, step))
    }

    private init(_ name: String, _ body: Body) {
        precondition(Self.isNamedWell(name), "'\(name)' is not <yyyymmddhhmm>_<what> in lower case")
        self.name = name
        self.body = body
    }

    func migration(of owner: String) -> Migration {
        switch body {
        case .sql(let text): Migration(owner: owner, name: name, sql: text, isOfApp: true)
        case .step(let version, let step):
            Migration(owner: owner, name: name, version: version, isOfApp: true) { connection in
                let topics = Transaction.TopicCollector(TopicSet())
                try step(Transaction(connection: connection, topics: topics))
            }
        }
    }

    /// The rule of the build plugin.
    private static func isNamedWell(_ name: String) -> Bool {
        let digits = name.utf8.prefix(12)
        let rest = name.utf8.dropFirst(12)
        let isDigit: (UInt8) -> Bool = { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return digits.count == 12 && digits.allSatisfy(isDigit)
            && rest.first == UInt8(ascii: "_") && rest.count > 1
            && rest.allSatisfy {
                isDigit($0) || $0 == UInt8(ascii: "_")
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
            }
    }
}

extension Transaction {
    /// Makes a table anew with other columns or rules, as SQLite's recipe wants it
    /// (sqlite.org/lang_altertable.html, section 7). For steps of a migration only: elsewhere dropping
    /// the old table would delete what refers to it.
    ///
    /// Row ids are kept, and so is the counter of `AUTOINCREMENT`, so that no row id is given twice.
    /// Indexes and triggers are made anew with the texts that they had.
    ///
    /// - Parameters:
    ///   - table: the table's name.
    ///   - definition: what stands behind the name in `CREATE TABLE`: the columns in parentheses, and
    ///     `WITHOUT ROWID` or `STRICT` where wanted.
    ///   - columns: the new table's columns, each with the expression over the old table that fills it.
    /// - Throws: ``LockkeeperError`` with the code `statement` where SQLite refuses a part of it, or
    ///   where a row would be lost.
    public func rebuild(
        _ table: String,
        as definition: String,
        filling columns: KeyValuePairs<String, String>
    ) throws {
        let rebuild = TableRebuild(
            table: table,
            definition: definition,
            columns: columns.map { (name: $0.key, expression: $0.value) }
        )
        try ErrorMapping.statement { try rebuild.run(on: connection) }
    }
}
