// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// A moment of the calendar, in UTC.
package struct WallTime: Sendable, Equatable {
    /// Since 1970.
    package var seconds: Int
    package var nanoseconds: Int

    package init(seconds: Int, nanoseconds: Int = 0) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Since 1970.
    package var milliseconds: Int64 { Int64(seconds) &* 1000 &+ Int64(nanoseconds / 1_000_000) }

    package static var now: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(seconds: time.tv_sec, nanoseconds: time.tv_nsec)
    }
}

extension WallTime {
    /// From milliseconds since 1970, in the years 1 to 9999.
    package init(milliseconds: Int64) {
        let clamped = min(max(milliseconds, -62_135_596_800_000), 253_402_300_799_999)
        // safe: clamped above
        self.init(seconds: Int(clamped / 1000), nanoseconds: Int(max(0, clamped % 1000)) * 1_000_000)
    }

    /// RFC 3339 in UTC, with milliseconds, in the years 0 to 9999.
    package var text: String {
        let (year, month, day) = Self.date(ofDay: Self.floorDivide(seconds, 86400))
        let second = seconds - Self.floorDivide(seconds, 86400) * 86400
        return String(unsafeUninitializedCapacity: 24) { bytes in
            var count = 0
            func add(_ number: Int, digits: Int, _ sign: Unicode.Scalar) {
                var rest = min(max(number, 0), 9999)
                for place in (count..<count + digits).reversed() {
                    bytes[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                    rest /= 10
                }
                bytes[count + digits] = UInt8(ascii: sign)
                count += digits + 1
            }
            add(year, digits: 4, "-")
            add(month, digits: 2, "-")
            add(day, digits: 2, "T")
            add(second / 3600, digits: 2, ":")
            add(second / 60 % 60, digits: 2, ":")
            add(second % 60, digits: 2, ".")
            add(nanoseconds / 1_000_000 % 1000, digits: 3, "Z")
            return count
        }
    }

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
}
