/// Names one run of the kernel: what a process of another boot left behind cannot be alive.
package struct BootID: Sendable, Hashable, CustomStringConvertible {
    /// The first eight bytes, the first byte highest.
    package let high: UInt64
    /// The last eight bytes, the first byte highest.
    package let low: UInt64

    /// A boot id of two words.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A boot id of 16 bytes; `nil` for another number.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The boot id of the running kernel.
    ///
    /// - Throws: ``SystemCallError`` when `/proc` cannot be read.
    package static func current() throws(SystemCallError) -> BootID {
        let path = "/proc/sys/kernel/random/boot_id"
        let text = try FileSystem.contents(of: path, limit: 64)
        guard let bootID = BootID(uuid: text) else {
            throw SystemCallError(call: .read, errno: .invalidArgument, path: path)
        }
        return bootID
    }

    /// The 16 bytes.
    package var bytes: [UInt8] {
        [high, low].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) }
        }
    }

    /// 32 hexadecimal digits.
    package var description: String {
        [high, low].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Reads "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", white space at the end included.
    private init?(uuid text: [UInt8]) {
        let digits = String(decoding: text.filter { $0 != UInt8(ascii: "-") }, as: UTF8.self)
            .prefix { $0.isHexDigit }
        guard digits.utf8.count == 32,
            let high = UInt64(digits.prefix(16), radix: 16),
            let low = UInt64(digits.suffix(16), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
    }
}
