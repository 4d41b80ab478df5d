/// What a setting may be: the values of property lists and what is made of them. A type that is none
/// of these is refused when the program is compiled.
public protocol SettingValue: Sendable, Equatable {
    /// The value as it is stored.
    var propertyValue: PropertyValue { get }

    /// The value of what is stored; `nil` where that is of another kind.
    init?(propertyValue: PropertyValue)
}

extension String: SettingValue {
    /// The text.
    public var propertyValue: PropertyValue { .string(self) }
    /// The text, where it is one.
    public init?(propertyValue: PropertyValue) {
        guard case .string(let text) = propertyValue else { return nil }
        self = text
    }
}

extension Int64: SettingValue {
    /// The number.
    public var propertyValue: PropertyValue { .integer(self) }
    /// The number, where it is a whole one.
    public init?(propertyValue: PropertyValue) {
        guard case .integer(let number) = propertyValue else { return nil }
        self = number
    }
}

extension Int: SettingValue {
    /// The number.
    public var propertyValue: PropertyValue { .integer(Int64(self)) }
    /// The number, where it is a whole one that fits.
    public init?(propertyValue: PropertyValue) {
        guard case .integer(let number) = propertyValue else { return nil }
        self.init(exactly: number)
    }
}

extension Double: SettingValue {
    /// The number.
    public var propertyValue: PropertyValue { .real(self) }
    /// The number, where it is a floating-point one.
    public init?(propertyValue: PropertyValue) {
        guard case .real(let number) = propertyValue else { return nil }
        self = number
    }
}

extension Bool: SettingValue {
    /// True or false.
    public var propertyValue: PropertyValue { .bool(self) }
    /// True or false, where it is that; 0 and 1 are numbers.
    public init?(propertyValue: PropertyValue) {
        guard case .bool(let flag) = propertyValue else { return nil }
        self = flag
    }
}

extension DateValue: SettingValue {
    /// The instant.
    public var propertyValue: PropertyValue { .date(self) }
    /// The instant, where it is one.
    public init?(propertyValue: PropertyValue) {
        guard case .date(let date) = propertyValue else { return nil }
        self = date
    }
}

extension DataValue: SettingValue {
    /// The bytes.
    public var propertyValue: PropertyValue { .data(self) }
    /// The bytes, where they are.
    public init?(propertyValue: PropertyValue) {
        guard case .data(let data) = propertyValue else { return nil }
        self = data
    }
}

extension PropertyValue: SettingValue {
    /// The value itself.
    public var propertyValue: PropertyValue { self }
    /// The value itself.
    public init(propertyValue: PropertyValue) { self = propertyValue }
}

extension Array: SettingValue where Element: SettingValue {
    /// The values in order.
    public var propertyValue: PropertyValue { .array(map(\.propertyValue)) }
    /// The values, where it is an array and each is of the kind.
    public init?(propertyValue: PropertyValue) {
        guard case .array(let values) = propertyValue else { return nil }
        let elements = values.compactMap { Element(propertyValue: $0) }
        guard elements.count == values.count else { return nil }
        self = elements
    }
}

extension Dictionary: SettingValue where Key == String, Value: SettingValue {
    /// The values by name.
    public var propertyValue: PropertyValue { .dictionary(mapValues(\.propertyValue)) }
    /// The values, where it is a dictionary and each is of the kind.
    public init?(propertyValue: PropertyValue) {
        guard case .dictionary(let values) = propertyValue else { return nil }
        let elements = values.compactMapValues { Value(propertyValue: $0) }
        guard elements.count == values.count else { return nil }
        self = elements
    }
}
