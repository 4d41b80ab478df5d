import LockkeeperSQLite
import LockkeeperStorage

/// What an app says of its own tables for the case that their file is damaged.
///
/// ```swift
/// Schema(
///     owner: "poll",
///     migrations: migrations,
///     recovery: SchemaRecovery(
///         classes: ["poll": .refetched, "poll_count": .derived],
///         resync: { try $0.execute("DELETE FROM poll_cursor") },
///         rebuild: { try $0.execute("INSERT INTO poll_count SELECT poll, count(*) FROM vote GROUP BY 1") }
///     )
/// )
/// ```
public struct SchemaRecovery: Sendable {
    /// What a table's rows are worth.
    public enum TableClass: Sendable, Hashable {
        /// Nobody can give them back: they are saved first, and compared. Tables that are not named.
        case irreplaceable
        /// The server gives them again.
        case refetched
        /// They follow from others, and are made anew.
        case derived
    }

    /// What is done in the new file.
    public typealias Act = @Sendable (borrowing Transaction) throws -> Void

    private let classes: [String: TableClass]
    private let resync: Act
    private let rebuild: Act

    /// What an app says; by default that nobody can give anything back.
    ///
    /// - Parameters:
    ///   - classes: by table.
    ///   - resync: makes what was lost come again, by taking cursors away for example. Called in the new
    ///     file before anybody sees it, where something was lost, or may have been.
    ///   - rebuild: makes what is derived anew. Called last, whatever was lost. Virtual tables are not
    ///     there any more then.
    public init(
        classes: [String: TableClass] = [:],
        resync: @escaping Act = { _ in },
        rebuild: @escaping Act = { _ in }
    ) {
        self.classes = classes
        self.resync = resync
        self.rebuild = rebuild
    }

    func plan(of owner: String) -> SalvagePlan {
        SalvagePlan(
            classes: classes.mapValues { tableClass in
                switch tableClass {
                case .irreplaceable: .irreplaceable
                case .refetched: .refetched
                case .derived: .derived
                }
            },
            setBack: { [resync] connection in
                try Self.run(resync, connection)
                return ["what '\(owner)' fetches is fetched again"]
            },
            derive: { [rebuild] _, connection in try Self.run(rebuild, connection) }
        )
    }

    private static func run(_ act: Act, _ connection: Connection) throws {
        try connection.withPolicy(.restricted) { connection throws in
            try act(
                Transaction(
                    connection: connection,
                    topics: Transaction.TopicCollector(TopicSet())
                )
            )
        }
    }
}
