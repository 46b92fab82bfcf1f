// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Parses the date of an Expires attribute (RFC 6265bis section 5.1.1): tokens in any order, with other text around
/// them.
package enum CookieDate {
    /// Seconds since 1970; nil if the text has no valid date.
    package static func parse(_ text: some Collection<UInt8>) -> Int64? {
        var found = Parts()
        for token in text.split(whereSeparator: isDelimiter) { found.take(token) }
        guard let clock = found.clock, let day = found.day, let month = found.month, var year = found.year else {
            return nil
        }
        switch year {
        case 70...99: year += 1900
        case 0...69: year += 2000
        default: break
        }
        guard year >= 1601, clock.2 < 60 else { return nil }
        return CivilTime(year, month, day, clock)?.seconds
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    private struct Parts {
        var clock: (Int, Int, Int)?
        var day: Int?
        var month: Int?
        var year: Int?

        mutating func take(_ token: some Collection<UInt8>) {
            if clock == nil, let found = CookieDate.clock(token) {
                clock = found
            } else if day == nil, let found = CookieDate.number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = CookieDate.month(token) {
                month = found
            } else if year == nil, let found = CookieDate.number(token, digits: 2...4) {
                year = found
            }
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Parses a number with so many digits at the beginning, and no further digit.
    private static func number(_ token: some Collection<UInt8>, digits: ClosedRange<Int>) -> Int? {
        let found = token.prefix(digits.upperBound + 1).prefix(while: isDigit)
        guard digits.contains(found.count) else { return nil }
        return found.reduce(0) { $0 * 10 + Int($1 &- 0x30) }
    }

    /// `h:m:s`, each with one or two digits.
    private static func clock(_ token: some Collection<UInt8>) -> (Int, Int, Int)? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].allSatisfy(isDigit), parts[1].allSatisfy(isDigit),
            let hour = number(parts[0], digits: 1...2), let minute = number(parts[1], digits: 1...2),
            let second = number(parts[2], digits: 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    private static func month(_ token: some Collection<UInt8>) -> Int? {
        let start = token.prefix(3).map { $0 | 0x20 }
        guard start.count == 3 else { return nil }
        return HTTPDate.months.firstIndex { $0.utf8.elementsEqual(start, by: { $0 | 0x20 == $1 }) }.map { $0 + 1 }
    }
}
