import CLockkeeperUTF8Proc

/// Folds text, so that what people take for the same is the same bytes.
///
/// It is Unicode's NFKC_Casefold, computed by utf8proc: canonically equivalent forms, full and half
/// width, upper and lower case become one; what is not seen (soft hyphens, joiners, variation
/// selectors) goes away. Beyond that each run of white space, line ends and control characters (NUL
/// among them) becomes one space, so that a phrase is found across a line's end. Nothing depends on a
/// language, and accents stay: `e` is not `é`.
///
/// The result is UTF-8 without any character below U+0020. Bytes that are not UTF-8 count as
/// replacement characters.
package enum TextFolding {
    /// A number for the rules: what was folded under another number is folded anew. A larger one is
    /// newer. It has the number of our own rules and utf8proc's version of Unicode.
    package static let version: Int64 = {
        let parts = String(cString: utf8proc_unicode_version()).split(separator: ".")
        let numbers = parts.prefix(2).map { Int64($0) ?? 0 }
        return rules * 1_000_000 + (numbers.first ?? 0) * 1000 + (numbers.dropFirst().first ?? 0)
    }()

    private static let rules: Int64 = 1

    /// The folded form of UTF-8 bytes.
    package static func folded(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        if let ascii = foldedASCII(bytes) { return ascii }
        let ordered = bytes.contains(iotaSubscript) ? mapped(bytes, decomposed) : nil
        let folded =
            ordered.map { $0.withUnsafeBytes { mapped($0, caseFolded) } }
            ?? mapped(bytes, caseFolded)
        if let folded { return spacesCollapsed(folded) }
        // Not UTF-8: repaired as Swift's own text is, which cannot fail a second time.
        var repaired = String(decoding: bytes, as: UTF8.self)
        return repaired.withUTF8 { self.folded(UnsafeRawBufferPointer($0)) }
    }

    /// The folded form of UTF-8 bytes.
    package static func folded(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { folded($0) }
    }

    /// The folded form of a text.
    package static func folded(_ text: String) -> [UInt8] {
        var text = text
        return text.withUTF8 { folded(UnsafeRawBufferPointer($0)) }
    }

    /// The folded form of a text that is ASCII, which most of many is; `nil` for any other.
    private static func foldedASCII(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        var folded: [UInt8] = []
        folded.reserveCapacity(bytes.count)
        var lastIsSpace = false
        for byte in bytes {
            guard byte < 0x80 else { return nil }
            let isSpace = byte <= 0x20
            if isSpace, lastIsSpace { continue }
            lastIsSpace = isSpace
            let isUpper = byte >= 0x41 && byte <= 0x5A
            folded.append(isSpace ? 0x20 : isUpper ? byte | 0x20 : byte)
        }
        return folded
    }

    /// The iota subscript is folded to a letter, which other marks do not move past any more. So texts
    /// with one are put into canonical order first.
    private static let iotaSubscript: [UInt8] = [0xCD, 0x85]

    private static let decomposed =
        UTF8PROC_STABLE.rawValue | UTF8PROC_DECOMPOSE.rawValue
    private static let caseFolded =
        UTF8PROC_STABLE.rawValue | UTF8PROC_COMPOSE.rawValue | UTF8PROC_COMPAT.rawValue
        | UTF8PROC_CASEFOLD.rawValue | UTF8PROC_IGNORE.rawValue

    /// What utf8proc makes of bytes; `nil` where they are not UTF-8.
    private static func mapped(_ bytes: UnsafeRawBufferPointer, _ options: UInt32) -> [UInt8]? {
        guard let start = bytes.baseAddress, bytes.count > 0 else { return [] }
        var result: UnsafeMutablePointer<utf8proc_uint8_t>?
        let count = utf8proc_map(
            start.assumingMemoryBound(to: utf8proc_uint8_t.self),
            bytes.count,
            &result,
            utf8proc_option_t(rawValue: options)
        )
        defer { free(result) }
        guard count >= 0, let result else {
            precondition(
                count == utf8proc_ssize_t(UTF8PROC_ERROR_INVALIDUTF8),
                "utf8proc is out of memory"
            )
            return nil
        }
        return Array(UnsafeBufferPointer(start: result, count: count))
    }

    /// White space that NFKC leaves beside the space: line and paragraph separators, the next line of
    /// C1, and Ogham's space mark.
    private static let otherSpaces: [[UInt8]] = [
        [0xC2, 0x85], [0xE1, 0x9A, 0x80], [0xE2, 0x80, 0xA8], [0xE2, 0x80, 0xA9],
    ]

    private static func spacesCollapsed(_ bytes: [UInt8]) -> [UInt8] {
        var collapsed: [UInt8] = []
        collapsed.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            var width = byte <= 0x20 ? 1 : 0
            if byte == 0xC2 || byte == 0xE1 || byte == 0xE2 {
                let rest = bytes[index...]
                width = otherSpaces.first { rest.starts(with: $0) }?.count ?? 0
            }
            if width == 0 {
                collapsed.append(byte)
                index += 1
            } else {
                if collapsed.last != 0x20 { collapsed.append(0x20) }
                index += width
            }
        }
        return collapsed
    }
}

extension UnsafeRawBufferPointer {
    /// Whether two bytes stand somewhere, one behind the other.
    fileprivate func contains(_ pair: [UInt8]) -> Bool {
        var last: UInt8 = 0
        for byte in self {
            if byte == pair[1], last == pair[0] { return true }
            last = byte
        }
        return false
    }
}
