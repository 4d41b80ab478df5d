/// Writes JSON: one value, without white space, keys in the order in which they are given.
///
/// Equal calls give equal bytes: exports and canonical forms are compared byte by byte. In strings
/// only what must be escaped is: `\"`, `\\`, `\b`, `\f`, `\n`, `\r`, `\t`, and `\u00XX` for the
/// other control characters; everything else stands as UTF-8.
package struct JSONWriter {
    /// What has been written.
    package private(set) var bytes: [UInt8]

    // Whether a comma must precede the next key or element.
    private var needsComma = false
    private var depth = 0

    /// A writer that has written nothing, or that continues after `bytes`, which it does not look
    /// at: a prefix, or lines before this one.
    package init(continuing bytes: [UInt8] = []) {
        self.bytes = bytes
    }

    /// Whether everything that was begun has been ended.
    package var isBalanced: Bool { depth == 0 }

    /// Ends the line: the next value stands on one of its own.
    package mutating func endLine() {
        precondition(isBalanced, "a line ends after its value")
        bytes.append(UInt8(ascii: "\n"))
        needsComma = false
    }

    /// Begins an object.
    package mutating func beginObject() { open(UInt8(ascii: "{")) }
    /// Ends the object.
    package mutating func endObject() { close(UInt8(ascii: "}")) }
    /// Begins an array.
    package mutating func beginArray() { open(UInt8(ascii: "[")) }
    /// Ends the array.
    package mutating func endArray() { close(UInt8(ascii: "]")) }

    /// Writes a key; its value is written next.
    package mutating func key(_ key: StaticString) {
        separate()
        appendString(UnsafeRawBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount))
        endKey()
    }

    /// Writes a key that is not known beforehand.
    package mutating func key(_ key: some StringProtocol) {
        separate()
        appendString(key)
        endKey()
    }

    /// Writes a string.
    package mutating func string(_ text: some StringProtocol) {
        separate()
        appendString(text)
    }

    /// Writes UTF-8 as a string. Bytes that are not UTF-8, which names given on a command line may
    /// hold, are written as replacement characters: what comes out is always JSON.
    package mutating func string(utf8 text: [UInt8]) {
        separate()
        text.withUnsafeBytes { buffer in
            if isUTF8(buffer) {
                appendString(buffer)
            } else {
                appendString(String(decoding: buffer, as: UTF8.self))
            }
        }
    }

    /// Writes an integer.
    package mutating func integer(_ value: Int64) {
        separate()
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        // Digit by digit: each commit writes some, and a `String` for each of them would cost more
        // than the rest of the row's text.
        var power: UInt64 = 1
        while value.magnitude / power >= 10 { power *= 10 }
        while power > 0 {
            let digit = value.magnitude / power % 10
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit))
            power /= 10
        }
    }

    /// Writes an integer.
    package mutating func integer(_ value: Int) { integer(Int64(value)) }

    /// Writes an integer of any other type, less quickly.
    package mutating func integer(_ value: some BinaryInteger) {
        separate()
        bytes += String(value).utf8
    }

    /// Writes a number with the fewest digits that read back to the same; `null` for infinity and
    /// for what is no number, which JSON cannot express.
    package mutating func double(_ value: Double) {
        guard value.isFinite else { return null() }
        separate()
        bytes += value.description.utf8
    }

    /// Writes `true` or `false`.
    package mutating func bool(_ value: Bool) { literal(value ? "true" : "false") }

    /// Writes `null`.
    package mutating func null() { literal("null") }

    /// Writes a value that is JSON already and has been checked.
    package mutating func raw(_ value: some Sequence<UInt8>) {
        separate()
        // Generic code is not specialised across modules: byte by byte it would be slow.
        let isCopied: Void? = value.withContiguousStorageIfAvailable { bytes += $0 }
        if isCopied == nil { bytes += value }
    }

    /// Writes keys and values that are JSON already and have been checked, without the braces
    /// around them; there must be at least one.
    package mutating func rawMembers(_ members: ArraySlice<UInt8>) {
        separate()
        bytes += members
    }

    /// A checked value without its insignificant white space, and nothing else changed.
    package static func canonicalized(_ rawValue: some Collection<UInt8>) -> [UInt8] {
        rawValue.withContiguousStorageIfAvailable(withoutWhiteSpace)
            ?? Array(rawValue).withUnsafeBufferPointer(withoutWhiteSpace)
    }

    private static func withoutWhiteSpace(_ rawValue: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(rawValue.count)
        var isInString = false
        var isAfterBackslash = false
        for byte in rawValue {
            if isInString {
                result.append(byte)
                if isAfterBackslash {
                    isAfterBackslash = false
                } else if byte == UInt8(ascii: "\\") {
                    isAfterBackslash = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
            } else if byte > UInt8(ascii: " ") {
                // Outside of strings, all bytes up to the space are white space.
                result.append(byte)
                isInString = byte == UInt8(ascii: "\"")
            }
        }
        return result
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
        depth += 1
    }

    private mutating func close(_ bracket: UInt8) {
        precondition(depth > 0, "what is ended has been begun")
        bytes.append(bracket)
        needsComma = true
        depth -= 1
    }

    private mutating func endKey() {
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    private mutating func literal(_ literal: StaticString) {
        separate()
        bytes += UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount)
    }

    private mutating func appendString(_ text: some StringProtocol) {
        var text = String(text)
        text.withUTF8 { appendString(UnsafeRawBufferPointer($0)) }
    }

    /// Appends text that is known to be UTF-8, between quotes.
    private mutating func appendString(_ text: UnsafeRawBufferPointer) {
        bytes.append(UInt8(ascii: "\""))
        var start = 0
        for index in 0..<text.count {
            let byte = text[index]
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else {
                continue
            }
            bytes += text[start..<index]
            appendEscape(of: byte)
            start = index + 1
        }
        bytes += text[start...]
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func appendEscape(of byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case ..<0x20: bytes += "u00\(CollectionOfOne(byte).hexadecimal)".utf8
        default: bytes.append(byte)
        }
    }
}

/// Whether bytes are UTF-8 throughout.
package func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    while index < bytes.count {
        if bytes[index] < 0x80 {
            index += 1
        } else if let length = utf8SequenceLength(in: bytes, at: index) {
            index += length
        } else {
            return false
        }
    }
    return true
}
