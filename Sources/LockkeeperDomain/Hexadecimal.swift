extension Sequence<UInt8> {
    /// Two lower-case hexadecimal digits per byte.
    package var hexadecimal: String {
        let digits: [UInt8] = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(underestimatedCount * 2)
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension [UInt8] {
    /// Reads pairs of hexadecimal digits; `nil` where something else stands.
    package init?(hexadecimal text: some StringProtocol) {
        let bytes = Array(text.utf8).withUnsafeBytes { [UInt8](hexadecimal: $0) }
        guard let bytes else { return nil }
        self = bytes
    }

    /// Reads pairs of hexadecimal digits; `nil` where something else stands.
    package init?(hexadecimal digits: UnsafeRawBufferPointer) {
        guard digits.count.isMultiple(of: 2) else { return nil }
        self = []
        reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = hexadecimalValue(digits[index]),
                let low = hexadecimalValue(digits[index + 1])
            else { return nil }
            append(high << 4 | low)
        }
    }
}

/// The value of one hexadecimal digit in either case; `nil` for any other byte.
package func hexadecimalValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
}
