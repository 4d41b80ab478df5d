import LockkeeperDomain

/// The name of a kept packet: its place in the order of arrival, and 128 random bits.
///
/// The bits make it a name that is never given again, although the numbers begin anew once nothing
/// waits. Two processes that keep at the same moment may take the same number: neither packet was
/// first then.
package struct PacketName: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The place in the order.
    package let number: UInt64
    private let bits: String

    /// A new name.
    package init(number: UInt64, using generator: inout some RandomNumberGenerator) {
        self.number = number
        let halves: [UInt64] = [generator.next(), generator.next()]
        bits =
            halves.flatMap { half in
                (0..<8).map { UInt8(truncatingIfNeeded: half >> (8 * $0)) }
            }.hexadecimal
    }

    /// Reads a name; `nil` where it is none.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-")
        guard parts.count == 2, parts[0].utf8.count == Self.digitCount,
            parts[1].utf8.count == Self.bitsDigitCount,
            let number = UInt64(parts[0]),
            let bytes = [UInt8](hexadecimal: parts[1])
        else { return nil }
        self.number = number
        bits = bytes.hexadecimal
        // One name, one text: it is a file's name as well.
        guard text == description else { return nil }
    }

    /// The name as text, which sorts as the packets do.
    package var description: String {
        let digits = String(number)
        return String(repeating: "0", count: Self.digitCount - digits.count) + digits + "-" + bits
    }

    /// Orders names by their numbers.
    package static func < (left: PacketName, right: PacketName) -> Bool {
        (left.number, left.bits) < (right.number, right.bits)
    }

    /// As many digits as the largest number has.
    private static let digitCount = 20
    private static let bitsDigitCount = 32
}
