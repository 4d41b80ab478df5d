/// Reads one RFC 3339 date and time, for ``Timestamp``.
struct TimestampParser {
    private let bytes: UnsafeRawBufferPointer
    private var index = 0

    /// A parser of some bytes, which it borrows.
    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Milliseconds since 1970; the years 0 and 10000, which offsets and leap seconds reach, are
    /// left for the caller to judge.
    mutating func parse() throws(TimestampError) -> Int64 {
        let year = try number(digits: 4, in: 0...9999)
        try separator("-")
        let month = try number(digits: 2, in: 1...12)
        try separator("-")
        let dayOffset = index
        let day = try number(digits: 2, in: 1...31)
        guard let date = CivilDate(year: year, month: month, day: day) else {
            throw .malformed(offset: dayOffset)
        }
        try separator("T")
        let hour = try number(digits: 2, in: 0...23)
        try separator(":")
        let minute = try number(digits: 2, in: 0...59)
        try separator(":")
        let secondOffset = index
        let second = try number(digits: 2, in: 0...60)
        let fraction = try milliseconds()
        let offset = try minutesFromUTC()
        guard index == bytes.count else { throw .malformed(offset: index) }

        let minutes = (date.daysSince1970 * 24 + hour) * 60 + minute - offset
        // UTC inserts its leap seconds at the end of a day and nowhere else.
        guard second < 60 || minutes.dividedDown(by: 1440).remainder == 1439 else {
            throw .malformed(offset: secondOffset)
        }
        return (minutes * 60 + second) * 1000 + fraction
    }

    private mutating func number(
        digits: Int,
        in range: ClosedRange<Int64>
    ) throws(TimestampError) -> Int64 {
        let start = index
        var value: Int64 = 0
        for _ in 0..<digits {
            guard let digit = nextDigit() else { throw .malformed(offset: index) }
            value = value * 10 + digit
        }
        guard range ~= value else { throw .malformed(offset: start) }
        return value
    }

    /// The fraction of the second, if there is one, cut to milliseconds.
    private mutating func milliseconds() throws(TimestampError) -> Int64 {
        guard index < bytes.count, bytes[index] == UInt8(ascii: ".") else { return 0 }
        index += 1
        let start = index
        var value: Int64 = 0
        var weight: Int64 = 100
        while let digit = nextDigit() {
            value += digit * weight
            weight /= 10
        }
        guard index > start else { throw .malformed(offset: index) }
        return value
    }

    private mutating func minutesFromUTC() throws(TimestampError) -> Int64 {
        guard index < bytes.count else { throw .malformed(offset: index) }
        let sign = bytes[index]
        switch sign {
        case UInt8(ascii: "Z"), UInt8(ascii: "z"):
            index += 1
            return 0
        case UInt8(ascii: "+"), UInt8(ascii: "-"):
            index += 1
        default:
            throw .malformed(offset: index)
        }
        let hours = try number(digits: 2, in: 0...23)
        try separator(":")
        let minutes = hours * 60 + (try number(digits: 2, in: 0...59))
        return sign == UInt8(ascii: "-") ? -minutes : minutes
    }

    /// Passes over a separator. RFC 3339 allows its letters in lower case.
    private mutating func separator(_ expected: Unicode.Scalar) throws(TimestampError) {
        let isThere =
            index < bytes.count
            && (bytes[index] == UInt8(ascii: expected)
                || (expected == "T" && bytes[index] == UInt8(ascii: "t")))
        guard isThere else { throw .malformed(offset: index) }
        index += 1
    }

    private mutating func nextDigit() -> Int64? {
        guard index < bytes.count else { return nil }
        let value = bytes[index] &- UInt8(ascii: "0")
        guard value <= 9 else { return nil }
        index += 1
        return Int64(value)
    }
}
