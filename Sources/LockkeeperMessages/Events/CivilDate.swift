/// A day of the proleptic Gregorian calendar.
struct CivilDate {
    let year: Int64
    let month: Int64
    let day: Int64

    // Years begin in March here, so that the leap day is a year's last, and 400 years, which all
    // have the same number of days, are an era (H. Hinnant, "chrono-Compatible Low-Level Date
    // Algorithms").
    private static let daysPerEra: Int64 = 146_097
    // From 0000-03-01 to 1970-01-01.
    private static let daysBefore1970: Int64 = 719_468

    /// A day by its number; `nil` for one that the calendar does not have.
    init?(year: Int64, month: Int64, day: Int64) {
        guard 1...12 ~= month, 1...Self.dayCount(year: year, month: month) ~= day else {
            return nil
        }
        self.year = year
        self.month = month
        self.day = day
    }

    /// The day that lies so many days after 1970-01-01.
    init(daysSince1970 days: Int64) {
        let (era, dayOfEra) = (days + Self.daysBefore1970).dividedDown(by: Self.daysPerEra)
        let leapDays = dayOfEra / 1460 - dayOfEra / 36_524 + dayOfEra / 146_096
        let yearOfEra = (dayOfEra - leapDays) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Days since 1970-01-01.
    var daysSince1970: Int64 {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).dividedDown(by: 400)
        let monthFromMarch = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * Self.daysPerEra + dayOfEra - Self.daysBefore1970
    }

    private static func dayCount(year: Int64, month: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension Int64 {
    /// Quotient and remainder of a division that rounds down, for which the remainder is never
    /// negative.
    func dividedDown(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
