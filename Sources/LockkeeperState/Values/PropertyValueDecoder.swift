/// Makes `Decodable` values of property values: what ``PropertyValueEncoder`` wrote, strictly, except
/// that a whole number is taken for a floating-point one.
struct PropertyValueDecoder {
    /// Whether the members are columns of a row, which have no flags, dates and containers of their own.
    var readsColumns = false

    func decode<Value: Decodable>(_ type: Value.Type, from value: PropertyValue) throws -> Value {
        try take(type, value, at: [])
    }

    private func take<Value: Decodable>(
        _ type: Value.Type,
        _ value: PropertyValue,
        at path: [any CodingKey]
    ) throws -> Value {
        let found: Any?
        switch type {
        case is Bool.Type: found = flag(value)
        case is String.Type: found = String(propertyValue: value)
        case is Double.Type: found = number(value)
        case is Float.Type: found = number(value).map { Float($0) }
        case is DateValue.Type: found = date(value)
        case is DataValue.Type: found = DataValue(propertyValue: value)
        case is [UInt8].Type: found = DataValue(propertyValue: value)?.bytes
        case let type as any FixedWidthInteger.Type: found = integer(type, value)
        default:
            return try Value(
                from: Tree(decoder: self, value: container(value, path), codingPath: path)
            )
        }
        if let result = found as? Value { return result }
        throw Self.mismatch(type, value, path)
    }

    private func flag(_ value: PropertyValue) -> Bool? {
        if readsColumns, case .integer(let number) = value { return [0: false, 1: true][number] }
        return Bool(propertyValue: value)
    }

    private func date(_ value: PropertyValue) -> DateValue? {
        if readsColumns, case .integer(let number) = value {
            return DateValue(millisecondsSince1970: number)
        }
        return DateValue(propertyValue: value)
    }

    /// A container that is a column is that column's bytes.
    private func container(_ value: PropertyValue, _ path: [any CodingKey]) -> PropertyValue {
        guard readsColumns, !path.isEmpty, case .data(let data) = value else { return value }
        return (try? PropertyValueCodec.decode(data.bytes)) ?? value
    }

    private func number(_ value: PropertyValue) -> Double? {
        if case .integer(let number) = value { return Double(exactly: number) }
        return Double(propertyValue: value)
    }

    private func integer<Number: FixedWidthInteger>(
        _ type: Number.Type,
        _ value: PropertyValue
    ) -> Number? {
        Int64(propertyValue: value).flatMap { Number(exactly: $0) }
    }

    fileprivate static func mismatch(
        _ type: Any.Type,
        _ value: PropertyValue,
        _ path: [any CodingKey]
    ) -> DecodingError {
        DecodingError.typeMismatch(
            type,
            DecodingError.Context(
                codingPath: path,
                debugDescription: "what is stored is of the kind \(value.kind.rawValue)"
            )
        )
    }

    private struct Tree: Decoder, SingleValueDecodingContainer {
        let decoder: PropertyValueDecoder
        let value: PropertyValue
        let codingPath: [any CodingKey]
        var userInfo: [CodingUserInfoKey: Any] { [:] }

        func container<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
            guard case .dictionary(let members) = value else {
                throw PropertyValueDecoder.mismatch([String: PropertyValue].self, value, codingPath)
            }
            return KeyedDecodingContainer(
                Keyed(decoder: decoder, members: members, codingPath: codingPath)
            )
        }

        func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
            guard case .array(let elements) = value else {
                throw PropertyValueDecoder.mismatch([PropertyValue].self, value, codingPath)
            }
            return Unkeyed(decoder: decoder, elements: elements, codingPath: codingPath)
        }

        func singleValueContainer() -> any SingleValueDecodingContainer { self }
        func decodeNil() -> Bool { false }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try decoder.take(type, value, at: codingPath)
        }
    }

    private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let decoder: PropertyValueDecoder
        let members: [String: PropertyValue]
        let codingPath: [any CodingKey]

        var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

        func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }
        func decodeNil(forKey key: Key) -> Bool { !contains(key) }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            try decoder.take(type, try member(key), at: codingPath + [key])
        }

        func nestedContainer<NestedKey>(
            keyedBy type: NestedKey.Type,
            forKey key: Key
        ) throws -> KeyedDecodingContainer<NestedKey> {
            try tree(key).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try tree(key).unkeyedContainer()
        }

        func superDecoder() -> any Decoder {
            Tree(
                decoder: decoder,
                value: members["super"] ?? .dictionary([:]),
                codingPath: codingPath
            )
        }

        func superDecoder(forKey key: Key) throws -> any Decoder { try tree(key) }

        private func tree(_ key: Key) throws -> Tree {
            Tree(decoder: decoder, value: try member(key), codingPath: codingPath + [key])
        }

        private func member(_ key: Key) throws -> PropertyValue {
            if let value = members[key.stringValue] { return value }
            throw DecodingError.keyNotFound(
                key,
                DecodingError.Context(codingPath: codingPath, debugDescription: "it is not there")
            )
        }
    }

    private struct Unkeyed: UnkeyedDecodingContainer {
        let decoder: PropertyValueDecoder
        let elements: [PropertyValue]
        let codingPath: [any CodingKey]
        var currentIndex = 0

        init(
            decoder: PropertyValueDecoder,
            elements: [PropertyValue],
            codingPath: [any CodingKey]
        ) {
            self.decoder = decoder
            self.elements = elements
            self.codingPath = codingPath
        }

        var count: Int? { elements.count }
        var isAtEnd: Bool { currentIndex >= elements.count }

        func decodeNil() -> Bool { false }

        mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try decoder.take(type, try next(), at: codingPath)
        }

        mutating func nestedContainer<NestedKey>(
            keyedBy type: NestedKey.Type
        ) throws -> KeyedDecodingContainer<NestedKey> {
            try Tree(decoder: decoder, value: try next(), codingPath: codingPath).container(
                keyedBy: type
            )
        }

        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            try Tree(decoder: decoder, value: try next(), codingPath: codingPath).unkeyedContainer()
        }

        mutating func superDecoder() throws -> any Decoder {
            Tree(decoder: decoder, value: try next(), codingPath: codingPath)
        }

        private mutating func next() throws -> PropertyValue {
            guard !isAtEnd else {
                throw DecodingError.valueNotFound(
                    PropertyValue.self,
                    DecodingError.Context(codingPath: codingPath, debugDescription: "it ends")
                )
            }
            defer { currentIndex += 1 }
            return elements[currentIndex]
        }
    }
}
