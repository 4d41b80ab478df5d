import Lockkeeper
import LockkeeperDomain
import LockkeeperSQLite

/// The rows of `lk_setting`, within a transaction.
struct SettingTable {
    let connection: Connection

    /// The bytes of a value, and of its name, that one setting has at most: what is larger is a document.
    static let valueByteCountMax = 1024 * 1024

    /// What is stored under a name; `nil` where it is not set.
    func value(_ name: SettingName) throws -> PropertyValue? {
        let select = try connection.statement("SELECT value FROM lk_setting WHERE name = ?1")
        defer { select.reset() }
        try select.bind(1, text: name.bytes)
        guard try select.step() else { return nil }
        return try Self.decode(select.bytes(0), name)
    }

    /// Stores a value; one that stands there already is no change.
    func set(_ name: SettingName, _ value: PropertyValue) throws {
        let bytes = try Self.encode(value, name)
        let insert = try connection.statement(
            """
            INSERT INTO lk_setting (name, value) VALUES (?1, ?2)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            WHERE value IS NOT excluded.value
            """
        )
        try insert.bind(1, text: name.bytes)
        try insert.bind(2, blob: bytes)
        try insert.run()
    }

    /// Makes a setting not set.
    func remove(_ name: SettingName) throws {
        let delete = try connection.statement("DELETE FROM lk_setting WHERE name = ?1")
        try delete.bind(1, text: name.bytes)
        try delete.run()
    }

    /// Everything that is set, in the order of the names' bytes.
    func all() throws -> [StoredSetting] {
        let select = try connection.statement("SELECT name, value FROM lk_setting ORDER BY name")
        defer { select.reset() }
        var settings: [StoredSetting] = []
        while try select.step() {
            let name = SettingName(unchecked: select.bytes(0))
            settings.append(
                StoredSetting(name: name, value: try Self.decode(select.bytes(1), name))
            )
        }
        return settings
    }

    private static func encode(_ value: PropertyValue, _ name: SettingName) throws -> [UInt8] {
        guard let bytes = try? PropertyValueCodec.encode(value) else {
            throw LockkeeperError(
                .invalidInput,
                subject: "setting \(name)",
                explanation: "the value nests deeper than \(PropertyValueCodec.depthMax) times",
                answer: .fixProgram,
                remedy: "Store a flatter value, or a document."
            )
        }
        guard bytes.count <= valueByteCountMax else {
            throw LockkeeperError(
                .invalidInput,
                subject: "setting \(name)",
                explanation: "the value has \(bytes.count) bytes, a setting at most"
                    + " \(valueByteCountMax)",
                answer: .fixProgram,
                remedy: "Store it as a document."
            )
        }
        return bytes
    }

    private static func decode(_ bytes: [UInt8], _ name: SettingName) throws -> PropertyValue {
        do {
            return try PropertyValueCodec.decode(bytes)
        } catch {
            throw LockkeeperError(
                .damaged,
                subject: "setting \(name)",
                explanation: "what is stored is no value",
                answer: .recover,
                remedy: "Set it anew, or remove it."
            )
        }
    }
}

/// A setting as it is stored.
public struct StoredSetting: Sendable, Equatable {
    /// Its name.
    public let name: SettingName
    /// Its value.
    public let value: PropertyValue

    /// Joins a name and a value.
    public init(name: SettingName, value: PropertyValue) {
        self.name = name
        self.value = value
    }
}
