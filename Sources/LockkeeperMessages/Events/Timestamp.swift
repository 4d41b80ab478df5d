/// An instant of the calendar, to the millisecond, as a server states it.
///
/// It is shown, and lists are sorted by it. Nothing is decided by it: what comes first is a matter
/// of `seq`, deadlines go by the monotonic clock.
public struct Timestamp: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
    public let millisecondsSince1970: Int64

    /// 0001-01-01T00:00:00Z.
    public static let earliest = Timestamp(unchecked: -62_135_596_800_000)
    /// 9999-12-31T23:59:59.999Z.
    public static let latest = Timestamp(unchecked: 253_402_300_799_999)

    /// An instant from a count of milliseconds.
    ///
    /// - Throws: ``TimestampError/outOfRange`` before ``earliest`` or after ``latest``.
    public init(millisecondsSince1970 count: Int64) throws(TimestampError) {
        guard count >= Self.earliest.millisecondsSince1970,
            count <= Self.latest.millisecondsSince1970
        else { throw .outOfRange }
        self.init(unchecked: count)
    }

    /// Reads RFC 3339. Any offset is taken into account, fractions are cut to milliseconds, and a
    /// leap second (23:59:60 UTC) is the second that follows it.
    ///
    /// - Throws: ``TimestampError`` when the text is something else or out of range.
    public init(_ text: String) throws(TimestampError) {
        self = try Array(text.utf8).withUnsafeBufferPointer { bytes throws(TimestampError) in
            try Timestamp(rfc3339: UnsafeRawBufferPointer(bytes))
        }
    }

    /// Reads RFC 3339 from its bytes.
    ///
    /// - Throws: ``TimestampError`` when they are something else or out of range.
    package init(rfc3339 bytes: UnsafeRawBufferPointer) throws(TimestampError) {
        var parser = TimestampParser(bytes)
        try self.init(millisecondsSince1970: parser.parse())
    }

    /// An instant that the store kept; one that a damaged row has out of range becomes the nearest.
    package init(stored count: Int64) {
        let range = Self.earliest.millisecondsSince1970...Self.latest.millisecondsSince1970
        self.init(unchecked: min(max(count, range.lowerBound), range.upperBound))
    }

    private init(unchecked count: Int64) { millisecondsSince1970 = count }

    /// RFC 3339 in UTC: `2004-11-15T01:50:00Z`, with three digits of a fraction where it is not 0.
    public var description: String {
        let (days, millisecond) = millisecondsSince1970.dividedDown(by: 86_400_000)
        let date = CivilDate(daysSince1970: days)
        let (second, fraction) = (millisecond / 1000, millisecond % 1000)
        var text: [UInt8] = []
        text.reserveCapacity(24)
        text.append(date.year, digits: 4, before: "-")
        text.append(date.month, digits: 2, before: "-")
        text.append(date.day, digits: 2, before: "T")
        text.append(second / 3600, digits: 2, before: ":")
        text.append(second / 60 % 60, digits: 2, before: ":")
        text.append(second % 60, digits: 2, before: fraction == 0 ? "Z" : ".")
        if fraction != 0 { text.append(fraction, digits: 3, before: "Z") }
        return String(decoding: text, as: UTF8.self)
    }

    /// Orders instants in time.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.millisecondsSince1970 < right.millisecondsSince1970
    }
}

extension [UInt8] {
    /// Appends a number with leading zeros, and what separates it from the next.
    fileprivate mutating func append(
        _ value: Int64,
        digits: Int,
        before separator: Unicode.Scalar
    ) {
        var divisor: Int64 = 1
        for _ in 1..<digits { divisor *= 10 }
        while divisor > 0 {
            append(UInt8(ascii: "0") + UInt8(value / divisor % 10))
            divisor /= 10
        }
        append(UInt8(ascii: separator))
    }
}
