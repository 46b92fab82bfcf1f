// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Bytes, or bytes per second, in the usual notation: `500k`, `2M`, `1G`.
struct ByteRate {
    let bytes: Int64

    init?(_ text: String) {
        var digits = text[...]
        var factor: Int64 = 1
        switch text.last {
        case "k", "K": factor = 1 << 10
        case "m", "M": factor = 1 << 20
        case "g", "G": factor = 1 << 30
        default: break
        }
        if factor > 1 { digits = digits.dropLast() }
        guard let number = Int64(digits), number > 0 else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: factor)
        guard !overflow, bytes <= 1 << 40 else { return nil }
        self.bytes = bytes
    }
}
