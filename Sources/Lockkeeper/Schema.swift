package import LockkeeperSQLite
package import LockkeeperStorage

/// A little of what can be done at any time: one transaction of a few milliseconds. Returns whether
/// there is more of it.
package typealias UpkeepStep =
    @Sendable (_ connection: Connection, _ topics: inout TopicSet, _ wallTime: Int64) throws -> Bool

/// A set of tables that belongs to one owner: its migrations, and what an inspection looks at.
///
/// A workspace opens with the schemas that its program knows, so that an account is wholly prepared
/// before it is activated. Sets of different owners are ordered and checked apart.
public struct Schema: Sendable {
    /// Whose tables they are: "messages", or the app's name.
    public let owner: String
    package let migrations: [Migration]
    /// How its owner takes packets that were kept as files; `nil` where it takes none.
    package let intake: PacketIntake?
    package let probes: @Sendable (AccountInfo) -> [StoreInspection.Probe]
    /// Tables that are nobody's news.
    package let bookkeeping: Set<String>
    /// What is done while nobody writes, one after the other.
    package let upkeep: [UpkeepStep]
    /// What people should know of an account's tables, as sentences.
    package let notes: @Sendable (Connection) throws -> [String]

    /// The SQL of all migrations in their order: what an empty database becomes.
    package var sql: String { migrations.map(\.sql).joined(separator: "\n") }

    package init(
        owner: String,
        migrations: [Migration],
        intake: PacketIntake? = nil,
        probes: @escaping @Sendable (AccountInfo) -> [StoreInspection.Probe] = { _ in [] },
        bookkeeping: Set<String> = [],
        upkeep: [UpkeepStep] = [],
        notes: @escaping @Sendable (Connection) throws -> [String] = { _ in [] }
    ) {
        self.owner = owner
        self.migrations = migrations
        self.intake = intake
        self.probes = probes
        self.bookkeeping = bookkeeping
        self.upkeep = upkeep
        self.notes = notes
    }
}
