/// Reads one JSON value (RFC 8259) from bytes, strictly and without building a tree.
///
/// What it is for: event lines, notifier lines and settings come from outside and are read by
/// helpers that must start in milliseconds, so that Foundation is no choice; its decoder also lets
/// through trailing commas, duplicate keys and `1.0` as an integer. This one refuses every byte
/// that the grammar does not have, text that is not UTF-8, lone surrogates, keys that come twice,
/// and nesting beyond a bound. Whatever it hands out has been checked.
///
/// How it is used: the caller pulls. ``beginObject()``, then ``nextKey()`` until it gives `nil`,
/// and after each key exactly one value, by one of the `read` operations or by ``nextValue()``,
/// which skips the value and says where it stands. Arrays alike with ``nextElement()``.
/// ``finish()`` refuses what follows the value.
///
/// The bytes are borrowed: they must stay where they are for as long as the scanner is used.
package struct JSONScanner {
    /// Where the scanner stands, in bytes from the start.
    package internal(set) var position = 0

    var bytes: UnsafeRawBufferPointer
    let nestingDepthMax: Int
    private var levels: [Level] = []
    // The keys of all open objects; each level knows where its own begin.
    private var keys: [JSONKey] = []

    /// An object or array that has been begun and not ended.
    private struct Level {
        let isObject: Bool
        var isEmpty = true
        let firstKey: Int
    }

    // Up to here each new key is compared with those before it. Longer objects are sorted once at
    // their end, so that a hostile line of a million keys costs n log n, not n².
    private static let comparedKeyCountMax = 16

    /// A scanner at the start of some bytes.
    package init(_ bytes: UnsafeRawBufferPointer, nestingDepthMax: Int = Limits().nestingDepthMax) {
        precondition(bytes.count < UInt32.max, "a scanner reads less than 4 GiB")
        self.bytes = bytes
        self.nestingDepthMax = nestingDepthMax
    }

    /// Goes to the start of other bytes and keeps its memory, for whoever reads line after line.
    package mutating func restart(on bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count < UInt32.max, "a scanner reads less than 4 GiB")
        self.bytes = bytes
        position = 0
        levels.removeAll(keepingCapacity: true)
        keys.removeAll(keepingCapacity: true)
    }

    /// Enters the object that comes next.
    ///
    /// - Throws: ``JSONError`` when something else comes, or when it lies too deep.
    package mutating func beginObject() throws(JSONError) {
        try begin(UInt8(ascii: "{"), kind: .object)
    }

    /// The next key of the object that was begun last, or `nil` at its end, which is then left.
    ///
    /// - Throws: ``JSONError`` when the object is ill-formed or has the key already.
    package mutating func nextKey() throws(JSONError) -> JSONKey? {
        precondition(levels.last?.isObject == true, "a key is read where an object was begun")
        guard try advanceInContainer(closing: UInt8(ascii: "}")) else {
            try checkRemainingKeys()
            keys.removeSubrange(levels.removeLast().firstKey...)
            return nil
        }
        guard nextToken() == UInt8(ascii: "\"") else { throw unexpected() }
        let start = position
        let isEscaped = try skipString()
        let slice = JSONSlice(kind: .string, range: start..<position, isEscaped: isEscaped)
        let key = JSONKey(slice: slice, signature: signature(of: slice))
        try remember(key)
        guard nextToken() == UInt8(ascii: ":") else { throw unexpected() }
        position += 1
        return key
    }

    /// Enters the array that comes next.
    ///
    /// - Throws: ``JSONError`` when something else comes, or when it lies too deep.
    package mutating func beginArray() throws(JSONError) {
        try begin(UInt8(ascii: "["), kind: .array)
    }

    /// Whether another element comes; `false` at the end of the array, which is then left.
    ///
    /// - Throws: ``JSONError`` when the array is ill-formed.
    package mutating func nextElement() throws(JSONError) -> Bool {
        precondition(levels.last?.isObject == false, "an element is read where an array was begun")
        guard try advanceInContainer(closing: UInt8(ascii: "]")) else {
            levels.removeLast()
            return false
        }
        return true
    }

    /// Passes over the next value, whatever it is, and says where it stands.
    ///
    /// - Throws: ``JSONError`` when it is ill-formed or nests too deep.
    package mutating func nextValue() throws(JSONError) -> JSONSlice {
        let token = nextToken()
        let start = position
        let kind: JSONKind
        var isEscaped = false
        switch token {
        case UInt8(ascii: "\""):
            isEscaped = try skipString()
            kind = .string
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            try skipNumber()
            kind = .number
        case UInt8(ascii: "{"):
            try beginObject()
            while try nextKey() != nil { _ = try nextValue() }
            kind = .object
        case UInt8(ascii: "["):
            try beginArray()
            while try nextElement() { _ = try nextValue() }
            kind = .array
        case UInt8(ascii: "t"):
            try skipLiteral("true")
            kind = .boolean
        case UInt8(ascii: "f"):
            try skipLiteral("false")
            kind = .boolean
        case UInt8(ascii: "n"):
            try skipLiteral("null")
            kind = .null
        default:
            throw unexpected()
        }
        return JSONSlice(kind: kind, range: start..<position, isEscaped: isEscaped)
    }

    /// Checks that only white space is left.
    ///
    /// - Throws: ``JSONError`` with ``JSONError/Code/trailingBytes`` when something follows.
    package mutating func finish() throws(JSONError) {
        precondition(levels.isEmpty, "everything that was begun has been read to its end")
        _ = nextToken()
        guard position == bytes.count else { throw JSONError(.trailingBytes, at: position) }
    }

    /// Passes over white space. The byte that follows, or 0, which begins nothing in JSON, at the
    /// end.
    mutating func nextToken() -> UInt8 {
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                position += 1
            default:
                return byte
            }
        }
        return 0
    }

    /// What to throw when the byte at `position` does not belong there.
    func unexpected() -> JSONError {
        guard position < bytes.count else { return JSONError(.unexpectedEnd, at: position) }
        let isText = bytes[position] < 0x80 || utf8SequenceLength(in: bytes, at: position) != nil
        return JSONError(isText ? .unexpectedByte : .invalidUTF8, at: position)
    }

    private mutating func begin(_ bracket: UInt8, kind: JSONKind) throws(JSONError) {
        guard nextToken() == bracket else { throw mismatch(kind) }
        guard levels.count < nestingDepthMax else { throw JSONError(.tooDeep, at: position) }
        position += 1
        levels.append(Level(isObject: kind == .object, firstKey: keys.count))
    }

    /// Goes to the next member or element, past the comma before it; `false` past the end.
    private mutating func advanceInContainer(closing: UInt8) throws(JSONError) -> Bool {
        let token = nextToken()
        if token == closing {
            position += 1
            return false
        }
        let top = levels.count - 1
        if levels[top].isEmpty {
            levels[top].isEmpty = false
            return true
        }
        guard token == UInt8(ascii: ",") else { throw unexpected() }
        position += 1
        // A comma promises something: `[1,]` ends here.
        if nextToken() == closing { throw unexpected() }
        return true
    }

    private func signature(of slice: JSONSlice) -> JSONSignature {
        let contents = slice.contents
        return slice.isEscaped
            ? JSONSignature(unescaped(contents))
            : JSONSignature(bytes, at: contents.lowerBound, count: contents.count)
    }

    private mutating func remember(_ key: JSONKey) throws(JSONError) {
        let firstKey = levels[levels.count - 1].firstKey
        if keys.count - firstKey < Self.comparedKeyCountMax {
            for index in firstKey..<keys.count where isEqual(keys[index], key) {
                throw JSONError(.duplicateKey, at: key.slice.range.lowerBound)
            }
        }
        keys.append(key)
    }

    /// Looks for duplicates in an object that was too long to compare each key with each.
    private mutating func checkRemainingKeys() throws(JSONError) {
        let firstKey = levels[levels.count - 1].firstKey
        guard keys.count - firstKey > Self.comparedKeyCountMax else { return }
        let sorted = keys[firstKey...].sorted(by: precedes)
        for (left, right) in zip(sorted, sorted.dropFirst()) where isEqual(left, right) {
            let offset = max(left.slice.range.lowerBound, right.slice.range.lowerBound)
            throw JSONError(.duplicateKey, at: offset)
        }
    }

    private func isEqual(_ left: JSONKey, _ right: JSONKey) -> Bool {
        guard left.signature == right.signature else { return false }
        if let left = plainText(left.slice), let right = plainText(right.slice) {
            return left.hasSameBytes(as: right)
        }
        return text(of: left).elementsEqual(text(of: right))
    }

    private func precedes(_ left: JSONKey, _ right: JSONKey) -> Bool {
        guard left.signature == right.signature else { return left.signature < right.signature }
        if let left = plainText(left.slice), let right = plainText(right.slice) {
            return left.lexicographicallyPrecedes(right)
        }
        return text(of: left).lexicographicallyPrecedes(text(of: right))
    }

    private func text(of key: JSONKey) -> [UInt8] {
        key.slice.isEscaped ? unescaped(key.slice.contents) : Array(bytes[key.slice.contents])
    }
}
