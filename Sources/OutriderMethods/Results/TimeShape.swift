// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// A moment as RFC 3339 text in UTC, with milliseconds.
struct TimeShape: JSONEncodable {
    var time: WallTime

    init(_ time: WallTime) { self.time = time }

    var description: String {
        let (year, month, day) = Self.date(ofDay: Self.floorDivide(time.seconds, 86400))
        let second = time.seconds - Self.floorDivide(time.seconds, 86400) * 86400
        let clock = "\(Self.two(second / 3600)):\(Self.two(second / 60 % 60)):\(Self.two(second % 60))"
        let thousandths = "\(1000 + time.nanoseconds / 1_000_000 % 1000)".dropFirst()
        return "\(year)-\(Self.two(month))-\(Self.two(day))T\(clock).\(thousandths)Z"
    }

    func encode(to writer: inout JSONWriter) { writer.value(description) }

    /// Days since 1970 to a date of the Gregorian calendar, counting years from March so that leap days come last.
    private static func date(ofDay day: Int) -> (Int, Int, Int) {
        let shifted = day + 719_468
        let era = floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func floorDivide(_ number: Int, _ divisor: Int) -> Int {
        let quotient = number / divisor
        return number % divisor < 0 ? quotient - 1 : quotient
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

extension ClockPair {
    /// Its side of the calendar, in the years 1 to 9999.
    var wallTime: WallTime {
        let clamped = min(max(wall.isFinite ? wall : 0, -62_135_596_800), 253_402_300_799)
        // safe: clamped above
        return WallTime(seconds: Int(clamped.rounded(.down)))
    }
}
