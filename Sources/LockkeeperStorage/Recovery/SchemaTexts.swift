import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite

/// The objects of a schema as their statements, to be made in another file: tables and unique indexes
/// before there are rows, everything else behind them.
///
/// Virtual tables are left out, with those that hold what is in them: they follow from others.
struct SchemaTexts {
    struct Object {
        let name: String
        let sql: String
    }

    /// Tables with rows of their own.
    private(set) var tables: [Object]
    private var uniqueIndexes: [Object]
    private var rest: [Object]
    /// The steps that made it, and whose its tables are: rows that go with it.
    private var steps: [[SQLValue]]
    private var owners: [[SQLValue]]
    /// Whether both could be read.
    let hasSteps: Bool

    /// The schema that a program's migrations make.
    init(applying migrator: Migrator) throws {
        let connection = try Self.scratch()
        try migrator.apply(to: connection, at: 0)
        guard let schema = try SchemaTexts(reading: connection) else {
            preconditionFailure("a schema that was made just now can be read")
        }
        self = schema
        try connection.close()
    }

    /// The schema of a file; `nil` where not all of it can be read. Where its steps alone cannot,
    /// ``hasSteps`` says so.
    init?(reading connection: Connection) throws(SQLiteError) {
        var found: [(type: String, name: String, table: String, root: Int64, sql: String?)] = []
        do throws(SQLiteError) {
            let select = try connection.prepare(
                "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema"
            )
            while try select.step() {
                found.append(
                    (
                        select.string(0), select.string(1), select.string(2), select.int64(3),
                        select.isNull(4) ? nil : select.string(4)
                    )
                )
            }
        } catch {
            guard error.isOfUnreadablePage else { throw error }
            return nil
        }
        let virtual = found.filter { $0.type == "table" && $0.root == 0 }.map(\.name)
        let isLeftOut = { (name: String) in
            name.hasPrefix("sqlite_") || virtual.contains(name)
                || virtual.contains { table in
                    Self.shadowSuffixes.contains { name == "\(table)_\($0)" }
                }
        }
        let known = found.compactMap { object -> (String, Object)? in
            guard let sql = object.sql, !isLeftOut(object.name), !isLeftOut(object.table)
            else { return nil }
            return (object.type, Object(name: object.name, sql: sql))
        }
        let isUnique = { (sql: String) in sql.uppercased().hasPrefix("CREATE UNIQUE") }
        tables = known.filter { $0.0 == "table" }.map(\.1)
        uniqueIndexes = known.filter { $0.0 == "index" && isUnique($0.1.sql) }.map(\.1)
        rest = ["index", "view", "trigger"].flatMap { type in
            known.filter { $0.0 == type && !(type == "index" && isUnique($0.1.sql)) }.map(\.1)
        }
        if tables.isEmpty { return nil }
        let steps = try? Self.rows(of: connection, "lk_migration")
        let owners = try? Self.rows(of: connection, "lk_owned")
        hasSteps = steps != nil && owners != nil
        self.steps = steps ?? []
        self.owners = owners ?? []
    }

    /// This schema, and what another one has besides.
    func adding(_ other: SchemaTexts?) -> SchemaTexts {
        guard let other else { return self }
        var sum = self
        let names = Set((tables + uniqueIndexes + rest).map(\.name))
        sum.tables += other.tables.filter { !names.contains($0.name) }
        sum.uniqueIndexes += other.uniqueIndexes.filter { !names.contains($0.name) }
        sum.rest += other.rest.filter { !names.contains($0.name) }
        sum.owners += other.owners.filter { !sum.owners.contains($0) }
        // Its steps of owners that this one does not know: their tables come with it.
        let known = Set(steps.compactMap(\.first))
        sum.steps += other.steps.filter { row in
            guard row.count > 1, case .text(let owner) = row[0], case .text(let name) = row[1]
            else { return false }
            return !known.contains(row[0])
                && [owner, name].allSatisfy { Migrator.isName(String(decoding: $0, as: UTF8.self)) }
        }
        return sum
    }

    /// Whether a program's steps that are not among those of this schema can be applied to it.
    func takes(_ migrator: Migrator) throws -> Bool {
        let connection = try Self.scratch()
        defer { try? connection.close() }
        do {
            try makeTables(in: connection)
            try makeRest(in: connection)
            try migrator.apply(to: connection, at: 0)
            return true
        } catch StorageError.newerSchema(let owner, let name) {
            throw StorageError.newerSchema(owner: owner, name: name)
        } catch {
            // Nothing but the schema itself can fail in memory.
            return false
        }
    }

    private static func scratch() throws(SQLiteError) -> Connection {
        try Connection(
            path: ":memory:",
            mode: .readWrite,
            clock: SystemClock(),
            busyDeadline: .never,
            jitterSeed: 0
        )
    }

    /// Makes the tables.
    func makeTables(in connection: Connection) throws(SQLiteError) {
        try connection.begin(.immediate)
        for object in tables + uniqueIndexes { try connection.execute(object.sql) }
        for (table, rows) in [("lk_migration", steps), ("lk_owned", owners)] {
            for row in rows {
                let parameters = row.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
                // Of a damaged list a row may be there twice, or be none.
                let insert = try connection.prepare(
                    "INSERT OR IGNORE INTO \(table) VALUES (\(parameters))"
                )
                try insert.bind(row)
                try insert.run()
            }
        }
        try connection.commit()
    }

    /// Makes what stands upon the rows.
    func makeRest(in connection: Connection) throws(SQLiteError) {
        try connection.begin(.immediate)
        for object in rest { try connection.execute(object.sql) }
        try connection.commit()
    }

    private static func rows(
        of connection: Connection,
        _ table: String
    ) throws(SQLiteError) -> [[SQLValue]] {
        let select = try connection.prepare("SELECT * FROM \(table)")
        var rows: [[SQLValue]] = []
        while try select.step() { rows.append((0..<select.columnCount).map { select.value($0) }) }
        return rows
    }

    /// The tables that SQLite's own kinds of virtual tables keep beside themselves.
    private static let shadowSuffixes = [
        "data", "idx", "content", "docsize", "config", "segments", "segdir", "stat", "node",
        "parent", "rowid",
    ]
}
