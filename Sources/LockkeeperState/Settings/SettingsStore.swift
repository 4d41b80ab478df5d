public import Lockkeeper
@_exported public import LockkeeperDomain
import LockkeeperSQLite

/// The settings of an account: small values by name, the same in every process.
///
/// They stand in the account's second database, so that a rebuild of the messages leaves them alone,
/// under the same admission, fence and kind of feed: each change is one durable transaction, a range
/// on ``changes(after:without:)``, and a value of ``observe(_:)`` in whatever process. A session that
/// was superseded fails every call.
///
/// Two calls are two transactions. What belongs together, or rests on what was read, goes into one
/// ``update(durability:waitMax:_:)``.
public final class SettingsStore: Sendable {
    /// The session that the store writes through.
    public let session: Session
    /// What settings are where nobody has set them, for this store.
    public let defaults: SettingDefaults
    /// The database that they stand in.
    let database: AccountDatabase

    /// Opens the settings of an account.
    ///
    /// - Throws: ``LockkeeperError``: `invalidInput` where the workspace was opened without
    ///   ``Schema/state``; as for opening the account.
    public init(_ session: Session, defaults: SettingDefaults = SettingDefaults()) async throws {
        database = try await session.stateDatabase()
        self.session = session
        self.defaults = defaults
    }

    /// What a setting is: what is stored, else what was registered; `nil` where it is neither.
    ///
    /// - Throws: ``LockkeeperError``: `wrongType` where something else is stored; `superseded`.
    public func value<Value>(_ key: SettingKey<Value>) async throws -> Value? {
        try await database.readConnection { [defaults] in
            try SettingTable(connection: $0).value(key, defaults)
        }
    }

    /// What is stored; `nil` where the setting is not set, whatever was registered.
    ///
    /// - Throws: as ``value(_:)``.
    public func stored<Value>(_ key: SettingKey<Value>) async throws -> Value? {
        try await database.readConnection { try SettingTable(connection: $0).stored(key) }
    }

    /// Everything that is set, in the order of the names' bytes.
    public func all() async throws -> [StoredSetting] {
        try await database.readConnection { try SettingTable(connection: $0).all() }
    }

    /// Sets a setting; it is durable when this returns.
    ///
    /// - Throws: ``LockkeeperError``: as ``update(durability:waitMax:_:)``. Nothing was set then.
    @discardableResult
    public func set<Value>(_ value: Value, for key: SettingKey<Value>) async throws -> CommitReceipt
    {
        try await update { try $0.set(value, for: key) }.receipt
    }

    /// Makes a setting not set; durable when this returns.
    ///
    /// - Throws: as ``set(_:for:)``.
    @discardableResult
    public func remove<Value>(_ key: SettingKey<Value>) async throws -> CommitReceipt {
        try await update { try $0.remove(key) }.receipt
    }

    /// Reads and changes settings as one step: no other process's change comes in between, and all of
    /// it is stored or nothing.
    ///
    /// The closure may run again from its start, as in `AccountDatabase.write`.
    ///
    /// - Throws: ``LockkeeperError``: `busy` when the deadline passed, `superseded`, `diskFull`,
    ///   `ioFailed`, `wrongType`, `invalidInput`; and what the closure throws.
    @discardableResult
    public func update<Value: Sendable>(
        durability: Durability = .durable,
        waitMax: Duration? = nil,
        _ body: @escaping @Sendable (borrowing SettingsTransaction) throws -> Value
    ) async throws -> (value: Value, receipt: CommitReceipt) {
        try await database.submit(durability: durability, waitMax: waitMax) {
            [defaults] connection, topics in
            let collector = Transaction.TopicCollector(topics)
            defer { topics = collector.topics }
            return try body(SettingsTransaction(connection, defaults, collector))
        }
    }

    /// What a setting is, kept live: its value now, and a new one whenever any process changed it to
    /// another.
    public func observe<Value>(_ key: SettingKey<Value>) -> LiveQuery<Value?> {
        database.observeConnection(topics: [key.name.bytes]) { [defaults] in
            try SettingTable(connection: $0).value(key, defaults)
        }.withoutRepeats()
    }

    /// Everything that is set, kept live.
    public func observeAll() -> LiveQuery<[StoredSetting]> {
        database.observeConnection { try SettingTable(connection: $0).all() }.withoutRepeats()
    }

    /// The ranges of all commits to the account's settings after a position, of every process, in
    /// order and without a hole; their topics are the names of what changed. Positions are those of
    /// this database, not of the messages'.
    ///
    /// - Parameters:
    ///   - position: where to begin; `nil` begins at the present head.
    ///   - origin: leaves out ranges that only this process name wrote.
    public func changes(after position: Position? = nil, without origin: String? = nil)
        -> ChangeFeed
    {
        database.changes(after: position, without: origin)
    }

    /// The position after the newest commit: where a new feed begins.
    public func head() async throws -> Position { try await database.head() }
}
