public import LockkeeperDomain

/// Names a setting.
public struct SettingName: ByteIdentifier {
    /// What the identifier names, for error sentences.
    public static let noun = "setting name"
    /// The identifier's bytes.
    public let bytes: [UInt8]
    /// Makes an identifier from bytes that are known to be valid.
    public init(unchecked bytes: [UInt8]) { self.bytes = bytes }
}

/// Names a setting and says of which type it is.
///
///     extension SettingKey where Value == Bool {
///         static var notifies: Self { "notifies" }
///     }
public struct SettingKey<Value: SettingValue>: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The setting's name.
    public let name: SettingName

    /// A key of a name.
    public init(_ name: SettingName) { self.name = name }

    /// A key of a name in source code; an invalid one is a programmer's error.
    public init(stringLiteral text: String) { name = SettingName(stringLiteral: text) }
}

/// What settings are where nobody has set them. Registered by each program for itself, and never
/// stored: another version of it may register others.
public struct SettingDefaults: Sendable {
    private(set) var values: [SettingName: PropertyValue] = [:]

    /// No defaults.
    public init() {}

    /// Registers what a setting is where nobody has set it; the last one counts.
    public mutating func register<Value>(_ value: Value, for key: SettingKey<Value>) {
        values[key.name] = value.propertyValue
    }
}
