// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A moment in the years 1 to 9999, to the nanosecond.
package struct Moment: Sendable, Equatable {
    /// Since 1970, rounded down.
    package let seconds: Int64
    /// From 0 to 999,999,999.
    package let nanoseconds: Int64
    private let time: CivilTime

    /// 2001-01-01 00:00 UTC, which Apple's systems count from.
    static let reference: Int64 = 978_307_200

    init?(_ seconds: Int64, _ nanoseconds: Int64) {
        guard let time = CivilTime(seconds: seconds) else { return nil }
        self.seconds = seconds
        self.nanoseconds = nanoseconds
        self.time = time
    }

    /// Parses seconds since 1970; digits below a nanosecond are cut off.
    package init?(_ number: DecimalNumber) {
        guard number.whole.count <= 12 else { return nil }
        let size = number.whole.reduce(Int64(0)) { $0 * 10 + Int64(truncatingIfNeeded: $1 &- 0x30) }
        let fraction = Self.nanoseconds(number.fraction[...])
        guard number.isNegative else {
            self.init(size, fraction)
            return
        }
        self.init(fraction == 0 ? -size : -size - 1, fraction == 0 ? 0 : 1_000_000_000 - fraction)
    }

    /// The form of RFC 3339: `2030-01-02T03:04:05.678Z`, `2030-01-02T03:04:05+01:00`.
    package init?(_ text: String) {
        let bytes = Array(text.utf8.prefix(64))
        guard bytes.count >= 20, text.utf8.count < 64, bytes[4] == 0x2D, bytes[7] == 0x2D, bytes[10] | 0x20 == 0x74,
            bytes[13] == 0x3A, bytes[16] == 0x3A, let year = Self.number(bytes[0..<4]),
            let month = Self.number(bytes[5..<7]), let day = Self.number(bytes[8..<10]),
            let hour = Self.number(bytes[11..<13]), let minute = Self.number(bytes[14..<16]),
            let second = Self.number(bytes[17..<19]),
            let time = CivilTime(year, month, day, (hour, minute, second))
        else { return nil }
        var rest = bytes[19...]
        var nanoseconds: Int64 = 0
        if rest.first == UInt8(ascii: ".") {
            let digits = rest.dropFirst().prefix { (0x30...0x39).contains($0) }
            guard !digits.isEmpty else { return nil }
            nanoseconds = Self.nanoseconds(digits)
            rest = rest[digits.endIndex...]
        }
        guard let offset = Self.offset(rest) else { return nil }
        self.init(time.seconds - offset, nanoseconds)
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int(truncatingIfNeeded: $1 &- 0x30) }
    }

    private static func nanoseconds(_ fraction: ArraySlice<UInt8>) -> Int64 {
        let digits = fraction.prefix(9)
        return (digits + repeatElement(0x30, count: 9 - digits.count)).reduce(Int64(0)) {
            $0 * 10 + Int64(truncatingIfNeeded: $1 &- 0x30)
        }
    }

    /// Seconds east of Greenwich.
    private static func offset(_ bytes: ArraySlice<UInt8>) -> Int64? {
        let zone = Array(bytes)
        if zone.count == 1 { return zone[0] | 0x20 == 0x7A ? 0 : nil }
        guard zone.count == 6, zone[0] == UInt8(ascii: "+") || zone[0] == UInt8(ascii: "-"), zone[3] == 0x3A,
            let hours = number(zone[1..<3]), let minutes = number(zone[4..<6]), hours < 24, minutes < 60
        else { return nil }
        let size = Int64(hours * 3600 + minutes * 60)  // safe: less than a day
        return zone[0] == UInt8(ascii: "+") ? size : -size
    }

    // MARK: as text

    /// Seconds since a start in seconds after 1970, with at least one place after the point: `123.456`, `5.0`.
    func decimalSeconds(since start: Int64 = 0) -> String {
        Self.decimal(whole: seconds - start, part: nanoseconds, places: 9)
    }

    /// Seconds since 2001 as a number, for formats without decimal text.
    package var referenceSeconds: Double { Double(seconds - Self.reference) + Double(nanoseconds) / 1e9 }

    /// Milliseconds since 1970, with at least one place after the point: `978307323456.0`.
    var decimalMilliseconds: String {
        Self.decimal(whole: seconds * 1000 + nanoseconds / 1_000_000, part: nanoseconds % 1_000_000, places: 6)
    }

    /// The decimal text of a floor and a remainder; the remainder is in units of 10 to the power of minus `places`.
    private static func decimal(whole: Int64, part: Int64, places: Int) -> String {
        let unit = (0..<places).reduce(Int64(1)) { unit, _ in unit * 10 }
        let isNegative = whole < 0
        let size = isNegative && part > 0 ? -whole - 1 : abs(whole)
        var digits = String(unit + (isNegative && part > 0 ? unit - part : part)).utf8.dropFirst()
        while digits.count > 1, digits.last == UInt8(ascii: "0") { digits.removeLast() }
        return "\(isNegative ? "-" : "")\(size).\(Substring(digits))"
    }

    /// To the second, in UTC: `2001-01-01T00:02:03Z`.
    package var iso8601: String { formatted("%Y-%m-%dT%H:%M:%SZ") }

    /// Formats like `strftime` in the C locale and in UTC. Supports
    /// `%Y %m %d %e %H %I %M %S %p %y %j %a %A %b %B %f %s %z %Z %F %T %%`, where `%f` is six digits of microseconds;
    /// other text stays unchanged.
    package func formatted(_ format: String) -> String {
        var out: [UInt8] = []
        var rest = Array(format.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%"), let letter = rest.popFirst() else {
                out.append(byte)
                continue
            }
            if let text = piece(letter) {
                out += text.utf8
            } else {
                out += [byte, letter]
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    private func piece(_ letter: UInt8) -> String? {
        switch letter {
        case UInt8(ascii: "Y"): Self.padded(time.year, 4)
        case UInt8(ascii: "y"): Self.padded(time.year % 100, 2)
        case UInt8(ascii: "m"): Self.padded(time.month, 2)
        case UInt8(ascii: "d"): Self.padded(time.day, 2)
        case UInt8(ascii: "e"): time.day < 10 ? " \(time.day)" : "\(time.day)"
        case UInt8(ascii: "H"): Self.padded(time.hour, 2)
        case UInt8(ascii: "I"): Self.padded((time.hour + 11) % 12 + 1, 2)
        case UInt8(ascii: "M"): Self.padded(time.minute, 2)
        case UInt8(ascii: "S"): Self.padded(time.second, 2)
        case UInt8(ascii: "p"): time.hour < 12 ? "AM" : "PM"
        case UInt8(ascii: "j"): Self.padded(time.dayOfYear, 3)
        case UInt8(ascii: "f"): String(1_000_000 + nanoseconds / 1000).dropFirst().description
        case UInt8(ascii: "s"): seconds.description
        case UInt8(ascii: "F"): formatted("%Y-%m-%d")
        case UInt8(ascii: "T"): formatted("%H:%M:%S")
        case UInt8(ascii: "z"): "+0000"
        case UInt8(ascii: "Z"): "UTC"
        case UInt8(ascii: "%"): "%"
        default: name(letter)
        }
    }

    private func name(_ letter: UInt8) -> String? {
        switch letter {
        case UInt8(ascii: "a"): String(HTTPDate.longDays[time.weekday].prefix(3))
        case UInt8(ascii: "A"): HTTPDate.longDays[time.weekday]
        case UInt8(ascii: "b"): HTTPDate.months[time.month - 1]
        case UInt8(ascii: "B"): Self.longMonths[time.month - 1]
        default: nil
        }
    }

    private static let longMonths = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
