// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Dates of property lists, as RFC 3339 text in UTC.
enum PropertyListDate {
    /// Formats seconds since the beginning of 2001, as in binary lists. Nil outside the years 1 to 9999.
    static func text(_ seconds: Double) -> String? {
        guard seconds.isFinite, abs(seconds) < 1e12, let whole = Int(exactly: seconds.rounded(.down)) else {
            return nil
        }
        let thousandths = Int((seconds - seconds.rounded(.down)) * 1000)  // safe: between 0 and 1000
        let since = whole + 978_307_200
        let days = floored(since, 86400)
        let second = since - days * 86400
        let (year, month, day) = civil(days)
        guard (1...9999).contains(year) else { return nil }
        let clock = [second / 3600, second / 60 % 60, second % 60].map { digits($0, 2) }.joined(separator: ":")
        let fraction = thousandths == 0 ? "" : "." + digits(min(thousandths, 999), 3)
        return "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))T\(clock)\(fraction)Z"
    }

    /// Whether a text has the form `YYYY-MM-DDTHH:MM:SSZ`, as in XML lists.
    static func isSound(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        let form = Array("0000-00-00T00:00:00Z".utf8)
        guard bytes.count == form.count else { return false }
        for (byte, place) in zip(bytes, form) {
            guard place == UInt8(ascii: "0") ? (0x30...0x39).contains(byte) : byte == place else { return false }
        }
        let number = { (start: Int) in Int(bytes[start] - 0x30) * 10 + Int(bytes[start + 1] - 0x30) }
        return (1...12).contains(number(5)) && (1...31).contains(number(8)) && number(11) < 24 && number(14) < 60
            && number(17) <= 60
    }

    /// Days since 1970 to the date in the Gregorian calendar, by eras of 400 years that begin in March.
    private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = floored(shifted, 146_097)
        let ofEra = shifted - era * 146_097
        let yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let fromMarch = (5 * ofYear + 2) / 153
        let day = ofYear - (153 * fromMarch + 2) / 5 + 1
        let month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func floored(_ value: Int, _ by: Int) -> Int {
        value >= 0 ? value / by : -((by - 1 - value) / by)
    }

    private static func digits(_ value: Int, _ width: Int) -> String {
        let text = value.description
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}
