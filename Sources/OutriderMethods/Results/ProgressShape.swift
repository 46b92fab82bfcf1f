// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// The progress of a body, as members of an event.
struct ProgressShape {
    private let report: ProgressReport

    init(_ report: ProgressReport) { self.report = report }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("direction", report.direction.rawValue)
        writer.member("attempt", report.attempt)
        if report.redirects > 0 { writer.member("redirects", report.redirects) }
        writer.member("completed", report.completed)
        writer.member("total", report.total)
        if report.isEstimated { writer.member("estimated", true) }
        if let wire = report.wire {
            writer.member("wireCompleted", wire.completed)
            writer.member("wireTotal", wire.total)
        }
        writer.member("fraction", report.fraction)
        if let rate = report.rate { writer.member("rate", Self.short(rate)) }
        if let remaining = report.remaining { writer.member("remaining", Self.short(remaining)) }
    }

    /// Three decimals are precise enough for readers.
    private static func short(_ number: Double) -> Double { (number * 1000).rounded() / 1000 }
}
