/// Makes property values of `Encodable` values.
///
/// Optionals that are nil are left out of their container; in an array they are refused, since there
/// is no null. Bytes (`[UInt8]`) become data.
struct PropertyValueEncoder {
    /// Whether ``encodeMembers(_:)`` names members that are nil.
    var keepsNil = false

    /// The members of a value that encodes a dictionary, nil ones among them where that is asked for.
    func encodeMembers(_ value: some Encodable) throws -> [(key: String, value: PropertyValue?)] {
        let node = Node()
        try node.take(value, at: [])
        return node.namedMembers.filter { keepsNil || $0.value != nil }
    }

    func encode(_ value: some Encodable) throws -> PropertyValue {
        let node = Node()
        try node.take(value, at: [])
        guard let result = node.value else {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(codingPath: [], debugDescription: "it encodes nothing")
            )
        }
        return result
    }

    /// A place in the tree that is being made.
    private final class Node {
        private var single: PropertyValue?
        private var elements: [Node]?
        private var members: [(key: String, node: Node)]?

        var value: PropertyValue? {
            if let single { return single }
            if let elements { return .array(elements.compactMap(\.value)) }
            guard let members else { return nil }
            return .dictionary(
                members.reduce(into: [:]) { values, member in
                    if let value = member.node.value { values[member.key] = value }
                }
            )
        }

        var namedMembers: [(key: String, value: PropertyValue?)] {
            (members ?? []).map { ($0.key, $0.node.value) }
        }

        var count: Int { elements?.count ?? 0 }

        func becomeDictionary() { if members == nil { members = [] } }
        func becomeArray() { if elements == nil { elements = [] } }

        func member(_ key: String) -> Node {
            becomeDictionary()
            let node = Node()
            members?.append((key, node))
            return node
        }

        func element() -> Node {
            becomeArray()
            let node = Node()
            elements?.append(node)
            return node
        }

        func take<Value: Encodable>(_ value: Value, at path: [any CodingKey]) throws {
            switch value {
            case let flag as Bool: single = .bool(flag)
            case let text as String: single = .string(text)
            case let number as Double: single = .real(number)
            case let number as Float: single = .real(Double(number))
            case let date as DateValue: single = .date(date)
            case let data as DataValue: single = .data(data)
            // An empty array of anything would pass for one of bytes.
            case let bytes as [UInt8] where Value.self == [UInt8].self:
                single = .data(DataValue(bytes))
            case let number as any FixedWidthInteger:
                guard let exact = Int64(exactly: number) else {
                    throw Self.refused(value, path, "it does not fit into 64 bits with a sign")
                }
                single = .integer(exact)
            default: try value.encode(to: Tree(node: self, codingPath: path))
            }
        }

        static func refused(
            _ value: Any,
            _ path: [any CodingKey],
            _ why: String
        ) -> EncodingError {
            EncodingError.invalidValue(
                value,
                EncodingError.Context(codingPath: path, debugDescription: why)
            )
        }
    }

    private struct Tree: Encoder, SingleValueEncodingContainer {
        let node: Node
        let codingPath: [any CodingKey]
        var userInfo: [CodingUserInfoKey: Any] { [:] }

        func container<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
            node.becomeDictionary()
            return KeyedEncodingContainer(Keyed(node: node, codingPath: codingPath))
        }

        func unkeyedContainer() -> any UnkeyedEncodingContainer {
            node.becomeArray()
            return Unkeyed(node: node, codingPath: codingPath)
        }

        func singleValueContainer() -> any SingleValueEncodingContainer { self }

        func encodeNil() throws {
            throw Node.refused("nil", codingPath, "property lists have no null")
        }

        func encode<Value: Encodable>(_ value: Value) throws {
            try node.take(value, at: codingPath)
        }
    }

    private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let node: Node
        let codingPath: [any CodingKey]

        func encodeNil(forKey key: Key) { _ = node.member(key.stringValue) }

        // Members that are nil are left out by what stands in the library for each of these types; they
        // are named here all the same.
        func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
            try name(value, key)
        }
        func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try name(value, key) }
        func encodeIfPresent(_ value: String?, forKey key: Key) throws { try name(value, key) }
        func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try name(value, key) }
        func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try name(value, key) }
        func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try name(value, key) }
        func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try name(value, key) }
        func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try name(value, key) }
        func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try name(value, key) }
        func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try name(value, key) }
        func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try name(value, key) }
        func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try name(value, key) }
        func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try name(value, key) }
        func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try name(value, key) }
        func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try name(value, key) }

        func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
            try node.member(key.stringValue).take(value, at: codingPath + [key])
        }

        private func name<Value: Encodable>(_ value: Value?, _ key: Key) throws {
            let member = node.member(key.stringValue)
            if let value { try member.take(value, at: codingPath + [key]) }
        }

        func nestedContainer<NestedKey>(
            keyedBy keyType: NestedKey.Type,
            forKey key: Key
        ) -> KeyedEncodingContainer<NestedKey> {
            tree(key.stringValue, key).container(keyedBy: keyType)
        }

        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            tree(key.stringValue, key).unkeyedContainer()
        }

        func superEncoder() -> any Encoder {
            Tree(node: node.member("super"), codingPath: codingPath)
        }
        func superEncoder(forKey key: Key) -> any Encoder { tree(key.stringValue, key) }

        private func tree(_ name: String, _ key: Key) -> Tree {
            Tree(node: node.member(name), codingPath: codingPath + [key])
        }
    }

    private struct Unkeyed: UnkeyedEncodingContainer {
        let node: Node
        let codingPath: [any CodingKey]
        var count: Int { node.count }

        func encodeNil() throws {
            throw Node.refused("nil", codingPath, "property lists have no null")
        }

        func encode<Value: Encodable>(_ value: Value) throws {
            try node.element().take(value, at: codingPath)
        }

        func nestedContainer<NestedKey>(
            keyedBy keyType: NestedKey.Type
        ) -> KeyedEncodingContainer<NestedKey> {
            Tree(node: node.element(), codingPath: codingPath).container(keyedBy: keyType)
        }

        func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
            Tree(node: node.element(), codingPath: codingPath).unkeyedContainer()
        }

        func superEncoder() -> any Encoder { Tree(node: node.element(), codingPath: codingPath) }
    }
}
