import LockkeeperMessages
import Testing

@Suite struct TimestampTests {
    @Test(
        "A date and time is read to the millisecond and written in UTC",
        arguments: [
            ("1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z"),
            ("2004-11-15T01:50:00Z", 1_100_483_400_000, "2004-11-15T01:50:00Z"),
            ("2004-11-15T01:50:00.1Z", 1_100_483_400_100, "2004-11-15T01:50:00.100Z"),
            ("2004-11-15T01:50:00.0019999Z", 1_100_483_400_001, "2004-11-15T01:50:00.001Z"),
            ("2004-11-15T01:50:00.000Z", 1_100_483_400_000, "2004-11-15T01:50:00Z"),
            ("2004-11-15T03:50:00+02:00", 1_100_483_400_000, "2004-11-15T01:50:00Z"),
            ("2004-11-14t20:20:00.5-05:30", 1_100_483_400_500, "2004-11-15T01:50:00.500Z"),
            ("2004-11-15t01:50:00z", 1_100_483_400_000, "2004-11-15T01:50:00Z"),
            ("2004-11-15T01:50:00-00:00", 1_100_483_400_000, "2004-11-15T01:50:00Z"),
            ("1969-12-31T23:59:59.999Z", -1, "1969-12-31T23:59:59.999Z"),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000, "2017-01-01T00:00:00Z"),
            ("2016-12-31T18:59:60-05:00", 1_483_228_800_000, "2017-01-01T00:00:00Z"),
            ("2000-02-29T00:00:00Z", 951_782_400_000, "2000-02-29T00:00:00Z"),
            ("0001-01-01T00:00:00Z", -62_135_596_800_000, "0001-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ]
    )
    func reads(text: String, count: Int64, written: String) throws {
        let timestamp = try Timestamp(text)
        #expect(timestamp.millisecondsSince1970 == count)
        #expect(timestamp.description == written)
    }

    @Test(
        "What is no date and time is refused with its place",
        arguments: [
            ("", .malformed(offset: 0)),
            ("2004-11-15", .malformed(offset: 10)),
            ("2004-11-15 01:50:00Z", .malformed(offset: 10)),
            ("2004-11-15T01:50Z", .malformed(offset: 16)),
            ("2004-11-15T01:50:00", .malformed(offset: 19)),
            ("2004-11-15T01:50:00.Z", .malformed(offset: 20)),
            ("2004-11-15T01:50:00+0200", .malformed(offset: 22)),
            ("2004-11-15T01:50:00Z ", .malformed(offset: 20)),
            ("2004-00-15T01:50:00Z", .malformed(offset: 5)),
            ("2004-13-15T01:50:00Z", .malformed(offset: 5)),
            ("2004-04-31T01:50:00Z", .malformed(offset: 8)),
            ("2003-02-29T01:50:00Z", .malformed(offset: 8)),
            ("1900-02-29T01:50:00Z", .malformed(offset: 8)),
            ("2004-11-15T24:00:00Z", .malformed(offset: 11)),
            ("2004-11-15T01:60:00Z", .malformed(offset: 14)),
            ("2004-11-15T01:50:61Z", .malformed(offset: 17)),
            // UTC has no leap second in the middle of a day.
            ("2004-11-15T01:50:60Z", .malformed(offset: 17)),
            ("+2004-11-15T01:50:00Z", .malformed(offset: 0)),
            ("２004-11-15T01:50:00Z", .malformed(offset: 0)),
            ("0000-12-31T23:59:59Z", .outOfRange),
            ("0001-01-01T00:00:00+00:01", .outOfRange),
            ("9999-12-31T23:59:59-00:01", .outOfRange),
            ("9999-12-31T23:59:60Z", .outOfRange),
        ] as [(String, TimestampError)]
    )
    func refuses(text: String, error: TimestampError) {
        #expect(throws: error) { try Timestamp(text) }
    }

    @Test("Every year from 1 to 9999, and every day of four centuries, follows the one before it")
    func coversTheCalendar() throws {
        var count = Timestamp.earliest.millisecondsSince1970
        for year in 1...9999 {
            let isLeap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0)
            let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            for (month, length) in zip(1..., lengths) {
                // Four hundred years repeat: within them each day, elsewhere each month's ends.
                let isWhole = 1800..<2200 ~= year
                for day in isWhole ? Array(1...length) : [1, length] {
                    let instant = count + Int64(day - 1) * 86_400_000
                    let expected = [year, month, day]
                    guard try fields(of: instant) == expected else {
                        Issue.record("\(instant) ms is not \(expected)")
                        return
                    }
                }
                count += Int64(length) * 86_400_000
            }
        }
        #expect(count == Timestamp.latest.millisecondsSince1970 + 1)
    }

    @Test("A count of milliseconds outside of the years 1 to 9999 is refused")
    func boundsCounts() {
        for count in [
            Timestamp.earliest.millisecondsSince1970 - 1,
            Timestamp.latest.millisecondsSince1970 + 1, .min, .max,
        ] {
            #expect(throws: TimestampError.outOfRange) {
                try Timestamp(millisecondsSince1970: count)
            }
        }
    }

    /// Year, month and day of an instant, which must also read back from its text.
    private func fields(of count: Int64) throws -> [Int] {
        let text = try Timestamp(millisecondsSince1970: count).description
        guard try Timestamp(text).millisecondsSince1970 == count else { return [] }
        var fields = [0]
        for digit in text.utf8.prefix(10) {
            if digit == UInt8(ascii: "-") {
                fields.append(0)
            } else {
                fields[fields.count - 1] = fields[fields.count - 1] * 10 + Int(digit & 15)
            }
        }
        return fields
    }
}
