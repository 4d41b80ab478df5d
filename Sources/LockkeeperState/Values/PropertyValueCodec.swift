/// Writes property values as bytes and reads them again, exactly: each number keeps its bits.
///
/// One value is a tag byte and what follows it; integers and lengths are little endian.
///
/// | tag | follows |
/// |---|---|
/// | `s` | length (4), UTF-8 |
/// | `i` | 8 bytes, two's complement |
/// | `r` | 8 bytes, IEEE 754 |
/// | `t`, `f` | nothing: true, false |
/// | `d` | 8 bytes, milliseconds since 1970 |
/// | `b` | length (4), bytes |
/// | `a` | count (4), the values |
/// | `m` | count (4), for each the key as length (4) and UTF-8, then its value; keys ascend by their bytes |
///
/// Containers nest at most 32 deep. Equal values have equal bytes, but for NaN's many forms.
enum PropertyValueCodec {
    /// Why bytes are no value, or a value cannot be written.
    enum Failure: Error, Equatable {
        /// The bytes end too early, have an unknown tag, text that is not UTF-8, keys out of order,
        /// or something behind the value.
        case malformed
        /// Containers nest deeper than ``depthMax``.
        case tooDeep
    }

    /// The deepest nesting, the same as of JSON lines.
    static let depthMax = 32

    /// The bytes of a value.
    static func encode(_ value: PropertyValue) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        try append(value, to: &bytes, depth: 0)
        return bytes
    }

    /// The value of some bytes.
    static func decode(_ bytes: some Collection<UInt8>) throws(Failure) -> PropertyValue {
        var reader = Reader(rest: Array(bytes)[...])
        let value = try reader.value(depth: 0)
        guard reader.rest.isEmpty else { throw .malformed }
        return value
    }

    private static func append(
        _ value: PropertyValue,
        to bytes: inout [UInt8],
        depth: Int
    ) throws(Failure) {
        switch value {
        case .string(let text):
            bytes.append(UInt8(ascii: "s"))
            append(counted: text.utf8, to: &bytes)
        case .integer(let number):
            bytes.append(UInt8(ascii: "i"))
            append(UInt64(bitPattern: number), to: &bytes)
        case .real(let number):
            bytes.append(UInt8(ascii: "r"))
            append(number.bitPattern, to: &bytes)
        case .bool(let flag): bytes.append(UInt8(ascii: flag ? "t" : "f"))
        case .date(let date):
            bytes.append(UInt8(ascii: "d"))
            append(UInt64(bitPattern: date.millisecondsSince1970), to: &bytes)
        case .data(let data):
            bytes.append(UInt8(ascii: "b"))
            append(counted: data.bytes, to: &bytes)
        case .array(let values):
            guard depth < depthMax else { throw .tooDeep }
            bytes.append(UInt8(ascii: "a"))
            append(UInt32(values.count), to: &bytes)
            for value in values { try append(value, to: &bytes, depth: depth + 1) }
        case .dictionary(let values):
            guard depth < depthMax else { throw .tooDeep }
            bytes.append(UInt8(ascii: "m"))
            append(UInt32(values.count), to: &bytes)
            let sorted = values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            for (key, value) in sorted {
                append(counted: key.utf8, to: &bytes)
                try append(value, to: &bytes, depth: depth + 1)
            }
        }
    }

    private static func append(counted content: some Collection<UInt8>, to bytes: inout [UInt8]) {
        append(UInt32(content.count), to: &bytes)
        bytes += content
    }

    private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
    }

    /// Takes values off the front of some bytes.
    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func value(depth: Int) throws(Failure) -> PropertyValue {
            guard let tag = rest.popFirst() else { throw .malformed }
            switch tag {
            case UInt8(ascii: "s"): return .string(try text())
            case UInt8(ascii: "i"): return .integer(Int64(bitPattern: try number()))
            case UInt8(ascii: "r"): return .real(Double(bitPattern: try number()))
            case UInt8(ascii: "t"): return .bool(true)
            case UInt8(ascii: "f"): return .bool(false)
            case UInt8(ascii: "d"):
                let milliseconds = Int64(bitPattern: try number())
                return .date(DateValue(millisecondsSince1970: milliseconds))
            case UInt8(ascii: "b"): return .data(DataValue(Array(try counted())))
            case UInt8(ascii: "a"): return .array(try array(depth: depth))
            case UInt8(ascii: "m"): return .dictionary(try dictionary(depth: depth))
            default: throw .malformed
            }
        }

        private mutating func array(depth: Int) throws(Failure) -> [PropertyValue] {
            guard depth < depthMax else { throw .tooDeep }
            let count: UInt32 = try number()
            var values: [PropertyValue] = []
            // Each value takes a byte at least: a count that lies ends with the bytes.
            for _ in 0..<count { values.append(try value(depth: depth + 1)) }
            return values
        }

        private mutating func dictionary(depth: Int) throws(Failure) -> [String: PropertyValue] {
            guard depth < depthMax else { throw .tooDeep }
            let count: UInt32 = try number()
            var values: [String: PropertyValue] = [:]
            var last: String?
            for _ in 0..<count {
                let key = try text()
                if let last, !last.utf8.lexicographicallyPrecedes(key.utf8) { throw .malformed }
                last = key
                // Two keys that Swift takes for one would lose a value.
                guard values[key] == nil else { throw .malformed }
                values[key] = try value(depth: depth + 1)
            }
            return values
        }

        private mutating func text() throws(Failure) -> String {
            guard let text = String(validating: try counted(), as: UTF8.self) else {
                throw .malformed
            }
            return text
        }

        private mutating func counted() throws(Failure) -> ArraySlice<UInt8> {
            let count: UInt32 = try number()
            guard rest.count >= Int(count) else { throw .malformed }
            defer { rest = rest.dropFirst(Int(count)) }
            return rest.prefix(Int(count))
        }

        private mutating func number<Number: FixedWidthInteger>() throws(Failure) -> Number {
            let width = Number.bitWidth / 8
            guard rest.count >= width else { throw .malformed }
            defer { rest = rest.dropFirst(width) }
            return rest.prefix(width).withUnsafeBytes {
                Number(littleEndian: $0.loadUnaligned(as: Number.self))
            }
        }
    }
}
