// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Sizes and times as people read them.
package enum ProgressWords {
    /// "999 B", "1.5 kB", "12.3 MB", "345 GB": decimal units, three digits.
    package static func size(_ bytes: Double) -> String {
        guard bytes.isFinite, bytes >= 0 else { return "?" }
        if bytes < 999.5 { return "\(Int(bytes.rounded())) B" }
        var value = bytes / 1000
        var unit = 0
        let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
        while value >= 999.5, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        guard value < 1e6 else { return "? EB" }
        if value >= 99.95 { return "\(Int(value.rounded())) \(units[unit])" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }

    /// "0:07", "12:34", "1:02:03".
    package static func time(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds >= 0, seconds < 360_000 else { return "-:--" }
        let all = Int(seconds.rounded())
        let (hours, minutes, rest) = (all / 3600, all / 60 % 60, all % 60)
        let two = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
        return hours > 0 ? "\(hours):\(two(minutes)):\(two(rest))" : "\(minutes):\(two(rest))"
    }
}

extension ProgressReport {
    /// "12.3 MB of 45.6 MB, 7.8 MB/s".
    package var words: String {
        var text = ProgressWords.size(Double(completed))
        if let total, total > completed { text += " of \(ProgressWords.size(Double(total)))" }
        if let rate { text += ", \(ProgressWords.size(rate))/s" }
        return text
    }
}
