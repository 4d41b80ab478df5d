import LockkeeperDomain

/// What stands in the index for a message beside its text.
enum SearchKeys {
    /// Numbers in one hour, as a power of two. Fewer would soon be used up, more would make the
    /// index larger, which keeps differences of these numbers.
    static let hourBits: Int64 = 20

    /// The first number of the hour in which an instant lies, in milliseconds since 1970.
    static func firstDoc(at instant: Int64) -> Int64 {
        // The quotient is rounded towards zero; an hour before 1970 begins below it.
        let hour = instant / hourLength - (instant % hourLength < 0 ? 1 : 0)
        return hour << hourBits
    }

    /// The last number of the hour that begins with a number.
    static func lastDoc(from first: Int64) -> Int64 { first + (1 << hourBits) - 1 }

    private static let hourLength: Int64 = 3_600_000

    /// Three characters of private use that stand for a conversation's row.
    static func token(ofConversation row: Int64) -> [UInt8] {
        token(UInt64(bitPattern: row), in: 0xF0000)
    }

    /// Three characters of private use that stand for a sender; others may have the same ones.
    static func token(ofSender sender: [UInt8]) -> [UInt8] {
        // FNV-1a: any hash would do that is the same in every process.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in sender { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return token(hash ^ hash >> 45, in: 0x100000)
    }

    private static func token(_ number: UInt64, in plane: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        for shift in stride(from: 0, through: 30, by: 15) {
            let value = plane + UInt32(truncatingIfNeeded: number >> UInt64(shift)) & 0x7FFF
            guard let scalar = Unicode.Scalar(value) else {
                preconditionFailure("the planes of private use hold scalars only")
            }
            bytes += Array(String(Character(scalar)).utf8)
        }
        return bytes
    }
}
