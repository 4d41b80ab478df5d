package import LockkeeperDomain
package import LockkeeperSQLite
package import LockkeeperStorage

/// A little of what can be done at any time: one transaction of a few milliseconds. Returns whether
/// there is more of it.
package typealias UpkeepStep =
    @Sendable (
        _ session: Session, _ connection: Connection, _ topics: inout TopicSet, _ wallTime: Int64
    ) throws -> Bool

/// What a restore makes of the tables of an owner, in the copy that nobody else knows of yet, inside of
/// a transaction: what was to be done outside when the backup was made may have been done since. Returns
/// what a person should know, as sentences. `replaced` is the database that it takes the place of; `nil`
/// where that cannot be read.
package typealias RestoreStep =
    @Sendable (
        _ connection: Connection, _ replaced: Connection?, _ account: AccountInfo
    ) throws -> [String]

/// A set of tables that belongs to one owner: its migrations, and what an inspection looks at.
///
/// A workspace opens with the schemas that its program knows, so that an account is wholly prepared
/// before it is activated. Sets of different owners are ordered and checked apart. A program that was
/// not opened with a schema may use the account all the same, and is refused that schema's tables.
public struct Schema: Sendable {
    /// Whose tables they are: "messages", or the app's name.
    public let owner: String
    /// In which of an account's files they stand.
    package let kind: StoreKind
    package let migrations: [Migration]
    /// How its owner takes packets that were kept as files; `nil` where it takes none.
    package let intake: PacketIntake?
    package let probes: @Sendable (AccountInfo) -> [StoreInspection.Probe]
    /// Tables that are nobody's news.
    package let bookkeeping: Set<String>
    /// What is done while nobody writes, one after the other.
    package let upkeep: [UpkeepStep]
    /// What is done with a backup that is restored.
    package let restored: RestoreStep
    /// What people should know of an account's tables, as sentences.
    package let notes: @Sendable (Connection) throws -> [String]
    /// How much its tables hold that is to be done outside.
    package let backlogs: @Sendable (Connection) throws -> [Backlog]
    /// What is to be done for its tables when their file is damaged.
    package let salvage: SalvagePlan
    /// What somebody should do something about before it stops the account, although nothing is wrong
    /// with its files.
    package let warnings: @Sendable (Connection, Limits) throws -> [InspectionFinding]

    /// The SQL of all migrations in their order: what an empty database becomes.
    package var sql: String { migrations.compactMap(\.sql).joined(separator: "\n") }

    package init(
        owner: String,
        kind: StoreKind = .messages,
        migrations: [Migration],
        intake: PacketIntake? = nil,
        probes: @escaping @Sendable (AccountInfo) -> [StoreInspection.Probe] = { _ in [] },
        bookkeeping: Set<String> = [],
        upkeep: [UpkeepStep] = [],
        restored: @escaping RestoreStep = { _, _, _ in [] },
        notes: @escaping @Sendable (Connection) throws -> [String] = { _ in [] },
        backlogs: @escaping @Sendable (Connection) throws -> [Backlog] = { _ in [] },
        warnings: @escaping @Sendable (Connection, Limits) throws -> [InspectionFinding] = { _, _ in
            []
        },
        salvage: SalvagePlan = SalvagePlan()
    ) {
        self.owner = owner
        self.kind = kind
        self.migrations = migrations
        self.intake = intake
        self.probes = probes
        self.bookkeeping = bookkeeping
        self.upkeep = upkeep
        self.restored = restored
        self.notes = notes
        self.backlogs = backlogs
        self.salvage = salvage
        self.warnings = warnings
    }

    /// The tables of an app, which stand beside Lockkeeper's in the account's database.
    ///
    /// Migrations are applied when an account is opened or activated, each once, in the order of
    /// their names, by one process while the others wait. One that was applied is never changed: add
    /// another one. Names of tables, indexes, triggers and views that begin with `lk_` are
    /// Lockkeeper's.
    ///
    /// - Parameters:
    ///   - owner: the app's name; not "lockkeeper", "messages" or "state". A program error otherwise.
    ///   - migrations: at least one; two of one name are a program error.
    ///   - recovery: what is to be done for the tables when their file is damaged.
    public init(
        owner: String,
        migrations: [SchemaMigration],
        recovery: SchemaRecovery? = nil
    ) {
        precondition(
            !owner.isEmpty && !["lockkeeper", "messages", "state"].contains(owner),
            "'\(owner)' cannot own an app's schema"
        )
        precondition(!migrations.isEmpty, "a schema has at least one migration")
        precondition(
            Set(migrations.map(\.name)).count == migrations.count,
            "two migrations of '\(owner)' have one name"
        )
        self.init(
            owner: owner,
            migrations: migrations.map { $0.migration(of: owner) },
            salvage: recovery?.plan(of: owner) ?? SalvagePlan()
        )
    }
}

extension Workspace {
    /// The migrations above Storage's own that this program knows for a database of an account.
    func migrations(for kind: StoreKind) -> [Migration] {
        schemas.filter { $0.kind == kind }.flatMap(\.migrations)
    }

    /// All of them.
    func migrator(for kind: StoreKind) -> Migrator {
        Migrator(Migration.store + migrations(for: kind))
    }
}
