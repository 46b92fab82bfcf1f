// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Dates, times and durations in the syntax of RFC 3339.
enum TimeTexts {
    typealias Bytes = ArraySlice<UInt8>

    static func isDateTime(_ text: Bytes) -> Bool {
        guard text.count > 11, case let mark = text[text.startIndex + 10], mark | 0x20 == 0x74 else { return false }
        return isDate(text.prefix(10)) && isTime(text.dropFirst(11))
    }

    static func isDate(_ text: Bytes) -> Bool {
        let parts = text.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.map(\.count) == [4, 2, 2], let year = number(parts[0]), let month = number(parts[1]),
            let day = number(parts[2]), (1...12).contains(month)
        else { return false }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return day >= 1 && day <= days[month - 1]
    }

    static func isTime(_ text: Bytes) -> Bool {
        guard let clock = clock(text.prefix(8)) else { return false }
        var rest = text.dropFirst(8)
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            let fraction = rest.prefix(while: isDigit)
            if fraction.isEmpty { return false }
            rest = rest.dropFirst(fraction.count)
        }
        guard let offset = offset(rest) else { return false }
        if clock.second < 60 { return true }
        // a leap second ends a day in UTC
        let minutes = (clock.hour * 60 + clock.minute - offset + 2880) % 1440
        return clock.second == 60 && minutes == 23 * 60 + 59
    }

    private static func clock(_ text: Bytes) -> (hour: Int, minute: Int, second: Int)? {
        let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.map(\.count) == [2, 2, 2], let hour = number(parts[0]), let minute = number(parts[1]),
            let second = number(parts[2]), hour < 24, minute < 60, second <= 60
        else { return nil }
        return (hour, minute, second)
    }

    /// Minutes east of UTC.
    private static func offset(_ text: Bytes) -> Int? {
        guard let sign = text.first else { return nil }
        if text.count == 1 { return sign | 0x20 == UInt8(ascii: "z") ? 0 : nil }
        let parts = text.dropFirst().split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.map(\.count) == [2, 2], let hours = number(parts[0]), let minutes = number(parts[1]), hours < 24,
            minutes < 60
        else { return nil }
        switch sign {
        case UInt8(ascii: "+"): return hours * 60 + minutes
        case UInt8(ascii: "-"): return -(hours * 60 + minutes)
        default: return nil
        }
    }

    /// RFC 3339 appendix A.
    static func isDuration(_ text: Bytes) -> Bool {
        guard text.first == UInt8(ascii: "P"), text.count > 2 else { return false }
        let halves = text.dropFirst().split(
            separator: UInt8(ascii: "T"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let dates = units(halves[0]) else { return false }
        let isDates = dates == "W" || dates.isEmpty || "YMD".contains(dates)
        guard halves.count == 2 else { return isDates }
        guard let times = units(halves[1]), !times.isEmpty, dates != "W" else { return false }
        return isDates && "HMS".contains(times)
    }

    /// The letters after the numbers; nil if a number or a letter is missing.
    private static func units(_ text: Bytes) -> String? {
        var letters = ""
        var rest = text
        while !rest.isEmpty {
            let digits = rest.prefix(while: isDigit)
            guard !digits.isEmpty, let unit = rest.dropFirst(digits.count).first else { return nil }
            letters.unicodeScalars.append(Unicode.Scalar(unit))
            rest = rest.dropFirst(digits.count + 1)
        }
        return letters
    }

    static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    /// A number of at most four digits.
    private static func number(_ digits: Bytes) -> Int? {
        guard digits.count <= 4, digits.allSatisfy(isDigit) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}
