// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Dates of property lists, as RFC 3339 text in UTC.
enum PropertyListDate {
    /// Formats seconds since the beginning of 2001, as in binary lists. Nil outside the years 1 to 9999.
    static func text(_ seconds: Double) -> String? {
        guard seconds.isFinite, abs(seconds) < 1e12, let whole = Int64(exactly: seconds.rounded(.down)),
            let moment = Moment(whole + Moment.reference, 0)
        else { return nil }
        let thousandths = min(Int((seconds - seconds.rounded(.down)) * 1000), 999)  // safe: between 0 and 1000
        let fraction = thousandths == 0 ? "" : ".\(String(1000 + thousandths).dropFirst())"
        return moment.formatted("%Y-%m-%dT%H:%M:%S\(fraction)Z")
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
}
