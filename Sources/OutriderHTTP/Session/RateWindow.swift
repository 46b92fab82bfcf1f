// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Admits at most so many attempts within so many seconds, wherever that window begins.
///
/// An attempt counts until the window has passed. Of high rates, attempts that begin close together share a mark, which
/// counts as long as its last attempt, so that the memory is bounded.
///
/// Times are seconds of a monotonic clock; a clock that goes back stands still.
struct RateWindow {
    private struct Mark {
        let begin: Double
        var last: Double
        var count: Int
    }

    /// Another rate counts the attempts of the rate before.
    var rate: AdmissionLimits.Rate
    /// Oldest first.
    private var marks: [Mark] = []
    private var count = 0
    private var now: Double

    init(_ rate: AdmissionLimits.Rate, now: Double) {
        self.rate = rate
        self.now = now
    }

    private static let mostMarks = 256

    private var most: Int { max(1, rate.requests) }
    /// The longest time between two attempts with the same mark.
    private var grain: Double { most > Self.mostMarks ? rate.seconds / Double(Self.mostMarks) : 0 }

    /// Notes that time has passed.
    mutating func pass(to time: Double) {
        now = max(now, time)
        let over = marks.firstIndex { $0.last + rate.seconds > now } ?? marks.count
        count -= marks[..<over].reduce(0) { $0 + $1.count }
        marks.removeFirst(over)
    }

    /// False if too many attempts have begun.
    mutating func take() -> Bool {
        guard count < most else { return false }
        count += 1
        if let mark = marks.last, now - mark.begin <= grain {
            marks[marks.count - 1].last = now
            marks[marks.count - 1].count += 1
        } else {
            marks.append(Mark(begin: now, last: now, count: 1))
        }
        return true
    }

    /// Seconds until another attempt may begin; nil if it may begin at once.
    func delay(at time: Double) -> Double? {
        guard count >= most, let oldest = marks.first else { return nil }
        return oldest.last + rate.seconds - time
    }
}
