// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The Retry-After field of a response (RFC 9110 section 10.2.3).
package enum RetryAfter {
    /// Seconds to wait from now on, at least 0; nil if absent or malformed.
    ///
    /// - Parameter now: seconds since 1970.
    package static func seconds(_ fields: HTTPFields, now: Int64) -> Double? {
        guard let value = fields.first("Retry-After") else { return nil }
        let text = FieldRules.trimmed(value[...])
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // more digits than fit mean very long
            return Int64(text).map { Double($0) } ?? Double(Int64.max)
        }
        guard let date = HTTPDate.parse(String(text), now: now) else { return nil }
        let (seconds, overflow) = date.subtractingReportingOverflow(now)
        return overflow ? nil : Double(max(0, seconds))
    }
}
