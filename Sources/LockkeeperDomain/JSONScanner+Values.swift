// From slices to Swift's values, and the `read` operations that do both steps in one.
extension JSONScanner {
    /// The largest magnitude of an integer: 2^53 − 1.
    package static let integerMax: Int64 = 1 << 53 - 1

    /// Reads a string.
    ///
    /// - Throws: ``JSONError`` when something else comes.
    package mutating func readString() throws(JSONError) -> String {
        try string(try nextValue())
    }

    /// Reads a string as UTF-8.
    ///
    /// - Throws: ``JSONError`` when something else comes.
    package mutating func readStringBytes() throws(JSONError) -> [UInt8] {
        try stringBytes(try nextValue())
    }

    /// Reads an integer within ±(2^53 − 1).
    ///
    /// - Throws: ``JSONError`` when something else comes.
    package mutating func readInteger() throws(JSONError) -> Int64 {
        try integer(try nextValue())
    }

    /// Reads `true` or `false`.
    ///
    /// - Throws: ``JSONError`` when something else comes.
    package mutating func readBool() throws(JSONError) -> Bool {
        try bool(try nextValue())
    }

    /// Reads `null` if it comes next, and says whether it did.
    ///
    /// - Throws: ``JSONError`` when something comes that begins like `null`.
    package mutating func readNull() throws(JSONError) -> Bool {
        guard nextToken() == UInt8(ascii: "n") else { return false }
        try skipLiteral("null")
        return true
    }

    /// The text of a string.
    ///
    /// - Throws: ``JSONError`` when the value is none.
    package func string(_ slice: JSONSlice) throws(JSONError) -> String {
        guard slice.kind == .string else { throw mistyped(slice, .string) }
        return slice.isEscaped
            ? String(decoding: unescaped(slice.contents), as: UTF8.self)
            : String(decoding: bytes[slice.contents], as: UTF8.self)
    }

    /// The text of a string as UTF-8.
    ///
    /// - Throws: ``JSONError`` when the value is none.
    package func stringBytes(_ slice: JSONSlice) throws(JSONError) -> [UInt8] {
        guard slice.kind == .string else { throw mistyped(slice, .string) }
        return slice.isEscaped ? unescaped(slice.contents) : Array(bytes[slice.contents])
    }

    /// The value of an integer within ±(2^53 − 1).
    ///
    /// - Throws: ``JSONError`` when the value is no number, has a fraction or an exponent, or is
    ///   out of range.
    package func integer(_ slice: JSONSlice) throws(JSONError) -> Int64 {
        guard slice.kind == .number else { throw mistyped(slice, .number) }
        var digits = bytes[slice.range]
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits.removeFirst() }
        guard digits.allSatisfy(isDigit) else {
            throw JSONError(.notInteger, at: slice.range.lowerBound)
        }
        var value: Int64 = 0
        for digit in digits {
            // Before this, at most 2^53 − 1: ten times that and nine more fits in 64 bits.
            value = value * 10 + Int64(digit - UInt8(ascii: "0"))
            guard value <= Self.integerMax else {
                throw JSONError(.integerOutOfRange, at: slice.range.lowerBound)
            }
        }
        return isNegative ? -value : value
    }

    /// The value of `true` or `false`.
    ///
    /// - Throws: ``JSONError`` when the value is neither.
    package func bool(_ slice: JSONSlice) throws(JSONError) -> Bool {
        guard slice.kind == .boolean else { throw mistyped(slice, .boolean) }
        return bytes[slice.range.lowerBound] == UInt8(ascii: "t")
    }

    /// The elements of an array that has been passed over.
    ///
    /// - Throws: ``JSONError`` when the value is none.
    package func elements(of slice: JSONSlice) throws(JSONError) -> [JSONSlice] {
        guard slice.kind == .array else { throw mistyped(slice, .array) }
        var inner = JSONScanner(bytes, nestingDepthMax: nestingDepthMax)
        inner.position = slice.range.lowerBound
        var elements: [JSONSlice] = []
        try inner.beginArray()
        while try inner.nextElement() { elements.append(try inner.nextValue()) }
        return elements
    }

    /// The bytes of a value as they were written, borrowed from what is scanned.
    package func rawBytes(_ slice: JSONSlice) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[slice.range])
    }

    /// The text of a string, borrowed from what is scanned; `nil` where escapes must be resolved
    /// first, or for another kind of value.
    package func plainText(_ slice: JSONSlice) -> UnsafeRawBufferPointer? {
        guard slice.kind == .string, !slice.isEscaped else { return nil }
        return UnsafeRawBufferPointer(rebasing: bytes[slice.contents])
    }

    /// Whether a string or key has exactly this text.
    package func matches(_ slice: JSONSlice, _ text: StaticString) -> Bool {
        guard slice.kind == .string else { return false }
        let expected = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return slice.isEscaped
            ? unescaped(slice.contents).elementsEqual(expected)
            : UnsafeRawBufferPointer(rebasing: bytes[slice.contents]).hasSameBytes(as: expected)
    }

    /// Whether a key has exactly this text.
    package func matches(_ key: JSONKey, _ text: StaticString) -> Bool { matches(key.slice, text) }

    /// What to throw when a value of this kind was expected at `position` and none begins there.
    func mismatch(_ expected: JSONKind) -> JSONError {
        var ahead = self
        // Ill-formed bytes are a worse problem than a value of another kind.
        do {
            _ = try ahead.nextValue()
        } catch {
            return error
        }
        return JSONError(.mistyped(expected: expected), at: position)
    }

    private func mistyped(_ slice: JSONSlice, _ expected: JSONKind) -> JSONError {
        JSONError(.mistyped(expected: expected), at: slice.range.lowerBound)
    }
}
