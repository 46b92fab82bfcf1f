// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// HTTP dates (RFC 9110 section 5.6.7), as seconds since 1970.
package enum HTTPDate {
    /// The three formats: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and
    /// `Sun Nov  6 08:49:37 1994`. Nil for anything else, and for days and times that do not exist.
    ///
    /// - Parameter now: decides the century of a two-digit year: a date more than 50 years ahead is taken as past.
    package static func parse(_ text: String, now: Int64) -> Int64? {
        var scan = DateScanner(text)
        guard let name = scan.letters() else { return nil }
        var date: CivilTime?
        if scan.skip(", ") {
            if shortDays.contains(name) { date = scan.fixed(" ") }
            if longDays.contains(name) { date = scan.obsolete(now) }
        } else if shortDays.contains(name), scan.skip(" ") {
            date = scan.asctime()
        }
        guard scan.isAtEnd else { return nil }
        return date?.seconds
    }

    /// The first of the three formats; nil outside the years 1 to 9999.
    package static func format(_ seconds: Int64) -> String? {
        guard let time = CivilTime(seconds: seconds), (1...9999).contains(time.year) else { return nil }
        let clock = [time.hour, time.minute, time.second].map(twoDigits).joined(separator: ":")
        let year = String(10000 + time.year).dropFirst()
        return "\(shortDays[time.weekday]), \(twoDigits(time.day)) \(months[time.month - 1]) \(year) \(clock) GMT"
    }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    fileprivate static let shortDays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    static let longDays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}

/// A day and time of the Gregorian calendar, in UTC.
struct CivilTime: Equatable {
    var year: Int
    /// 1 to 12.
    var month: Int
    var day: Int
    var hour: Int
    var minute: Int
    /// 60 in a leap second.
    var second: Int

    /// Nil for a time that does not exist.
    init?(_ year: Int, _ month: Int, _ day: Int, _ clock: (Int, Int, Int)) {
        guard (1...9999).contains(year), (1...12).contains(month), day >= 1, day <= Self.days(in: month, of: year),
            (0..<24).contains(clock.0), (0..<60).contains(clock.1), (0...60).contains(clock.2)
        else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
        (hour, minute, second) = clock
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    /// Seconds since 1970.
    var seconds: Int64 {
        // safe: years have four digits
        Int64(Self.days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
    }

    /// Days since 1970, for the years 0 to 9999. Counts in eras of 400 years that begin in March, so that leap days come
    /// last.
    static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// 1 for the first of January.
    var dayOfYear: Int { (1..<month).reduce(day) { $0 + Self.days(in: $1, of: year) } }

    /// 0 for Sunday.
    var weekday: Int {
        let days = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        return Int(truncatingIfNeeded: (days % 7 + 11) % 7)
    }

    /// Nil outside the years 1 to 9999.
    init?(seconds: Int64) {
        guard seconds >= -62_135_596_800, seconds <= 253_402_300_799 else { return nil }
        let total = Int(truncatingIfNeeded: seconds) + 719_468 * 86_400
        let days = total / 86_400
        let clock = total % 86_400
        let era = days / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        self.init(
            year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1,
            (clock / 3600, clock / 60 % 60, clock % 60))
    }
}

/// Reads the pieces of a date in sequence.
private struct DateScanner {
    private let bytes: [UInt8]
    private var position = 0

    /// No date is longer than 40 bytes.
    init(_ text: String) { bytes = Array(text.utf8.prefix(64)) }

    var isAtEnd: Bool { position == bytes.count }

    mutating func letters() -> String? {
        let letters = bytes[position...].prefix { (0x61...0x7A).contains($0 | 0x20) }
        position = letters.endIndex
        return letters.isEmpty ? nil : String(decoding: letters, as: UTF8.self)
    }

    mutating func skip(_ text: String) -> Bool {
        guard bytes[position...].starts(with: text.utf8) else { return false }
        position += text.utf8.count
        return true
    }

    /// Exactly so many digits.
    mutating func number(_ digits: Int) -> Int? {
        let part = bytes[position...].prefix(digits)
        guard part.count == digits, part.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        position += digits
        return part.reduce(0) { number, byte in number * 10 + Int(byte &- 0x30) }
    }

    mutating func month() -> Int? {
        guard let name = letters(), let index = HTTPDate.months.firstIndex(of: name) else { return nil }
        return index + 1
    }

    mutating func clock() -> (Int, Int, Int)? {
        guard let hour = number(2), skip(":"), let minute = number(2), skip(":"), let second = number(2) else {
            return nil
        }
        return (hour, minute, second)
    }

    /// `06 Nov 1994 08:49:37 GMT`
    mutating func fixed(_ separator: String) -> CivilTime? {
        guard let day = number(2), skip(separator), let month = month(), skip(separator), let year = number(4),
            skip(" "),
            let clock = clock(), skip(" GMT")
        else { return nil }
        return CivilTime(year, month, day, clock)
    }

    /// `06-Nov-94 08:49:37 GMT`
    mutating func obsolete(_ now: Int64) -> CivilTime? {
        guard let day = number(2), skip("-"), let month = month(), skip("-"), let short = number(2), skip(" "),
            let clock = clock(), skip(" GMT"), let thisYear = CivilTime(seconds: now)?.year
        else { return nil }
        var year = thisYear / 100 * 100 + short
        if year > thisYear + 50 { year -= 100 }
        return CivilTime(year, month, day, clock)
    }

    /// `Nov  6 08:49:37 1994`
    mutating func asctime() -> CivilTime? {
        guard let month = month(), skip(" ") else { return nil }
        guard let day = skip(" ") ? number(1) : number(2), skip(" "), let clock = clock(), skip(" "),
            let year = number(4)
        else { return nil }
        return CivilTime(year, month, day, clock)
    }
}
