// Strings, numbers and literals: the parts of the grammar that are not made of values.
extension JSONScanner {
    /// Passes over the string whose opening quote stands at `position`; whether it has escapes.
    mutating func skipString() throws(JSONError) -> Bool {
        var index = position + 1
        var isEscaped = false
        while true {
            index = endOfPlainText(from: index)
            guard index < bytes.count else { throw JSONError(.unexpectedEnd, at: index) }
            switch bytes[index] {
            case UInt8(ascii: "\""):
                position = index + 1
                return isEscaped
            case UInt8(ascii: "\\"):
                index = try endOfEscape(at: index)
                isEscaped = true
            case 0x80...:
                guard let length = utf8SequenceLength(in: bytes, at: index) else {
                    throw JSONError(.invalidUTF8, at: index)
                }
                index += length
            case ..<0x20:
                throw JSONError(.controlCharacter, at: index)
            default:
                index += 1
            }
        }
    }

    /// Passes over the number that begins at `position`.
    mutating func skipNumber() throws(JSONError) {
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        // RFC 8259 has no leading zeros: after one, only a fraction or an exponent may follow.
        if position < bytes.count, bytes[position] == UInt8(ascii: "0") {
            position += 1
        } else {
            try skipDigits()
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            try skipDigits()
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            let isSigned =
                position < bytes.count
                && (bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-"))
            if isSigned { position += 1 }
            try skipDigits()
        }
    }

    /// Passes over `true`, `false` or `null`.
    mutating func skipLiteral(_ literal: StaticString) throws(JSONError) {
        for index in 0..<literal.utf8CodeUnitCount {
            guard position < bytes.count, bytes[position] == literal.utf8Start[index] else {
                throw unexpected()
            }
            position += 1
        }
    }

    /// The text of a checked string that has escapes, from what stands between its quotes.
    func unescaped(_ contents: Range<Int>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(contents.count)
        var index = contents.lowerBound
        while index < contents.upperBound {
            guard bytes[index] == UInt8(ascii: "\\") else {
                text.append(bytes[index])
                index += 1
                continue
            }
            let escape = bytes[index + 1]
            index += 2
            switch escape {
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "u"):
                var scalar = codeUnit(at: index) ?? 0
                index += 4
                if 0xD800..<0xDC00 ~= scalar {
                    let low = codeUnit(at: index + 2) ?? 0
                    scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
                    index += 6
                }
                appendUTF8(scalar, to: &text)
            default: text.append(escape)
            }
        }
        return text
    }

    /// The first byte from `index` on that is not an ordinary ASCII character of a string.
    private func endOfPlainText(from index: Int) -> Int {
        var index = index
        while index + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian
            let special = specialBytes(word)
            if special != 0 { return index + special.trailingZeroBitCount >> 3 }
            index += 8
        }
        return index
    }

    /// Where the escape at `index` ends.
    private func endOfEscape(at index: Int) throws(JSONError) -> Int {
        guard index + 1 < bytes.count else { throw JSONError(.unexpectedEnd, at: bytes.count) }
        switch bytes[index + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return index + 2
        case UInt8(ascii: "u"):
            break
        default:
            throw JSONError(.invalidEscape, at: index)
        }
        guard let unit = codeUnit(at: index + 2) else { throw JSONError(.invalidEscape, at: index) }
        switch unit {
        case 0xD800..<0xDC00:
            guard index + 12 <= bytes.count, bytes[index + 6] == UInt8(ascii: "\\"),
                bytes[index + 7] == UInt8(ascii: "u"), let low = codeUnit(at: index + 8),
                0xDC00..<0xE000 ~= low
            else { throw JSONError(.loneSurrogate, at: index) }
            return index + 12
        case 0xDC00..<0xE000:
            throw JSONError(.loneSurrogate, at: index)
        default:
            return index + 6
        }
    }

    /// The value of four hexadecimal digits; `nil` where they are not there.
    private func codeUnit(at index: Int) -> UInt32? {
        guard index + 4 <= bytes.count else { return nil }
        var unit: UInt32 = 0
        for offset in 0..<4 {
            guard let digit = hexadecimalValue(bytes[index + offset]) else { return nil }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }

    private mutating func skipDigits() throws(JSONError) {
        let start = position
        while position < bytes.count, isDigit(bytes[position]) { position += 1 }
        guard position > start else { throw unexpected() }
    }
}

/// The length of the UTF-8 sequence of two to four bytes that begins at `index`; `nil` where it is
/// ill-formed: cut short, overlong, a surrogate, or above U+10FFFF (Unicode 16, table 3-7).
func utf8SequenceLength(in bytes: UnsafeRawBufferPointer, at index: Int) -> Int? {
    let length: Int
    // Only the second byte's range depends on the first.
    let second: ClosedRange<UInt8>
    switch bytes[index] {
    case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: return nil
    }
    guard index + length <= bytes.count, second ~= bytes[index + 1] else { return nil }
    for offset in 2..<max(2, length) where !(0x80...0xBF ~= bytes[index + offset]) { return nil }
    return length
}

extension UnsafeRawBufferPointer {
    /// Whether both hold the same bytes; many times faster than comparing element by element.
    package func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        var offset = 0
        while offset + 8 <= count {
            let word = loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            guard word == other.loadUnaligned(fromByteOffset: offset, as: UInt64.self) else {
                return false
            }
            offset += 8
        }
        while offset < count {
            guard self[offset] == other[offset] else { return false }
            offset += 1
        }
        return true
    }
}

/// Whether a byte is an ASCII digit.
func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

/// The high bits of those bytes in a word that end a run of ordinary ASCII in a string: quotes,
/// backslashes, control characters, and the bytes of other characters.
///
/// Subtraction borrows from the byte above, so that marks above the lowest one may be wrong; only
/// the lowest is used.
func specialBytes(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quote = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
    let backslash = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
    let isQuote = (quote &- ones) & ~quote
    let isBackslash = (backslash &- ones) & ~backslash
    let isControl = (word &- ones &* 0x20) & ~word
    return (isQuote | isBackslash | isControl | word) & (ones &* 0x80)
}

private func appendUTF8(_ scalar: UInt32, to text: inout [UInt8]) {
    func continuation(_ shift: UInt32) -> UInt8 { 0x80 | UInt8(scalar >> shift & 0x3F) }
    switch scalar {
    case ..<0x80: text.append(UInt8(scalar))
    case ..<0x800: text += [0xC0 | UInt8(scalar >> 6), continuation(0)]
    case ..<0x10000: text += [0xE0 | UInt8(scalar >> 12), continuation(6), continuation(0)]
    default:
        text += [0xF0 | UInt8(scalar >> 18), continuation(12), continuation(6), continuation(0)]
    }
}
