// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// A moment as RFC 3339 text in UTC, with milliseconds.
struct TimeShape: JSONEncodable {
    var time: WallTime

    init(_ time: WallTime) { self.time = time }

    var description: String { time.text }

    func encode(to writer: inout JSONWriter) { writer.value(description) }
}

extension ClockPair {
    /// The time as a calendar time, in the years 1 to 9999.
    var wallTime: WallTime {
        let clamped = min(max(wall.isFinite ? wall : 0, -62_135_596_800), 253_402_300_799)
        // safe: clamped above
        return WallTime(seconds: Int(clamped.rounded(.down)))
    }
}
