// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// The durations of a request: the Metrics of the contract, in seconds.
struct MetricsShape: ObjectShape {
    var outcome: ExchangeOutcome

    init(_ outcome: ExchangeOutcome) { self.outcome = outcome }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("total", outcome.total)
        writer.member(
            "attempts", outcome.timelines.map { TimelineShape(timeline: $0, version: outcome.head?.version) })
    }
}

/// The times of an attempt; skipped phases are left out.
struct TimelineShape: ObjectShape {
    var timeline: Timeline
    var version: String?

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("queue", timeline.queue?.seconds)
        writer.member("dns", timeline.resolve?.seconds)
        writer.member("connect", timeline.connect?.seconds)
        writer.member("proxy", timeline.proxy?.seconds)
        writer.member("tls", timeline.tls?.seconds)
        writer.member("request", timeline.request?.seconds)
        writer.member("firstByte", timeline.firstByte?.seconds)
        writer.member("response", timeline.response?.seconds)
        writer.member("total", timeline.total?.seconds ?? 0)
        writer.member("reused", timeline.reused)
        writer.member("protocol", version.map { $0 == "2" ? "h2" : "http/\($0)" })
        if let stream = timeline.stream {
            writer.member("connection", Int64(clamping: timeline.connection ?? 0))
            writer.member("stream", Int64(stream))  // safe: 31 bits
        }
        writer.member("bytesSent", timeline.bytesSent)
        writer.member("bytesReceived", timeline.bytesReceived)
        writer.member("bodyBytes", timeline.bodyBytes)
    }
}
