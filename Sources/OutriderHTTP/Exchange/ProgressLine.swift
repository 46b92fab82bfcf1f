// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A line for the terminal that shows the progress of a body:
///
///      43% [=======>           ] 12.3 MB of 28.6 MB  7.8 MB/s  0:02
///
/// Unknown parts are left out, and parts without room: first the bar, then the time, the rate and the sizes.
package struct ProgressLine: Sendable, Equatable {
    package var completed: Int64
    package var total: Int64?
    package var fraction: Double?
    package var rate: Double?
    package var remaining: Double?

    package init(
        completed: Int64, total: Int64? = nil, fraction: Double? = nil, rate: Double? = nil,
        remaining: Double? = nil
    ) {
        self.completed = completed
        self.total = total
        self.fraction = fraction
        self.rate = rate
        self.remaining = remaining
    }

    /// At most so many characters, all of them ASCII.
    package func text(width: Int) -> String {
        let percent = fraction.map { Self.padded("\(Int(min(max($0, 0), 1) * 100))%", to: 4) }
        var size = ProgressWords.size(Double(completed))
        if let total, total > completed { size += " of \(ProgressWords.size(Double(total)))" }
        let speed = rate.map { "\(ProgressWords.size($0))/s" }
        let time = remaining.map(ProgressWords.time)
        for words in [[percent, size, speed, time], [percent, size, speed], [percent, size], [percent ?? size]] {
            let line = words.compactMap(\.self).joined(separator: "  ")
            guard line.utf8.count <= width else { continue }
            let room = width - line.utf8.count - 4
            guard words.count == 4, let percent, let fraction, room >= 8 else { return line }
            return percent + " [" + Self.bar(fraction, min(room, 40)) + "]" + line.dropFirst(percent.utf8.count)
        }
        return ""
    }

    private static func bar(_ fraction: Double, _ width: Int) -> String {
        let done = Int(min(max(fraction, 0), 1) * Double(width))
        guard done < width else { return String(repeating: "=", count: width) }
        return String(repeating: "=", count: done) + ">" + String(repeating: " ", count: width - done - 1)
    }

    private static func padded(_ text: String, to width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.utf8.count)) + text
    }
}
