import Lockkeeper
import LockkeeperSQLite
import LockkeeperStorage

/// Settings as one consistent whole, borrowed by the closure that reads and changes them.
///
/// Nothing can be awaited inside of it, and it ends with the closure.
public struct SettingsTransaction: ~Copyable {
    private let table: SettingTable
    private let defaults: SettingDefaults
    private let topics: Transaction.TopicCollector

    init(
        _ connection: Connection,
        _ defaults: SettingDefaults,
        _ topics: Transaction.TopicCollector
    ) {
        table = SettingTable(connection: connection)
        self.defaults = defaults
        self.topics = topics
    }

    /// What a setting is: what is stored, else what was registered; `nil` where it is neither.
    ///
    /// - Throws: ``LockkeeperError`` with the code `wrongType` where something else is stored.
    public func value<Value>(_ key: SettingKey<Value>) throws -> Value? {
        try table.value(key, defaults)
    }

    /// What is stored; `nil` where the setting is not set, whatever was registered.
    ///
    /// - Throws: ``LockkeeperError`` with the code `wrongType` where something else is stored.
    public func stored<Value>(_ key: SettingKey<Value>) throws -> Value? { try table.stored(key) }

    /// Sets a setting. What it was is replaced, of whatever type it was.
    ///
    /// - Throws: ``LockkeeperError`` with the code `invalidInput` for a value that is too large.
    public func set<Value>(_ value: Value, for key: SettingKey<Value>) throws {
        try table.set(key.name, value.propertyValue)
        topics.topics.insert(key.name.bytes)
    }

    /// Makes a setting not set, so that what was registered counts again.
    public func remove(_ name: SettingName) throws {
        try table.remove(name)
        topics.topics.insert(name.bytes)
    }

    /// Makes a setting not set, so that what was registered counts again.
    public func remove<Value>(_ key: SettingKey<Value>) throws { try remove(key.name) }

    /// Everything that is set, in the order of the names' bytes.
    public func all() throws -> [StoredSetting] { try table.all() }
}

extension SettingTable {
    /// What is stored, else what was registered.
    func value<Value>(_ key: SettingKey<Value>, _ defaults: SettingDefaults) throws -> Value? {
        if let value = try stored(key) { return value }
        return defaults.values[key.name].flatMap { Value(propertyValue: $0) }
    }

    /// What is stored under a key, as its type.
    func stored<Value>(_ key: SettingKey<Value>) throws -> Value? {
        guard let stored = try value(key.name) else { return nil }
        if let value = Value(propertyValue: stored) { return value }
        throw LockkeeperError(
            .wrongType,
            subject: "setting \(key.name)",
            explanation: "what is stored is of the kind \(stored.kind.rawValue), which is no"
                + " \(Value.self)",
            answer: .fixProgram,
            remedy: "Read it as what it is, or set it anew."
        )
    }
}
