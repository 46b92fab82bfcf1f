// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The Retry-After field of a response (RFC 9110 section 10.2.3).
package enum RetryAfter {
    /// Seconds to wait from now on, at least 0; nil if absent or malformed.
    ///
    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - age: of a stored response, the seconds that have passed since the server sent it.
    package static func seconds(_ fields: HTTPFields, now: Int64, age: Int64 = 0) -> Double? {
        guard let value = fields.first("Retry-After") else { return nil }
        let text = FieldRules.trimmed(value[...])
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // more digits than fit mean very long
            return max(0, (Int64(text).map { Double($0) } ?? Double(Int64.max)) - Double(age))
        }
        guard let date = HTTPDate.parse(String(text), now: now) else { return nil }
        let (seconds, overflow) = date.subtractingReportingOverflow(now)
        return overflow ? nil : Double(max(0, seconds))
    }
}
