/// The kinds of JSON values.
package enum JSONKind: Sendable, Hashable {
    case object, array, string, number, boolean, null

    /// The kind with its article, for error sentences.
    package var noun: String {
        switch self {
        case .object: "an object"
        case .array: "an array"
        case .string: "a string"
        case .number: "a number"
        case .boolean: "true or false"
        case .null: "null"
        }
    }
}

/// Where one value stands in the bytes that a ``JSONScanner`` read, already checked.
///
/// It holds offsets, not bytes, so that a value costs nothing until somebody wants it.
package struct JSONSlice: Sendable, Hashable {
    /// What the value is.
    package let kind: JSONKind
    /// Whether the value is a string with a backslash in it, so that its bytes are not its text.
    package let isEscaped: Bool

    // 32 bits: a record of every key is kept while its object is read.
    private let start: UInt32
    private let end: UInt32

    init(kind: JSONKind, range: Range<Int>, isEscaped: Bool = false) {
        self.kind = kind
        self.isEscaped = isEscaped
        start = UInt32(truncatingIfNeeded: range.lowerBound)
        end = UInt32(truncatingIfNeeded: range.upperBound)
    }

    /// The value's bytes as they were written, the quotes of a string included.
    package var range: Range<Int> { Int(start)..<Int(end) }

    /// What stands between the quotes of a string, as it was written.
    package var contents: Range<Int> { (Int(start) + 1)..<(Int(end) - 1) }
}

/// One key of an object, with what finds it among others quickly.
package struct JSONKey: Sendable, Hashable {
    /// Where the key stands.
    package let slice: JSONSlice
    /// Equal for equal keys; see ``JSONSignature``.
    package let signature: JSONSignature
}

/// Eight bytes that differ for most different keys: the first seven of the key's text and its
/// length (255 for anything longer). Keys of at most seven bytes are equal when these are.
package struct JSONSignature: Sendable, Hashable, Comparable {
    private let rawValue: UInt64

    /// The signature of a key's text.
    package init(_ text: some Collection<UInt8>) {
        var value: UInt64 = 0
        for (index, byte) in text.prefix(7).enumerated() { value |= UInt64(byte) << (8 * index) }
        rawValue = value | Self.lengthBits(text.count)
    }

    /// The signature of `count` bytes at `offset`, read in one go where eight bytes are there.
    init(_ bytes: UnsafeRawBufferPointer, at offset: Int, count: Int) {
        var value: UInt64 = 0
        if offset + 8 <= bytes.count {
            let mask = UInt64(1) << (8 * UInt64(min(count, 7))) - 1
            value = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self).littleEndian & mask
        } else {
            for index in 0..<min(count, 7) { value |= UInt64(bytes[offset + index]) << (8 * index) }
        }
        rawValue = value | Self.lengthBits(count)
    }

    /// An arbitrary order, in which equal signatures are neighbours.
    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    private static func lengthBits(_ count: Int) -> UInt64 { UInt64(min(count, 255)) << 56 }
}
